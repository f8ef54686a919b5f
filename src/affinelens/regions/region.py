"""One region: a view into a row of a :class:`RegionSet`'s columns."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.array_types import Floats
from affinelens.convex.volume import cell_centroids, cell_volumes
from affinelens.domain import Slice
from affinelens.errors import AffineLensError
from affinelens.network.canonical import input_chart
from affinelens.network.enclosure import Enclosure
from affinelens.regions.exact_volume import exact_volume
from affinelens.regions.local_view import LocalRegion
from affinelens.regions.locate import located
from affinelens.regions.neighbors import neighbors
from affinelens.regions.region_functions import exact_functions
from affinelens.regions.region_vertices import one_regions_vertices
from affinelens.short_text import as_html, counted, point_text
from affinelens.walk import Facets

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions

# In few dimensions the display of a region measures it; a cell of dimension d has about 2**d vertices.
_MEASURED_DIMENSIONS = 6


class Region:
    """A full-dimensional cell of the domain on which the network is one affine function.

    It is a view of one row of a :class:`RegionSet`, ``rs[i]``; nothing is copied. Points, vertices, halfspaces and the
    affine map are in input coordinates; :attr:`local` has them in the domain's. ``x in region`` says whether
    :meth:`RegionSet.locate` places x here.

    Nothing here walks: what is not stored is computed for this region alone. For a quantity of all regions, a column
    of the set is far cheaper than a loop.

    Attributes
    ----------
    index : int
        The region's row in the set.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.enumerate([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=2))
    >>> region = rs[3]
    >>> region
    Region(3, point=(0.5, 0.25), 4 facets)
    >>> region.facets
    ['domain, x[0] <= 1', 'domain, x[1] <= 1', 'stage 1, unit 0', 'stage 1, unit 1']
    >>> region.neighbors, region.volume, [0.5, 0.5] in region
    ([None, None, 1, 2], 1.5, True)
    >>> region.affine
    (array([[1., 1.]]), array([0.5]))
    """

    def __init__(self, regions: Regions, index: int) -> None:
        self._regions = regions
        self.index = index

    @property
    def point(self) -> Floats:
        """An interior point in input coordinates: float64 of shape (inputs,)."""
        point: Floats = self._regions.domain.frame.to_inputs(self.local.point[None])[0]
        return point

    @property
    def local(self) -> LocalRegion:
        """The same region in the domain's own coordinates: those of a slice, or the inputs that are not fixed.

        It has ``point``, ``exact_point``, ``vertices``, ``halfspaces`` and ``affine``, as here.

        Examples
        --------
        >>> import affinelens as al
        >>> line = al.Slice.through([0, 0], [0, 2])
        >>> region = al.enumerate([([[0.0, 1.0]], [-1.0]), ([[1.0]], [0.0])], line)[1]
        >>> region.local.vertices.ravel(), region.local.affine
        (array([0.5, 1. ]), (array([[2.]]), array([-1.])))
        """
        return LocalRegion(self._regions, self.index)

    @property
    def exact_point(self) -> list[Fraction]:
        """An interior point in rationals, one an input; that of a region too thin to hold a float64 point, too."""
        chart = self._regions.domain.frame.chart
        homogeneous = [*self.local.exact_point, Fraction(1)]
        return [
            sum((chart.entry(i, k) * homogeneous[k] for k in range(chart.shape[1])), Fraction(0))
            for i in range(chart.shape[0])
        ]

    @property
    def pattern(self) -> NDArray[np.unsignedinteger[Any]]:
        """Which piece each unit is on, all stages in order: unsigned integers of shape (choices,)."""
        return self._regions.pattern(self.index)

    @property
    def patterns_by_stage(self) -> list[NDArray[np.unsignedinteger[Any]]]:
        """The pattern, one array a stage.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.0]), ([[2.0]], [-1.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs[1].patterns_by_stage
        [array([1], dtype=uint8), array([0], dtype=uint8)]
        """
        network = self._regions.network
        return [np.asarray(network.stage_pattern(self.pattern, i)) for i in range(len(network.stages))]

    @property
    def facets(self) -> list[str]:
        """What each facet is, in words: a constraint of the domain or a unit's hyperplane.

        Raises
        ------
        AffineLensError
            If the set was made without facets; so do :attr:`facet_numbers`, :attr:`facet_signs`, :attr:`halfspaces` and
            :attr:`neighbors`.
        """
        return [self._regions.describe_hyperplane(int(number)) for number in self.facet_numbers]

    @property
    def facet_numbers(self) -> NDArray[np.int64]:
        """The number of each facet's hyperplane, as :meth:`RegionSet.describe_hyperplane` takes it: int64 (facets,)."""
        return self._facets.numbers

    @property
    def facet_signs(self) -> NDArray[np.int8]:
        """On which side of each facet's hyperplane the region lies, 1 or -1: int8 of shape (facets,)."""
        return self._facets.signs

    @property
    def _facets(self) -> Facets:
        """The region's facets; where regions are on disk, no others are read."""
        regions, rows = self._regions, slice(self.index, self.index + 1)
        if regions.outcome.source is None or not regions.outcome.has_facets:
            return regions.facets[rows]
        facets = regions.outcome.taken(rows).facets
        assert facets is not None
        return facets

    @property
    def halfspaces(self) -> tuple[Floats, Floats]:
        """``W, b`` of the region's minimal description ``{x : W x + b >= 0}`` in input coordinates, a row a facet.

        On a slice it describes the region among the points of the slice, by as many inputs as the slice has
        coordinates.

        Returns
        -------
        W : numpy.ndarray
            float64 of shape (facets, inputs).
        b : numpy.ndarray
            float64 of shape (facets,).

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[2.0]], [-1.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))[1].halfspaces
        (array([[-1.],
               [ 2.]]), array([ 1., -1.]))
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
        """The region's corners in input coordinates: float64 of shape (vertices, inputs).

        Where vertices were not kept with the set, they are found from the region's facets, in dimensions up to 14; that
        costs one cell, not a walk.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0]], [-0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))[1].vertices
        array([[0.5],
               [1. ]])
        """
        return self._regions.domain.frame.to_inputs(self.local.vertices)

    @property
    def neighbors(self) -> list[int | None]:
        """For each of :attr:`facets` the index of the region beyond it, or None on the domain's border.

        In an incomplete set it is None as well where the region beyond was not found. The first call on a set indexes
        all patterns.
        """
        offsets = self._regions.facet_offsets
        beyond = neighbors(self._regions).beyond(np.arange(offsets[self.index], offsets[self.index + 1])).tolist()
        return [index if index >= 0 else None for index in beyond]

    @property
    def affine(self) -> tuple[Floats, Floats]:
        """``J, c`` with network output ``J x + c`` all over the region, correctly rounded from exact arithmetic.

        Returns
        -------
        J : numpy.ndarray
            float64 of shape (outputs, inputs).
        c : numpy.ndarray
            float64 of shape (outputs,).
        """
        jacobian, constant = exact_functions(self._regions).jacobian(self.pattern)
        return jacobian.to_floats(), constant.to_floats()[:, 0]

    @property
    def volume(self) -> float:
        """The region's volume in the domain's own coordinates: a length, an area, and so on.

        Costs one cell where vertices were not kept, as :attr:`vertices` does.
        """
        own = one_regions_vertices(self._regions, self.index)
        return float(cell_volumes(own.points, own.offsets[1:], own.tight, self._regions.domain.dim)[0])

    @property
    def centroid(self) -> Floats:
        """The region's center of mass in input coordinates: float64 of shape (inputs,); costs what :attr:`volume` does.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0]], [-0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))[1].centroid
        array([0.75])
        """
        own, domain = one_regions_vertices(self._regions, self.index), self._regions.domain
        centers = cell_centroids(own.points, own.offsets[1:], own.tight, domain.dim).centers
        center: Floats = domain.frame.to_inputs(centers)[0]
        return center

    @property
    def exact_volume(self) -> Fraction:
        """Length or area in rationals, on a domain of one or two dimensions.

        Raises
        ------
        AffineLensError
            In more dimensions.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[3.0]], [-1.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))[1].exact_volume
        Fraction(2, 3)
        """
        return exact_volume(self._regions, self.index)

    def __contains__(self, x: ArrayLike) -> bool:
        """Whether :meth:`RegionSet.locate` places x here (of the regions that share a border point it names one)."""
        return bool(located(self._regions, x) == self.index)

    def __call__(self, x: ArrayLike) -> Floats:
        """The region's affine map at x, in the region or not: ``J x + c``.

        Parameters
        ----------
        x
            One input, or several, a row each.

        Returns
        -------
        numpy.ndarray
            float64 of shape (outputs,), or (points, outputs).

        Examples
        --------
        >>> import affinelens as al
        >>> region = al.enumerate([([[2.0]], [-1.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))[1]
        >>> region([0.75]), region([[0.5], [1.0]])
        (array([0.5]), array([[0.],
               [1.]]))
        """
        jacobian, constant = self.affine
        try:
            points = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise AffineLensError(f"a point is an array of numbers, but got {type(x).__name__} {x!r:.60}") from None
        if points.ndim not in (1, 2) or points.shape[-1] != jacobian.shape[1]:
            size = jacobian.shape[1]
            raise AffineLensError(f"the region's map takes points of {size} numbers, but got shape {points.shape}")
        return points @ jacobian.T + constant

    def __repr__(self) -> str:
        own = self._regions.domain.has_own_coordinates
        point = self.local.point if own else self.point
        has_facets = self._regions.outcome.has_facets
        known = f", {counted(len(self.facet_numbers), 'facet')}" if has_facets else ""
        return f"Region({self.index}, {'t' if own else 'point'}={point_text(point)}{known})"

    def _repr_html_(self) -> str:
        """What can be said of one region at once, for notebooks."""
        regions, outputs = self._regions, self(self.point)
        texts = {
            "region": f"{self.index} of {len(regions):,}",
            "interior point": point_text(self.point),
            "output there": point_text(outputs),
            "class there": str(int(np.argmax(outputs)) if len(outputs) > 1 else int(outputs[0] > 0)),
        }
        if regions.outcome.has_facets and regions.domain.dim <= _MEASURED_DIMENSIONS:
            texts |= {
                "volume": f"{self.volume:.6g}",
                "centroid": point_text(self.centroid),
                "facets": "; ".join(self.facets),
            }
        return as_html(texts)
