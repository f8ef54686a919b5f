"""Some regions of a set as a set of their own, which says that it is a selection."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Indices
from affinelens.errors import AffineLensError
from affinelens.regions.region_functions import restricted_functions
from affinelens.short_text import counted
from affinelens.walk import Columns, Outcome, Status
from affinelens.walk.selected_rows import SelectedRows

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions

Kind = TypeVar("Kind", bound="Regions")
# Selections of a set on disk are read into memory up to so many times as many regions as are read at once.
_PARTS_IN_MEMORY = 8


def selected_outcome(regions: Regions, rows: Indices) -> Outcome:
    """The regions in the given rows, and of the cells after each stage those that they lie in."""
    whole = regions.outcome
    columns: Columns | SelectedRows
    if whole.source is not None and len(rows) > _PARTS_IN_MEMORY * whole.source.rows_at_once:
        columns = SelectedRows(whole.source, rows)
    else:
        columns = whole.taken(rows)
    widths = np.searchsorted(regions.switching, regions.network.choice_offsets[1:]).tolist()
    cells = [_different(columns, width) for width in widths[:-1]]
    return replace(
        whole,
        status=Status.SELECTION,
        certificate=replace(whole.certificate, complete=False),
        layer_counts=(*cells, len(columns)),
        columns=columns,
        chunks=(),
        share=None,
        open_work=None,
    )


def parts(regions: Kind) -> Iterator[Kind]:
    """A set as sets of regions that follow each other, none of which takes much memory; one in memory is all of it.

    They are for what is computed of each region alone: how many cells they lie in is not found out.
    """
    whole = regions.outcome
    if whole.source is None:
        yield regions
        return
    known = replace(
        whole, restricted=restricted_functions(regions).restricted, status=Status.SELECTION, chunks=(), share=None,
        certificate=replace(whole.certificate, complete=False), open_work=None,
    )  # fmt: skip
    for rows in whole.source.parts():
        counts = (*whole.layer_counts[:-1], rows.stop - rows.start)
        outcome = replace(known, columns=whole.taken(rows), layer_counts=counts)
        yield type(regions)(regions.network, regions.domain, outcome, regions.options, regions.note)


def _different(columns: Columns | SelectedRows, width: int) -> int:
    """How many patterns of the first so many choices there are.

    Most rows are like the one before, because regions of a cell mostly follow each other.
    """
    if not width or not len(columns):
        return min(len(columns), 1)
    known: list[NDArray[np.void]] = []
    settled = waiting = 0
    for rows in [slice(0, len(columns))] if isinstance(columns, Columns) else columns.parts():
        own = columns.patterns[rows][:, :width]
        changed = (own[1:] != own[:-1]).any(axis=1)
        cells = np.ascontiguousarray(own[np.append(True, changed)])
        known.append(np.unique(cells.view(np.dtype((np.void, cells.itemsize * width))).ravel()))
        waiting += len(known[-1])
        if waiting > settled:  # so that little is compared often
            known = [np.unique(np.concatenate(known))]
            settled, waiting = len(known[0]), 0
    return len(np.unique(np.concatenate(known)))


def row_or_rows(index: Any, count: int) -> int | Indices:
    """What stands between the brackets of ``rs[...]``: one row, or several as an array.

    A row is an integer; several are a slice, a list or array of integers, or a bool a region.
    """
    if isinstance(index, slice):
        return np.arange(*index.indices(count))
    if isinstance(index, (bool, np.bool_, str, bytes)):
        raise _unreadable(index)
    if hasattr(index, "__index__") and np.ndim(index) == 0:
        return one_row(index, count)
    try:
        rows = np.asarray(index)
    except ValueError:
        raise _unreadable(index) from None
    if rows.ndim == 1 and rows.dtype == np.bool_:
        if len(rows) != count:
            raise AffineLensError(f"a mask needs one bool a region, {count:,}, but has {len(rows):,}")
        return np.flatnonzero(rows)
    if rows.ndim == 1 and (np.issubdtype(rows.dtype, np.integer) or not len(rows)):
        for row in rows[(rows < -count) | (rows >= count)][:1].tolist():
            one_row(row, count)
        return np.where(rows < 0, rows + count, rows).astype(np.int64)
    raise _unreadable(index)


def one_row(index: Any, count: int) -> int:
    """A region's row, counted from the end if it is negative."""
    try:
        row = operator.index(index)
    except TypeError:
        raise _unreadable(index) from None
    position = row + count if row < 0 else row
    if not 0 <= position < count:
        raise IndexError(f"there is no region {row} in a set of {counted(count, 'region')}")
    return position


def _unreadable(index: Any) -> AffineLensError:
    shown = f"{type(index).__name__} {index!r}" if np.ndim(index) == 0 else f"an array of shape {np.shape(index)}"
    return AffineLensError(
        f"a region is chosen by its row, an integer, and several by a slice, a list of rows or a bool a region, but "
        f"got {shown}; rs.at(x) gives the region of a point"
    )
