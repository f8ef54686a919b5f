"""How much the partition of a plane looks like a grid.

The measure is taken from the sides that regions share, each weighed by its length, and from the regions themselves.

``grid_order``, the headline, is the length of the mean of ``exp(4 i a)`` over all points of the sides, ``a`` being the
direction of the side there: the fourfold orientational order of physics. It is 1 if all sides lie along one pair of
perpendicular directions, whichever these are, and 0 for directions that are spread evenly; its square is the mean of
``cos(4 a)`` over the angles ``a`` between the sides at two points. No bins and no tolerance are needed to compute it,
and it does not change if the plane is turned, mirrored, moved or scaled.

Others stand beside it because a single number cannot tell everything. With few lines some order arises by chance:
``grid_order_by_chance`` is what to expect (the root of the mean square) if each hyperplane had a direction of its own,
drawn at random. ``stripe_order`` is the same mean with ``exp(2 i a)``: 1 if all sides are parallel, which grid_order
does not tell from a grid, and 0 for a grid with as much length in one direction as in the other. ``area_variation`` is
the deviation of the regions' areas over their mean: 0 if all are alike. ``quadrilaterals`` is the share of regions with
four sides: 1 in a grid, and about 0.38 among random lines.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from affinelens.engine import Columns, Limits, Status, choose, vertex
from affinelens.errors import AffineLensError
from affinelens.measure.facet_vertices import facet_vertices
from affinelens.regions import RegionSet

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Regularity:
    """How much a partition of a plane looks like a grid; see :mod:`affinelens.measure.regularity`."""

    grid_order: float
    grid_order_by_chance: float
    stripe_order: float
    area_variation: float
    quadrilaterals: float

    def to_json(self) -> dict[str, float]:
        """The numbers under their names."""
        return asdict(self)


def regularity(regions: RegionSet) -> Regularity:
    """The regularity of a complete partition of a plane, in float64.

    An end of a side is off by rounding only, and so is the side's share in a mean over lengths, however short it is.
    """
    if regions.domain.dim != 2:
        raise AffineLensError(
            f"regularity is that of a partition of a plane, but the domain has dimension {regions.domain.dim}; "
            f"enumerate on a Slice of dimension 2"
        )
    if regions.status is not Status.COMPLETE:
        raise AffineLensError("regularity is that of a complete partition; enumerate without limits")
    if len(regions) < 2:
        raise AffineLensError("a domain with a single region has no sides to be regular; try a larger domain")
    sides, hyperplanes = _inner_sides(regions)
    lengths = np.hypot(sides[:, 0], sides[:, 1])
    shares = np.bincount(hyperplanes, weights=lengths) / lengths.sum()
    areas = regions.volumes()
    return Regularity(
        grid_order=_order(sides, lengths, 4),
        grid_order_by_chance=float(np.sqrt((shares**2).sum())),
        stripe_order=_order(sides, lengths, 2),
        area_variation=float(areas.std() / areas.mean()),
        quadrilaterals=float((np.diff(regions.facet_offsets) == 4).mean()),
    )


def _order(sides: Floats, lengths: Floats, fold: int) -> float:
    """The length of the mean of ``exp(fold i a)`` over the sides' points."""
    angles = np.arctan2(sides[:, 1], sides[:, 0])
    return float(np.abs(lengths @ np.exp(1j * fold * angles)) / lengths.sum())


def _inner_sides(regions: RegionSet) -> tuple[Floats, NDArray[np.int64]]:
    """Sides between two regions as vectors, each once from either region, and the hyperplanes they lie on."""
    table = _with_vertices(regions)
    assert table.facets is not None
    assert table.vertices is not None
    inner = np.flatnonzero(table.facets.numbers >= regions.domain.frame.rows.shape[0])
    ends = facet_vertices(table.vertices, table.facets, inner).points.reshape(-1, 2, 2)
    return ends[:, 1] - ends[:, 0], table.facets.numbers[inner]


def _with_vertices(regions: RegionSet) -> Columns:
    """The regions with facets and vertices that know of each other; walked again if they do not."""
    table = regions.outcome.table
    if table.vertices is not None and table.facets is not None and table.facets.bits is not None:
        return table
    network, frame = regions.network, regions.domain.frame
    chosen = choose(network, frame, vertex.NAME, keep=True)
    return vertex.run(network, frame, Limits(), kept=chosen.kept, facets=True, vertices=True).table
