"""What can be said about a network, and about its regions on a domain, before any is walked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from affinelens.domain import Domain
from affinelens.engine import Choice, choose
from affinelens.measure.summary.forecast import Forecast, forecast
from affinelens.network import AffineSum, Network
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.walk import Request

# On a domain of many dimensions, bounds are looked for only while they take less than this many numbers.
_MOST_NUMBERS = 1 << 27


@dataclass(frozen=True, eq=False)
class OnDomain:
    """What walking a network on a domain would take.

    ``choices`` are the engines for enumerating and for counting. ``restricted`` is None where looking for the units
    that switch takes too much memory.
    """

    domain: Domain
    choices: tuple[Choice, Choice]
    restricted: RestrictedNetwork | None
    forecast: Forecast

    @classmethod
    def of(cls, network: Network, domain: Domain, engine: str) -> OnDomain:
        # An engine that only counts is named for both tasks.
        to_enumerate, to_count = (
            choose(Request(network, domain.frame, engine, regions=regions)) for regions in (engine != "count", False)
        )
        restricted = to_enumerate.restricted if to_enumerate.restricted is not None else to_count.restricted
        if restricted is None and _bounds_size(network, domain) <= _MOST_NUMBERS:
            restricted = restrict(network, domain.frame)
        return cls(domain, (to_enumerate, to_count), restricted, forecast(network, domain.frame, restricted))

    @property
    def switching(self) -> dict[str, int] | None:
        """How many units can switch, and on how many hyperplanes."""
        if self.restricted is None:
            return None
        units = sum(len(stage.units) for stage in self.restricted.stages)
        return {"units": units, "hyperplanes": len(self.restricted.breaks)}

    def switching_in(self, stage: int) -> int | None:
        """How many units of a stage can switch."""
        return None if self.restricted is None else len(self.restricted.all_stages[stage].units)


@dataclass(frozen=True, eq=False)
class Inspection:
    """A network and, if a domain is given, what walking it there would take with so many workers."""

    network: Network
    on_domain: OnDomain | None
    workers: int

    def to_json(self) -> dict[str, Any]:
        network, place = self.network, self.on_domain
        stages = [self._stage_to_json(index) for index in range(len(network.stages))]
        return {
            "inputs": network.input_size,
            "input_shape": list(network.input_shape),
            "outputs": network.output_size,
            "output_shape": list(network.output_shape),
            "units": network.units,
            "stages": stages,
            "notes": [str(note) for note in network.notes],
            "model_sha256": network.digest,
            "dimension": place and place.domain.dim,
            "workers": self.workers,
            "switching": place and place.switching,
            "engines": place and [{"name": choice.name, "reason": choice.reason} for choice in place.choices],
            "regions_log10": place and {"rough": place.forecast.regions, "at_most": place.forecast.bound},
        }

    def _stage_to_json(self, index: int) -> dict[str, Any]:
        stage = self.network.stages[index]
        return {
            "name": stage.name,
            "operations": operations(stage.linear, stage.kind),
            "sources": [k for k, _ in stage.linear.sources],
            "shape": list(stage.shape),
            "units": stage.activation.size_in,
            "hyperplanes": len(stage.activation.breaks),
            "switching": self.on_domain and self.on_domain.switching_in(index),
        }


def operations(linear: AffineSum, kind: str = "") -> list[str]:
    """What a stage is made of, as the model calls it."""
    return [*linear.operations, *([kind] if kind else [])]


def _bounds_size(network: Network, domain: Domain) -> int:
    """About how many numbers bounds of a network take, as functions of the coordinates and of units that switch."""
    widest = max((stage.activation.size_in for stage in network.stages), default=0)
    return widest * (domain.dim + min(network.units, 4096)) if domain.dim > 14 else 0
