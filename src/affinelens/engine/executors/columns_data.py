"""Columns of regions as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.walk import Columns, Facets, Vertices

Arrays = dict[str, NDArray[Any]]
# The columns that are there if facets or vertices are.
_FACETS = ("facet_numbers", "facet_signs", "facet_offsets")
_VERTICES = ("vertex_points", "vertex_tight", "vertex_offsets")


def columns_to_data(columns: Columns) -> tuple[dict[str, Any], Arrays]:
    """The arrays of the columns, and the exact points, of which there are few, as JSON."""
    arrays: Arrays = {"patterns": columns.patterns, "points": columns.points}
    if columns.facets is not None:
        facets = columns.facets
        arrays |= dict(zip(_FACETS, (facets.numbers, facets.signs, facets.offsets), strict=True))
        if facets.bits is not None:
            arrays["facet_bits"] = facets.bits
    if columns.vertices is not None:
        vertices = columns.vertices
        arrays |= dict(zip(_VERTICES, (vertices.points, vertices.tight, vertices.offsets), strict=True))
    exact = {str(index): [_to_text(x) for x in point] for index, point in columns.exact_points.items()}
    return {"regions": len(columns), "exact_points": exact}, arrays


def size_of(columns: Columns) -> int:
    """How many bytes the arrays take."""
    return sum(array.nbytes for array in columns_to_data(columns)[1].values())


def columns_from_data(structure: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Columns:
    """Rebuild columns, whose types and shapes are checked."""
    try:
        count = int(structure["regions"])
        patterns, points = arrays["patterns"], arrays["points"]
        exact = {int(i): tuple(map(_from_text, point)) for i, point in structure["exact_points"].items()}
        facets, vertices = None, None
        if _FACETS[0] in arrays:
            numbers, signs, offsets = (arrays[name] for name in _FACETS)
            facets = Facets(numbers, signs, offsets, arrays.get("facet_bits"))
        if _VERTICES[0] in arrays:
            corners, tight, offsets = (arrays[name] for name in _VERTICES)
            vertices = Vertices(corners, tight, offsets)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise AffineLensError("regions that arrived cannot be read") from error
    fits = (
        patterns.dtype in (np.uint8, np.uint16)
        and points.dtype == np.float64
        and patterns.ndim == points.ndim == 2
        and len(patterns) == len(points) == count
        and all(0 <= index < count and len(point) == points.shape[1] for index, point in exact.items())
        and (facets is None or _facets_fit(facets, count))
        and (vertices is None or _vertices_fit(vertices, count, points.shape[1]))
    )
    if not fits:
        raise AffineLensError("columns of regions that arrived do not fit together")
    return Columns(patterns, points, exact, facets, vertices)


def _facets_fit(facets: Facets, count: int) -> bool:
    bits = facets.bits
    return (
        facets.numbers.dtype == np.int64
        and facets.signs.dtype == np.int8
        and facets.numbers.shape == facets.signs.shape
        and (bits is None or (bits.dtype == np.int32 and bits.shape == facets.numbers.shape))
        and _offsets_fit(facets.offsets, count, len(facets.numbers))
    )


def _vertices_fit(vertices: Vertices, count: int, dim: int) -> bool:
    return (
        vertices.points.dtype == np.float64
        and vertices.tight.dtype == np.uint64
        and vertices.points.ndim == vertices.tight.ndim == 2
        and vertices.points.shape[1] == dim
        and len(vertices.points) == len(vertices.tight)
        and _offsets_fit(vertices.offsets, count, len(vertices.points))
    )


def _offsets_fit(offsets: NDArray[Any], count: int, end: int) -> bool:
    return bool(
        offsets.dtype == np.int64
        and offsets.shape == (count + 1,)
        and offsets[0] == 0
        and offsets[-1] == end
        and (np.diff(offsets) >= 0).all()
    )


def _to_text(number: Fraction) -> str:
    """In hexadecimal digits, of which Python reads any number."""
    return f"{number.numerator:x}/{number.denominator:x}"


def _from_text(text: str) -> Fraction:
    numerator, denominator = text.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))
