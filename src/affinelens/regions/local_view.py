"""Regions in the domain's own coordinates: those of a slice, or the inputs that a box or a polytope leaves free."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from affinelens.array_types import Floats
from affinelens.network.enclosure import Enclosure
from affinelens.regions.region_vertices import known_vertices, one_regions_vertices
from affinelens.short_text import counted

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


class LocalRegions:
    """Columns of a set in the domain's own coordinates."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions

    @property
    def points(self) -> Floats:
        """An interior point a region: float64 of shape (regions, dimension)."""
        return self._regions.outcome.points

    @property
    def vertex_values(self) -> Floats:
        """All vertices; region i's are from ``vertex_offsets[i]`` to ``vertex_offsets[i + 1]``.

        float64 of shape (vertices, dimension).
        """
        return known_vertices(self._regions).points

    def __repr__(self) -> str:
        dim = self._regions.domain.dim
        return f"LocalRegions({counted(len(self._regions), 'region')} in {counted(dim, 'coordinate')})"


class LocalRegion:
    """A :class:`Region` in the domain's own coordinates t."""

    def __init__(self, regions: Regions, index: int) -> None:
        self._regions = regions
        self._index = index

    @property
    def point(self) -> Floats:
        """An interior point: float64 of shape (dimension,)."""
        point: Floats = self._regions.outcome.points[self._index]
        return point

    @property
    def exact_point(self) -> list[Fraction]:
        """An interior point in rationals."""
        stored = self._regions.outcome.exact_point(self._index)
        return [Fraction(v) for v in self.point.tolist()] if stored is None else list(stored)

    @property
    def vertices(self) -> Floats:
        """The region's corners: float64 of shape (vertices, dimension); from its facets where they were not kept."""
        return one_regions_vertices(self._regions, self._index).points

    @property
    def halfspaces(self) -> tuple[Floats, Floats]:
        """``W, b`` of the region's minimal description ``{t : W t + b >= 0}``, a row a facet."""
        regions, frame = self._regions, self._regions.domain.frame
        region = regions[self._index]
        forms = regions.network.forms(Enclosure.affine(frame.chart, frame.reach), region.pattern)
        rows = regions.hyperplanes.rows(region.facet_numbers, region.facet_signs, forms)
        return rows[:, :-1], rows[:, -1]

    @property
    def affine(self) -> tuple[Floats, Floats]:
        """``J, c`` with network output ``J t + c`` all over the region, correctly rounded from exact arithmetic."""
        regions = self._regions
        form = regions.network.exact_forms(regions.domain.frame.chart, regions.pattern(self._index))[-1].to_floats()
        return form[:, :-1], form[:, -1]

    def __repr__(self) -> str:
        shown = ", ".join(f"{v:.6g}" for v in self.point[:4])
        return f"LocalRegion({self._index}, t=({shown}{', ...' if len(self.point) > 4 else ''}))"
