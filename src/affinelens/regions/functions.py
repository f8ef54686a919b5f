"""The functions behind a set's regions: those of its restricted network, and single ones in rational arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from affinelens.arithmetic import ExactMatrix
from affinelens.network.adjoint import Adjoint
from affinelens.regions.keeping import kept
from affinelens.restrict import RestrictedFunctions, restrict

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


@kept
def restricted_functions(regions: Regions) -> RestrictedFunctions:
    """The functions of the units that can switch on the domain."""
    return RestrictedFunctions(regions.outcome.restricted or restrict(regions.network, regions.domain.frame))


@kept
def exact_functions(regions: Regions) -> Adjoint:
    """The network's functions of the domain's coordinates, one at a time."""
    return Adjoint(regions.network, regions.domain.frame.chart)


def exact_halfspaces(regions: Regions, index: int) -> ExactMatrix:
    """One region's minimal description in rationals: rows ``[W | b]`` of ``W t + b >= 0``, a row a facet."""
    region = regions[index]
    return regions.hyperplanes.exact_rows(
        region.facet_numbers, region.facet_signs, region.pattern, exact_functions(regions)
    )
