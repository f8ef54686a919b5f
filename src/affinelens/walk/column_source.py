"""Regions that are elsewhere, and read when they are looked at: so many that memory does not hold them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from affinelens.array_types import Indices, Patterns
from affinelens.walk.columns import Columns

# Some regions: a run of rows, with a start, a stop and no step, or their numbers in any order.
Rows: TypeAlias = slice | Indices


class ColumnSource(ABC):
    """The regions of a walk in their order; what is looked at is read, and little of it is kept."""

    # How many regions are best read at once.
    rows_at_once: int

    @property
    @abstractmethod
    def has_facets(self) -> bool:
        """Whether there are facets."""

    @property
    @abstractmethod
    def has_vertices(self) -> bool:
        """Whether there are vertices."""

    @property
    @abstractmethod
    def points(self) -> ColumnView:
        """Interior points, a row a region, in the frame's coordinates."""

    @property
    @abstractmethod
    def patterns(self) -> ColumnView:
        """Patterns, a row a region."""

    @property
    @abstractmethod
    def exact_points(self) -> dict[int, tuple[Fraction, ...]]:
        """Rational interior points of the regions that are too thin to contain a float64 one."""

    @abstractmethod
    def __len__(self) -> int:
        """How many regions there are."""

    @abstractmethod
    def taken(self, rows: Rows) -> Columns:
        """Some regions, in the order given."""

    @abstractmethod
    def places(self, patterns: Patterns) -> Indices:
        """Where each of the given patterns is, or -1."""

    def parts(self) -> Iterator[slice]:
        """All regions, so many at once as are best read."""
        return runs(len(self), self.rows_at_once)

    def __call__(self) -> Columns:
        """All of them at once, in memory."""
        return self.taken(slice(0, len(self)))

    def __reduce__(self) -> tuple[Callable[[Columns], Columns], tuple[Columns]]:
        """What travels to another process, where there may be no such files: all of them."""
        return _as_they_are, (self(),)


class ColumnView(NDArrayOperatorsMixin):
    """A table of numbers that is read when it is looked at, in place of an array; rows and entries of it are arrays.

    ``read`` gives rows: a run of them, or some in ascending order. Whatever takes the whole table, as arithmetic,
    ``np.asarray`` and methods of arrays do, reads all of it into memory.
    """

    def __init__(
        self, shape: tuple[int, int], dtype: np.dtype[Any], read: Callable[[Rows], NDArray[Any]], rows_at_once: int
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._read = read
        self._rows_at_once = rows_at_once

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (row for rows in runs(len(self), self._rows_at_once) for row in self._read(rows))

    def __getitem__(self, key: Any) -> Any:
        """What an array would give, of which no more rows are read than it takes."""
        first, *others = key if isinstance(key, tuple) else (key,)
        if isinstance(first, slice):
            chosen = range(len(self))[first]
            if chosen.step == 1:
                return self._run(chosen.start, max(chosen.start, chosen.stop), others)
            return self[(np.arange(chosen.start, chosen.stop, chosen.step), *others)]
        if first is None or first is Ellipsis or isinstance(first, bool | np.bool_):
            return np.asarray(self)[key]
        if np.ndim(first) == 0:
            row = range(len(self))[first]
            return self._read(slice(row, row + 1))[(0, *others)]
        rows = np.asarray(first)
        if rows.dtype == np.bool_:
            if rows.shape != self.shape[:1]:
                return np.asarray(self)[key]
            rows = np.flatnonzero(rows)
        if rows.size and not (rows.min() >= -len(self) and rows.max() < len(self)):
            raise IndexError(f"there are {len(self)} rows, and not all of those that are asked for")
        wanted, places = np.unique(rows.astype(np.int64) % max(len(self), 1), return_inverse=True)
        return self._read(wanted)[(places.reshape(rows.shape), *others)]

    def _run(self, start: int, stop: int, others: Sequence[Any]) -> NDArray[Any]:
        """A run of rows, or what is chosen of each, with little more memory than that takes."""
        found: NDArray[Any] | None = None
        for rows in runs(stop - start, self._rows_at_once):
            part = self._read(slice(start + rows.start, start + rows.stop))[(slice(None), *others)]
            if rows.stop - rows.start == stop - start:
                return part
            if found is None:
                found = np.empty((stop - start, *part.shape[1:]), dtype=part.dtype)
            found[rows] = part
        assert found is not None
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a column that is on disk is read into memory to be an array")
        return self._run(0, len(self), ()).astype(self.dtype if dtype is None else dtype, copy=False)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(each) if isinstance(each, ColumnView) else each for each in inputs]
        return getattr(function, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        """What arrays have beyond this, such as ``min``, of the whole table."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()

    def __repr__(self) -> str:
        return f"ColumnView({self.shape[0]:,} rows of {self.shape[1]} {self.dtype}, on disk)"


def _as_they_are(columns: Columns) -> Columns:
    return columns


def runs(rows: int, at_once: int) -> Iterator[slice]:
    """Runs of rows, one after another; there is always one, which is empty if there are no rows."""
    return (slice(start, min(start + at_once, rows)) for start in range(0, max(rows, 1), at_once))
