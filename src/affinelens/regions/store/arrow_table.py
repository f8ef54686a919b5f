"""Regions as an Arrow table, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from affinelens.array_types import Floats, Patterns
from affinelens.domain import Domain, Frame
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.regions.store.pattern_bits import PATTERN_BITS, bits_for, bytes_for, packed, unpacked
from affinelens.restrict import SwitchingChoices
from affinelens.walk import Columns, Facets, Hyperplanes, Vertices

_SLACK = 2.0**-20
_FRACTION = re.compile(r"-?\d{1,4000}(/0*[1-9]\d{0,4000})?")


def columns_to_table(columns: Columns, domain: Domain, *, bits: int | None = None) -> pa.Table:
    """One row a region. ``point`` is in input coordinates; ``coordinates`` are the domain's own, where they differ.

    A slice, which may be one of thousands of inputs, has coordinates only.

    Patterns are lists of numbers or, for files, so many bits a choice, in a column of another name.
    """
    exact: list[list[str] | None] = [None] * len(columns)
    for index, point in columns.exact_points.items():
        exact[index] = [str(value) for value in point]
    frame = domain.frame
    table = {}
    if not domain.has_own_coordinates:
        table["point"] = _fixed(frame.to_inputs(columns.points))
    if domain.has_own_coordinates or not frame.is_plain:
        table["coordinates"] = _fixed(columns.points)
    if bits is None:
        table["pattern"] = _fixed(columns.patterns)
    else:
        table[PATTERN_BITS] = _bytes(packed(columns.patterns, bits))
    if columns.facets is not None:
        offsets = pa.array(columns.facets.offsets)
        table["facets"] = pa.LargeListArray.from_arrays(offsets, pa.array(columns.facets.numbers))
        table["facet_signs"] = pa.LargeListArray.from_arrays(offsets, pa.array(columns.facets.signs))
    if columns.vertices is not None:
        offsets = pa.array(columns.vertices.offsets)
        table["vertices"] = pa.LargeListArray.from_arrays(offsets, _fixed(columns.vertices.points))
        table["vertex_facets"] = pa.LargeListArray.from_arrays(offsets, _fixed(columns.vertices.tight))
    table["exact_coordinates"] = pa.array(exact, type=pa.list_(pa.string()))
    return pa.table(table)


def columns_from_table(
    table: pa.Table, network: Network, domain: Domain, switching: SwitchingChoices | None = None
) -> Columns:
    """The columns, each checked for type, shape and range."""
    patterns = patterns_from_table(table, network, switching)
    points = points_from_table(table, domain)
    return Columns(patterns, points, *geometry_from_table(table, network, domain))


def point_column(domain: Domain) -> str:
    """The column that points are read from."""
    return "point" if domain.frame.is_plain and not domain.has_own_coordinates else "coordinates"


def points_from_table(table: pa.Table, domain: Domain) -> Floats:
    """Interior points, in the frame's coordinates."""
    points: Floats = _matrix(table, point_column(domain), domain.frame.dim, np.dtype(np.float64))
    if not _inside(points, domain.frame):
        raise _no_run_has("values")
    return points


def pattern_column(names: Iterable[str]) -> str:
    """Of a file's columns, the one that patterns are read from."""
    return PATTERN_BITS if PATTERN_BITS in names else "pattern"


def patterns_from_table(table: pa.Table, network: Network, switching: SwitchingChoices | None) -> Patterns:
    """Patterns, of all choices or of those that switch."""
    pieces = network.choice_pieces if switching is None else network.choice_pieces[switching.choices]
    patterns = _patterns(table, network, len(pieces))
    if not np.all(patterns < pieces):
        raise _no_run_has("values")
    return patterns


def pattern_bytes_from_table(
    table: pa.Table, network: Network, switching: SwitchingChoices | None
) -> NDArray[np.uint8]:
    """Patterns as :func:`packed` has them, a row each; what no run has is not found out."""
    choices = int(network.choice_offsets[-1]) if switching is None else len(switching.choices)
    if PATTERN_BITS not in table.column_names:
        return packed(_patterns(table, network, choices), bits_for(network))
    return _packed_matrix(table, PATTERN_BITS, bytes_for(choices, bits_for(network)), np.dtype(np.uint8))


GEOMETRY = ("exact_coordinates", "facets", "facet_signs", "vertices", "vertex_facets")


def geometry_from_table(
    table: pa.Table, network: Network, domain: Domain
) -> tuple[dict[int, tuple[Fraction, ...]], Facets | None, Vertices | None]:
    """Exact points, facets and vertices."""
    frame = domain.frame
    facets = _facets(table, len(Hyperplanes(network, frame))) if "facets" in table.column_names else None
    return _exact_points(table, frame.dim), facets, _vertices(table, frame)


def _no_run_has(what: str) -> AffineLensError:
    return AffineLensError(f"its table holds {what} that no run has")


def _inside(points: NDArray[np.float64], frame: Frame) -> bool:
    """Whether points lie in the domain's box, up to far more than rounding."""
    slack = _SLACK * np.maximum(np.abs(frame.lower), np.abs(frame.upper))
    return bool(np.all((points >= frame.lower - slack) & (points <= frame.upper + slack)))


def _facets(table: pa.Table, hyperplanes: int) -> Facets:
    numbers, offsets = _ragged(table, "facets", np.dtype(np.int64))
    signs, sign_offsets = _ragged(table, "facet_signs", np.dtype(np.int8))
    fits = (
        np.array_equal(offsets, sign_offsets)
        and np.all((numbers >= 0) & (numbers < hyperplanes))
        and np.all(np.abs(signs) == 1)
    )
    if not fits:
        raise _no_run_has("facets")
    return Facets(numbers, signs, offsets)


def _vertices(table: pa.Table, frame: Frame) -> Vertices | None:
    if "vertices" not in table.column_names:
        return None
    points = _column(table, "vertices", _is_list)
    tight = _column(table, "vertex_facets", _is_list)
    lengths = _lengths(points)
    inner = tight.flatten()
    words = int(_lengths(inner)[0]) if len(inner) else 1
    rows = _inner_matrix(points.flatten(), "vertices", frame.dim, np.dtype(np.float64))
    bits = _inner_matrix(inner, "vertex_facets", words, np.dtype(np.uint64))
    if not (np.array_equal(lengths, _lengths(tight)) and _inside(rows, frame)):
        raise _no_run_has("vertices")
    return Vertices(rows, bits, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


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
    return _inner_matrix(_column(table, name, _is_list), name, width, kind)


def _patterns(table: pa.Table, network: Network, choices: int) -> Patterns:
    """As bits or, in what earlier versions wrote, as numbers of their own."""
    kind = network.pattern_type
    if PATTERN_BITS not in table.column_names:
        return _packed_matrix(table, "pattern", choices, kind)
    bits = bits_for(network)
    rows = _packed_matrix(table, PATTERN_BITS, bytes_for(choices, bits), np.dtype(np.uint8))
    return unpacked(rows, choices, bits, kind)


def _packed_matrix(table: pa.Table, name: str, width: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """As :func:`_matrix`, where rows may also be bytes."""
    if name not in table.column_names or not pa.types.is_fixed_size_binary(table.schema.field(name).type):
        return _matrix(table, name, width, kind)
    column = _column(table, name, pa.types.is_fixed_size_binary)
    if column.type.byte_width != width * kind.itemsize:
        raise AffineLensError(f"its column {name!r} does not have {width} entries a region")
    start = column.offset * column.type.byte_width
    flat = np.frombuffer(column.buffers()[1], dtype=np.uint8)[start : start + len(column) * column.type.byte_width]
    return flat.view(kind).reshape(len(column), width)


def _inner_matrix(column: pa.Array, name: str, width: int, kind: np.dtype[Any]) -> NDArray[Any]:
    if not _is_list(column.type):
        raise AffineLensError(f"its column {name!r} is not a list")
    flat = _flat(column, name, kind)
    if np.any(_lengths(column) != width):
        raise AffineLensError(f"its column {name!r} does not have {width} entries a region")
    return flat.reshape(len(column), width)


def _ragged(table: pa.Table, name: str, kind: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    column = _column(table, name, _is_list)
    return _flat(column, name, kind), np.concatenate([[0], np.cumsum(_lengths(column))]).astype(np.int64)


def _exact_points(table: pa.Table, dimension: int) -> dict[int, tuple[Fraction, ...]]:
    column = _column(table, "exact_coordinates", _is_list)
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    found = {}
    for index, texts in zip(rows.tolist(), column.take(pa.array(rows)).to_pylist(), strict=True):
        if len(texts) != dimension or not all(isinstance(t, str) and _FRACTION.fullmatch(t) for t in texts):
            raise AffineLensError("its exact points are not fractions")
        found[index] = tuple(Fraction(text) for text in texts)
    return found


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    import pyarrow.compute as pc

    lengths: NDArray[np.int64] = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _bytes(rows: NDArray[np.uint8]) -> pa.Array:
    """Rows of bytes as a column of byte strings."""
    if rows.shape[1] == 0:
        return _fixed(rows)
    kind = pa.binary(rows.shape[1])
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))])


def _fixed(values: NDArray[Any]) -> pa.Array:
    """A matrix as a column of fixed-size lists."""
    if values.shape[1] == 0:
        return pa.array([[]] * len(values), type=pa.list_(pa.from_numpy_dtype(values.dtype)))
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
