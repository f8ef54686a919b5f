"""What can be said about a network, and about its regions on a domain, before any is walked."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from affinelens.api import checked_limits, compile_for, require_domain
from affinelens.domain import Domain
from affinelens.engine import Choice, choose, require_known
from affinelens.inspection.page import page
from affinelens.measure.summary.forecast import Forecast, forecast
from affinelens.network import Network, compile_model
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.short_text import power_of_ten
from affinelens.walk import Request

# On a domain of many dimensions, bounds are looked for only while they take less than this many numbers.
_MOST_NUMBERS = 1 << 27
_PAGE_WIDTH = 80


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


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """A network and, if a domain was given, what walking it there would take; ``print`` it for a page of text.

    Attributes
    ----------
    network : Network
        The network as it was compiled, layer by layer.
    on_domain : OnDomain or None
        What was found on the domain.
    workers : int
        How many workers a walk would have.

    Examples
    --------
    >>> import affinelens as al
    >>> found = al.inspect([([[1.0], [1.0]], [0.0, 5.0]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1))
    >>> found
    Inspection(1 of 2 units can switch, roughly 2 regions, by vertex)
    >>> found.engine, found.switching, found.regions_log10 < 1
    ('vertex', {'units': 1, 'hyperplanes': 1}, True)
    """

    network: Network
    on_domain: OnDomain | None
    workers: int

    @property
    def engine(self) -> str | None:
        """The engine that would enumerate; None without a domain.

        Examples
        --------
        >>> import affinelens as al
        >>> al.inspect([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).engine
        'vertex'
        """
        return None if self.on_domain is None else self.on_domain.choices[0].name

    @property
    def switching(self) -> dict[str, int] | None:
        """How many units can switch on the domain, and on how many hyperplanes; None where that is not known.

        Examples
        --------
        >>> import affinelens as al
        >>> al.inspect([([[1.0]], [5.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).switching
        {'units': 0, 'hyperplanes': 0}
        """
        return None if self.on_domain is None else self.on_domain.switching

    @property
    def regions_log10(self) -> float | None:
        """The power of ten of how many regions to expect, very roughly; None without a domain.

        Examples
        --------
        >>> import affinelens as al
        >>> al.inspect([([[1.0]], [5.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).regions_log10
        0.0
        """
        return None if self.on_domain is None else self.on_domain.forecast.regions

    def __repr__(self) -> str:
        if self.on_domain is None:
            return f"Inspection({self.network!r})"
        units = self.network.units
        switching = "" if self.switching is None else f"{self.switching['units']} of {units} units can switch, "
        expected = power_of_ten(self.on_domain.forecast.regions)
        return f"Inspection({switching}roughly {expected} regions, by {self.engine})"

    def __str__(self) -> str:
        return self.page(_PAGE_WIDTH)

    def page(self, width: int, *, without_domain: str = "give one to see what a walk would take") -> str:
        """The whole as text, no wider than so many characters.

        Parameters
        ----------
        width
            Of a line.
        without_domain
            What is said where there is no domain.

        Examples
        --------
        >>> import affinelens as al
        >>> print(al.inspect([([[1.0]], [0.0]), ([[1.0]], [0.0])]).page(60).splitlines()[0])
        input 1, 1 unit in 1 stage
        """
        return page(self, width, without_domain=without_domain)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_json(self) -> dict[str, Any]:
        """The whole as values that JSON has.

        Examples
        --------
        >>> import affinelens as al
        >>> al.inspect([([[1.0]], [0.0]), ([[1.0]], [0.0])]).to_json()["units"]
        1
        """
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
            "switching": self.switching,
            "engines": place and [{"name": choice.name, "reason": choice.reason} for choice in place.choices],
            "regions_log10": place and {"rough": place.forecast.regions, "at_most": place.forecast.bound},
        }

    def _stage_to_json(self, index: int) -> dict[str, Any]:
        stage = self.network.stages[index]
        return {
            "name": stage.name,
            "operations": [*stage.linear.operations, *([stage.kind] if stage.kind else [])],
            "sources": [k for k, _ in stage.linear.sources],
            "shape": list(stage.shape),
            "units": stage.activation.size_in,
            "hyperplanes": len(stage.activation.breaks),
            "switching": self.on_domain and self.on_domain.switching_in(index),
        }


def inspect(
    model: Any,
    domain: Domain | None = None,
    *,
    engine: str = "auto",
    workers: int | None = None,
    cut_outputs: bool = False,
) -> Inspection:
    """Look at a network and, on a domain, at what enumerating it there would take, before any region is walked.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes.
    domain
        Where it would be walked; None to look at the network alone.
    engine, workers, cut_outputs
        As for :func:`enumerate`.

    Returns
    -------
    Inspection
        Layers, the units that can switch, the engine and why, and very roughly how many regions to expect.

    Raises
    ------
    AffineLensError
        If the model, the domain or an option cannot be taken.

    Notes
    -----
    Walks nothing. Bounds of the units on the domain take seconds for networks of 10^5 units.

    Examples
    --------
    >>> import affinelens as al
    >>> print(al.inspect([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1), workers=2))
    input 1, 1 unit in 1 stage
    stage  layer    made of                                     shape  units  switch
        1  layer 0  linear, ReLU                                    1      1       1
           output   linear                                          1
    note       all coefficients are the model's own numbers; nothing was rounded
    domain     Box([-1], [1]), dimension 1
    switching  1 of 1 units can switch, on 1 of 1 hyperplanes; all others are proved
               not to
    enumerate  by vertex on 2 core(s); dimension 1, and up to 10 it is the fastest
    count      by count on 2 core(s); dimension 1, and up to 10 it is the fastest
    regions    very roughly 2, and at most 2: an order of magnitude, from lines
               through the domain
    """
    require_known(engine)
    processes = checked_limits(workers, None, None).workers
    if domain is None:
        network = compile_model(model)
    else:
        require_domain(domain)
        network = compile_for(model, domain)
    if cut_outputs:
        network = network.with_output_cut()
    return Inspection(network, None if domain is None else OnDomain.of(network, domain, engine), processes)


def _bounds_size(network: Network, domain: Domain) -> int:
    """About how many numbers bounds of a network take, as functions of the coordinates and of units that switch."""
    widest = max((stage.activation.size_in for stage in network.stages), default=0)
    return widest * (domain.dim + min(network.units, 4096)) if domain.dim > 14 else 0
