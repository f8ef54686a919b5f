"""Some regions of many that are on disk, which stay there."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from affinelens.array_types import Indices, Patterns
from affinelens.walk.column_source import ColumnSource, ColumnView, Rows
from affinelens.walk.columns import Columns


class SelectedRows(ColumnSource):
    """Rows of a source, in the order given; their numbers are in memory."""

    def __init__(self, source: ColumnSource, rows: Indices) -> None:
        self._source = source
        self._rows = rows
        self.rows_at_once = source.rows_at_once

    @property
    def has_facets(self) -> bool:
        return self._source.has_facets

    @property
    def has_vertices(self) -> bool:
        return self._source.has_vertices

    @property
    def points(self) -> ColumnView:
        return self._view(self._source.points)

    @property
    def patterns(self) -> ColumnView:
        return self._view(self._source.patterns)

    def _view(self, whole: ColumnView) -> ColumnView:
        shape = (len(self), whole.shape[1])
        return ColumnView(shape, whole.dtype, lambda rows: whole[self._rows[rows]], self.rows_at_once)

    @cached_property
    def exact_points(self) -> dict[int, tuple[Fraction, ...]]:
        all_of_them = self._source.exact_points
        chosen = np.flatnonzero(np.isin(self._rows, list(all_of_them))).tolist()
        return {row: all_of_them[int(self._rows[row])] for row in chosen}

    def __len__(self) -> int:
        return len(self._rows)

    def taken(self, rows: Rows) -> Columns:
        return self._source.taken(self._rows[rows])

    def places(self, patterns: Patterns) -> Indices:
        found = self._source.places(patterns)
        order = np.argsort(self._rows, kind="stable")
        at = np.searchsorted(self._rows, found, sorter=order)
        nearest = order[np.minimum(at, len(order) - 1)]
        places: Indices = np.where((found >= 0) & (self._rows[nearest] == found), nearest, -1)
        return places
