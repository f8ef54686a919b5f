"""One region: a view into a row of a :class:`RegionSet`'s columns."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.domain import Slice
from affinelens.network.canonical import input_chart
from affinelens.network.enclosure import Enclosure
from affinelens.regions.local import LocalRegion

if TYPE_CHECKING:
    from affinelens.regions.region_set import RegionSet

Floats = NDArray[np.float64]


class Region:
    """A full-dimensional cell of the domain on which the network is one affine function.

    Points, vertices, halfspaces and the affine map are in input coordinates; :attr:`local` has them in the domain's.
    """

    def __init__(self, regions: RegionSet, index: int) -> None:
        self._regions = regions
        self.index = index

    @property
    def point(self) -> Floats:
        """An interior point, in input coordinates."""
        point: Floats = self._regions.domain.frame.to_inputs(self.local.point[None])[0]
        return point

    @property
    def local(self) -> LocalRegion:
        """The same region in the domain's own coordinates: those of a slice, or the inputs that are not fixed."""
        return LocalRegion(self._regions, self.index)

    @property
    def exact_point(self) -> list[Fraction]:
        """An interior point in rationals; for a region too thin to hold a float64 point, the only one there is."""
        return self._regions.exact_point(self.index)

    @property
    def pattern(self) -> NDArray[np.unsignedinteger[Any]]:
        """Which piece each unit is on, all stages in order."""
        return self._regions.pattern(self.index)

    @property
    def patterns_by_stage(self) -> list[NDArray[np.unsignedinteger[Any]]]:
        """The pattern, one array a stage."""
        network = self._regions.network
        return [np.asarray(network.stage_pattern(self.pattern, i)) for i in range(len(network.stages))]

    @property
    def facets(self) -> list[str]:
        """What each facet is: a constraint of the domain or a unit's hyperplane."""
        return [self._regions.describe_hyperplane(int(number)) for number in self._facet_numbers]

    @property
    def _facet_numbers(self) -> NDArray[np.int64]:
        return self._regions.facet_numbers(self.index)

    @property
    def halfspaces(self) -> tuple[Floats, Floats]:
        """``W, b`` of the region's minimal description ``{x : W x + b >= 0}`` in input coordinates, a row a facet.

        On a slice it describes the region among the points of the slice, by as many inputs as the slice has
        coordinates.
        """
        regions = self._regions
        if isinstance(regions.domain, Slice):
            return regions.domain.pulled_back(*self.local.halfspaces)
        numbers = self._facet_numbers
        domain_count = regions.domain.frame.rows.shape[0]
        inputs = regions.network.input_size
        chart = Enclosure.affine(input_chart(inputs), np.ones(inputs + 1))
        forms = regions.network.forms(chart, self.pattern)
        rows = np.empty((len(numbers), inputs + 1))
        for i, (number, sign) in enumerate(
            zip(numbers.tolist(), regions.facet_signs(self.index).tolist(), strict=True)
        ):
            if number < domain_count:
                weight, offset = regions.domain.halfspace(regions.domain.frame.constraints[number])
                rows[i] = np.append(weight, offset)
            else:
                stage, inner = regions.network.locate_break(number - domain_count)
                breaks = regions.network.stages[stage].activation.breaks[np.array([inner])]
                row = forms[stage].differences(breaks.plus, breaks.minus, breaks.threshold).rows[0]
                rows[i] = sign * row
        return rows[:, :-1], rows[:, -1]

    @property
    def vertices(self) -> Floats:
        """The region's corners in input coordinates, a row each."""
        return self._regions.domain.frame.to_inputs(self.local.vertices)

    @property
    def neighbors(self) -> list[int | None]:
        """For each of :attr:`facets` the index of the region beyond it, or None on the domain's border."""
        beyond = self._regions.neighbors(self.index).tolist()
        return [index if index >= 0 else None for index in beyond]

    @property
    def affine(self) -> tuple[Floats, Floats]:
        """``J, c`` with network output ``J x + c`` all over the region, correctly rounded from exact arithmetic."""
        jacobian, constant = self._regions.adjoint.jacobian(self.pattern)
        return jacobian.to_floats(), constant.to_floats()[:, 0]

    @property
    def volume(self) -> float:
        """The region's volume in the domain's own coordinates."""
        return float(self._regions.column("volume")[self.index])

    @property
    def exact_volume(self) -> Fraction:
        """Length or area in rationals, on a domain of one or two dimensions."""
        from affinelens.measure.volumes import exact_volume

        return exact_volume(self._regions, self.index)

    def __contains__(self, x: ArrayLike) -> bool:
        """Whether :meth:`RegionSet.locate` places x here (of the regions that share a border point it names one)."""
        return bool(self._regions.locate(x) == self.index)

    def __repr__(self) -> str:
        own = self._regions.domain.has_own_coordinates
        point = self.local.point if own else self.point
        shown = ", ".join(f"{v:.6g}" for v in point[:4])
        more = ", ..." if len(point) > 4 else ""
        facets = self._regions.outcome.table.facets
        known = "" if facets is None else f", {len(self._facet_numbers)} facets"
        return f"Region({self.index}, {'t' if own else 'point'}=({shown}{more}){known})"
