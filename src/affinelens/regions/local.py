"""Regions in the domain's own coordinates: those of a slice, or the inputs that a box or a polytope leaves free."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from affinelens.network.enclosure import Enclosure

if TYPE_CHECKING:
    from affinelens.regions.region_set import RegionSet

Floats = NDArray[np.float64]


class LocalRegions:
    """Columns of a :class:`RegionSet` in the domain's own coordinates."""

    def __init__(self, regions: RegionSet) -> None:
        self._regions = regions

    @property
    def points(self) -> Floats:
        """An interior point a region."""
        return self._regions.outcome.points

    @property
    def vertex_values(self) -> Floats:
        """All vertices; region i's are from ``vertex_offsets[i]`` to ``vertex_offsets[i + 1]``."""
        return self._regions.corners.points


class LocalRegion:
    """A :class:`Region` in the domain's own coordinates t."""

    def __init__(self, regions: RegionSet, index: int) -> None:
        self._regions = regions
        self._index = index

    @property
    def point(self) -> Floats:
        """An interior point."""
        point: Floats = self._regions.outcome.points[self._index]
        return point

    @property
    def exact_point(self) -> list[Fraction]:
        """An interior point in rationals."""
        stored = self._regions.outcome.exact_points.get(self._index)
        return [Fraction(v) for v in self.point.tolist()] if stored is None else list(stored)

    @property
    def vertices(self) -> Floats:
        """The region's corners, a row each."""
        vertices = self._regions.corners
        corners: Floats = vertices.points[vertices.offsets[self._index] : vertices.offsets[self._index + 1]]
        return corners

    @property
    def halfspaces(self) -> tuple[Floats, Floats]:
        """``W, b`` of the region's minimal description ``{t : W t + b >= 0}``, a row a facet."""
        regions, frame = self._regions, self._regions.domain.frame
        network = regions.network
        numbers, signs = regions.facet_numbers(self._index), regions.facet_signs(self._index)
        reach = np.append(np.maximum(np.abs(frame.lower), np.abs(frame.upper)), 1.0)
        forms = network.forms(Enclosure.affine(frame.chart, reach), regions.pattern(self._index))
        domain_count = frame.rows.shape[0]
        rows = np.empty((len(numbers), frame.dim + 1))
        own = numbers < domain_count
        rows[own] = frame.rows.rows(numbers[own].tolist()).to_floats().reshape(-1, frame.dim + 1)
        for i in np.flatnonzero(~own).tolist():
            stage, inner = network.locate_break(int(numbers[i]) - domain_count)
            breaks = network.stages[stage].activation.breaks[np.array([inner])]
            rows[i] = signs[i] * forms[stage].differences(breaks.plus, breaks.minus, breaks.threshold).rows[0]
        return rows[:, :-1], rows[:, -1]

    @property
    def affine(self) -> tuple[Floats, Floats]:
        """``J, c`` with network output ``J t + c`` all over the region, correctly rounded from exact arithmetic."""
        regions = self._regions
        form = regions.network.exact_forms(regions.domain.frame.chart, regions.pattern(self._index))[-1].to_floats()
        return form[:, :-1], form[:, -1]
