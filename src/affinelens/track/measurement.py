"""What is measured of one network: its regions are counted and, where metrics are asked for, enumerated."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import cast

from affinelens.api import enumerate, require_complete
from affinelens.domain import Domain
from affinelens.engine import run
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.region_set import RegionSet
from affinelens.track.training_record import Row
from affinelens.walk import Limits, Request, Status

Metric = Callable[[RegionSet], float]


@dataclass(frozen=True)
class Measurement:
    """Where regions are counted, how, and which metrics are wanted beside the counts."""

    domain: Domain
    metrics: bool | Sequence[str] | Mapping[str, Metric]
    engine: str
    limits: Limits

    @property
    def can_be_sent(self) -> bool:
        """Whether another process can measure: it has neither the user's functions nor an executor."""
        return not isinstance(self.metrics, Mapping) and self.limits.executor is None

    def row(self, network: Network) -> Row:
        """What a training record says of a network, but for the step."""
        started = time.monotonic()
        regions = self.regions(network) if self.metrics else None
        request = Request(network, self.domain.frame, self.engine, regions=False, limits=self.limits)
        outcome = run(request) if regions is None else regions.outcome
        require_complete(outcome)
        values = {} if regions is None else self._values(regions)
        counts = outcome.layer_counts
        layers = {f"layer_{number}": cells for number, cells in zip(range(1, len(counts) + 1), counts, strict=True)}
        return {
            "regions": counts[-1], **layers, **values, "status": Status.COMPLETE.name,
            "seconds": time.monotonic() - started, "problem": "",
        }  # fmt: skip

    def regions(self, network: Network) -> RegionSet:
        limits = self.limits
        return enumerate(
            network, self.domain, engine=self.engine, workers=limits.workers, executor=limits.executor,
            max_regions=limits.max_regions, time_limit=limits.time_limit,
        )  # fmt: skip

    def _values(self, regions: RegionSet) -> dict[str, float]:
        if isinstance(self.metrics, Mapping):
            return {name: _number(name, metric, regions) for name, metric in self.metrics.items()}
        found: dict[str, float] = regions.metrics()
        names = [name for name in found if name != "regions"] if self.metrics is True else self.metrics
        unknown = [name for name in cast(Sequence[str], names) if name not in found]
        if unknown:
            raise AffineLensError(f"there is no metric {unknown[0]!r}; there are {', '.join(found)}")
        return {name: found[name] for name in cast(Sequence[str], names)}


def _number(name: str, metric: Metric, regions: RegionSet) -> float:
    try:
        value = metric(regions)
    except AffineLensError:
        raise
    except Exception as error:  # whatever the user's function raises
        raise AffineLensError(f"metric {name!r} failed ({type(error).__name__}: {error}); mend its function") from error
    if isinstance(value, bool) or not isinstance(value, Real):
        raise AffineLensError(f"metric {name!r} returned {value!r:.80}; it must return a number")
    return int(value) if isinstance(value, Integral) else float(value)
