"""Regions as an Arrow table, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from affinelens.errors import AffineLensError

if TYPE_CHECKING:
    from affinelens.regions.region_set import RegionSet


def regions_to_table(regions: RegionSet) -> pa.Table:
    """One row a region. ``coordinates`` are the domain's own; ``point`` is the same place in input coordinates."""
    outcome = regions.outcome
    offsets = pa.array(outcome.offsets)
    exact: list[list[str] | None] = [None] * len(regions)
    for index, point in outcome.exact_points.items():
        exact[index] = [str(value) for value in point]
    return pa.table(
        {
            "point": _fixed(regions.points),
            "coordinates": _fixed(outcome.points),
            "pattern": _fixed(outcome.patterns),
            "facets": pa.LargeListArray.from_arrays(offsets, pa.array(outcome.facets)),
            "facet_signs": pa.LargeListArray.from_arrays(offsets, pa.array(outcome.facet_signs)),
            "exact_coordinates": pa.array(exact, type=pa.list_(pa.string())),
        }
    )


def columns_from_table(table: pa.Table, dimension: int, choices: int) -> dict[str, Any]:
    """The columns of an :class:`Outcome`, checked for shape."""
    try:
        facets = table.column("facets").combine_chunks()
        signs = table.column("facet_signs").combine_chunks()
        columns = {
            "points": _unfixed(table.column("coordinates"), dimension),
            "patterns": _unfixed(table.column("pattern"), choices),
            "facets": facets.flatten().to_numpy(zero_copy_only=False).astype(np.int64),
            "facet_signs": signs.flatten().to_numpy(zero_copy_only=False).astype(np.int8),
            "offsets": np.concatenate([[0], np.cumsum(_lengths(facets))]).astype(np.int64),
            "exact_points": {
                i: tuple(Fraction(text) for text in texts)
                for i, texts in enumerate(table.column("exact_coordinates").to_pylist())
                if texts is not None
            },
        }
    except (KeyError, ValueError, ZeroDivisionError, pa.ArrowInvalid) as error:
        raise AffineLensError("its table does not hold the columns of a run") from error
    if len(columns["facets"]) != len(columns["facet_signs"]):
        raise AffineLensError("its facets and their signs differ in number")
    return columns


def _fixed(values: NDArray[Any]) -> pa.Array:
    """A matrix as a column of fixed-size lists."""
    if values.shape[1] == 0:
        return pa.array([[]] * len(values), type=pa.list_(pa.from_numpy_dtype(values.dtype)))
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _unfixed(column: pa.ChunkedArray, width: int) -> NDArray[Any]:
    flat: NDArray[Any] = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), width)


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    import pyarrow.compute as pc

    lengths: NDArray[np.int64] = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths
