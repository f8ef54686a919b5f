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

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError, Words
from affinelens.measure.geometry.shared_sides import shared_sides
from affinelens.measure.geometry.volumes import relative_volumes
from affinelens.regions import Regions, kept
from affinelens.walk import Status


@dataclass(frozen=True)
class Regularity:
    """How much a partition of a plane looks like a grid; see :mod:`affinelens.measure.geometry.regularity`."""

    grid_order: float
    grid_order_by_chance: float
    stripe_order: float
    area_variation: float
    quadrilaterals: float

    def to_json(self) -> dict[str, float]:
        """The numbers under their names."""
        return asdict(self)


@kept
def regularity(regions: Regions) -> Regularity:
    """The regularity of a complete partition of a plane, in float64.

    An end of a side is off by rounding only, and so is the side's share in a mean over lengths, however short it is.
    """
    if regions.domain.dim != 2:
        raise AffineLensError(
            f"regularity is that of a partition of a plane, but the domain has dimension {regions.domain.dim}; "
            "enumerate on ",
            Words("a Slice", "one given by --slice-axes or --through"),
            " of dimension 2",
        )
    if regions.status is not Status.COMPLETE:
        raise AffineLensError("regularity is that of a complete partition; enumerate without limits")
    if len(regions) < 2:
        raise AffineLensError("a domain with a single region has no sides to be regular; try a larger domain")
    shared = shared_sides(regions)
    sides = shared.ends[:, 1] - shared.ends[:, 0]
    lengths = np.hypot(sides[:, 0], sides[:, 1])
    shares = np.bincount(shared.hyperplanes, weights=lengths) / lengths.sum()
    areas = relative_volumes(regions)
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
