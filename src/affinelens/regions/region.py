"""One region: a view into a row of a :class:`RegionSet`'s columns."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.convex.volume import cell_volumes
from affinelens.domain import Slice
from affinelens.network.canonical import input_chart
from affinelens.network.enclosure import Enclosure
from affinelens.regions.exact_volume import exact_volume
from affinelens.regions.functions import exact_functions
from affinelens.regions.geometry import one_regions_vertices
from affinelens.regions.local_view import LocalRegion
from affinelens.regions.locate import located
from affinelens.regions.neighbors import neighbors

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions

Floats = NDArray[np.float64]


class Region:
    """A full-dimensional cell of the domain on which the network is one affine function.

    Points, vertices, halfspaces and the affine map are in input coordinates; :attr:`local` has them in the domain's.
    """

    def __init__(self, regions: Regions, index: int) -> None:
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
        chart = self._regions.domain.frame.chart
        homogeneous = [*self.local.exact_point, Fraction(1)]
        return [
            sum((chart.entry(i, k) * homogeneous[k] for k in range(chart.shape[1])), Fraction(0))
            for i in range(chart.shape[0])
        ]

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
        return [self._regions.describe_hyperplane(int(number)) for number in self.facet_numbers]

    @property
    def facet_numbers(self) -> NDArray[np.int64]:
        """The number of each facet's hyperplane, as :meth:`RegionSet.describe_hyperplane` takes it."""
        facets = self._regions.facets
        return facets.numbers[facets.offsets[self.index] : facets.offsets[self.index + 1]]

    @property
    def facet_signs(self) -> NDArray[np.int8]:
        """On which side of each facet's hyperplane the region lies: 1 or -1."""
        facets = self._regions.facets
        return facets.signs[facets.offsets[self.index] : facets.offsets[self.index + 1]]

    @property
    def halfspaces(self) -> tuple[Floats, Floats]:
        """``W, b`` of the region's minimal description ``{x : W x + b >= 0}`` in input coordinates, a row a facet.

        On a slice it describes the region among the points of the slice, by as many inputs as the slice has
        coordinates.
        """
        regions = self._regions
        if isinstance(regions.domain, Slice):
            return regions.domain.pulled_back(*self.local.halfspaces)
        numbers, frame = self.facet_numbers, regions.domain.frame
        inputs = regions.network.input_size
        chart = Enclosure.affine(input_chart(inputs), np.ones(inputs + 1))
        rows = np.empty((len(numbers), inputs + 1))
        for i in np.flatnonzero(regions.hyperplanes.of_domain(numbers)).tolist():
            weight, offset = regions.domain.halfspace(frame.constraints[int(numbers[i])])
            rows[i] = np.append(weight, offset)
        regions.hyperplanes.fill_breaks(rows, numbers, self.facet_signs, regions.network.forms(chart, self.pattern))
        return rows[:, :-1], rows[:, -1]

    @property
    def vertices(self) -> Floats:
        """The region's corners in input coordinates, a row each."""
        return self._regions.domain.frame.to_inputs(self.local.vertices)

    @property
    def neighbors(self) -> list[int | None]:
        """For each of :attr:`facets` the index of the region beyond it, or None on the domain's border."""
        offsets = self._regions.facet_offsets
        beyond = neighbors(self._regions).beyond(np.arange(offsets[self.index], offsets[self.index + 1])).tolist()
        return [index if index >= 0 else None for index in beyond]

    @property
    def affine(self) -> tuple[Floats, Floats]:
        """``J, c`` with network output ``J x + c`` all over the region, correctly rounded from exact arithmetic."""
        jacobian, constant = exact_functions(self._regions).jacobian(self.pattern)
        return jacobian.to_floats(), constant.to_floats()[:, 0]

    @property
    def volume(self) -> float:
        """The region's volume in the domain's own coordinates."""
        own = one_regions_vertices(self._regions, self.index)
        return float(cell_volumes(own.points, own.offsets[1:], own.tight, self._regions.domain.dim)[0])

    @property
    def exact_volume(self) -> Fraction:
        """Length or area in rationals, on a domain of one or two dimensions."""
        return exact_volume(self._regions, self.index)

    def __contains__(self, x: ArrayLike) -> bool:
        """Whether :meth:`RegionSet.locate` places x here (of the regions that share a border point it names one)."""
        return bool(located(self._regions, x) == self.index)

    def __repr__(self) -> str:
        own = self._regions.domain.has_own_coordinates
        point = self.local.point if own else self.point
        shown = ", ".join(f"{v:.6g}" for v in point[:4])
        more = ", ..." if len(point) > 4 else ""
        facets = self._regions.outcome.table.facets
        known = "" if facets is None else f", {len(self.facet_numbers)} facets"
        return f"Region({self.index}, {'t' if own else 'point'}=({shown}{more}){known})"
