"""Regions as an Arrow table, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from affinelens.domain import Frame
from affinelens.errors import AffineLensError
from affinelens.network import Network

if TYPE_CHECKING:
    from affinelens.regions.region_set import RegionSet

_FRACTION = re.compile(r"-?\d{1,4000}(/0*[1-9]\d{0,4000})?")


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


def columns_from_table(table: pa.Table, network: Network, frame: Frame) -> dict[str, Any]:
    """The columns of an :class:`Outcome`, each checked for type, shape and range."""
    choices = network.choice_offsets[-1]
    patterns = _matrix(table, "pattern", choices, network.pattern_type)
    points = _matrix(table, "coordinates", frame.dim, np.dtype(np.float64))
    facets, offsets = _ragged(table, "facets", np.dtype(np.int64))
    signs, sign_offsets = _ragged(table, "facet_signs", np.dtype(np.int8))
    activations = [stage.activation for stage in network.stages]
    pieces = np.repeat([a.pieces for a in activations], [a.choices for a in activations])
    hyperplanes = frame.rows.shape[0] + network.break_offsets[-1]
    fits = (
        np.isfinite(points).all()
        and np.all(patterns < pieces)
        and np.array_equal(offsets, sign_offsets)
        and np.all((facets >= 0) & (facets < hyperplanes))
        and np.all(np.abs(signs) == 1)
    )
    if not fits:
        raise AffineLensError("its table holds values that no run has")
    return {
        "points": points,
        "patterns": patterns,
        "facets": facets,
        "facet_signs": signs,
        "offsets": offsets,
        "exact_points": _exact_points(table, frame.dim),
    }


def _column(table: pa.Table, name: str, accepted: Callable[[pa.DataType], bool]) -> pa.Array:
    if name not in table.column_names or not accepted(table.schema.field(name).type):
        raise AffineLensError(f"its table has no proper column {name!r}")
    column = table.column(name).combine_chunks()
    if name != "exact_coordinates" and column.null_count:
        raise AffineLensError(f"its column {name!r} has gaps")
    return column


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _flat(column: pa.Array, name: str, kind: np.dtype[Any]) -> NDArray[Any]:
    values = column.flatten()
    if values.null_count or values.type != pa.from_numpy_dtype(kind):
        raise AffineLensError(f"its column {name!r} does not hold {kind} numbers")
    flat: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return flat


def _matrix(table: pa.Table, name: str, width: int, kind: np.dtype[Any]) -> NDArray[Any]:
    column = _column(table, name, _is_list)
    flat = _flat(column, name, kind)
    if np.any(_lengths(column) != width):
        raise AffineLensError(f"its column {name!r} does not have {width} entries a region")
    return flat.reshape(len(column), width)


def _ragged(table: pa.Table, name: str, kind: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    column = _column(table, name, _is_list)
    return _flat(column, name, kind), np.concatenate([[0], np.cumsum(_lengths(column))]).astype(np.int64)


def _exact_points(table: pa.Table, dimension: int) -> dict[int, tuple[Fraction, ...]]:
    found = {}
    for index, texts in enumerate(_column(table, "exact_coordinates", _is_list).to_pylist()):
        if texts is None:
            continue
        if len(texts) != dimension or not all(isinstance(t, str) and _FRACTION.fullmatch(t) for t in texts):
            raise AffineLensError("its exact points are not fractions")
        found[index] = tuple(Fraction(text) for text in texts)
    return found


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    import pyarrow.compute as pc

    lengths: NDArray[np.int64] = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _fixed(values: NDArray[Any]) -> pa.Array:
    """A matrix as a column of fixed-size lists."""
    if values.shape[1] == 0:
        return pa.array([[]] * len(values), type=pa.list_(pa.from_numpy_dtype(values.dtype)))
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
