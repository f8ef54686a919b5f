"""Values of affine functions at points, one after another or eight at a time."""

from __future__ import annotations

from typing import Any

from affinelens.kernels.compilation import inlined
from affinelens.kernels.lanes import LANES, load, total


@inlined
def value_at(row: Any, place: int, points: Any, v: int, lanes: int) -> float:
    """Value of a hyperplane's function at a point."""
    return value_along(load(row, place * lanes), row, place, points, v, lanes)


@inlined
def value_along(first: Any, row: Any, place: int, points: Any, v: int, lanes: int) -> float:
    """As :func:`value_at`, with the row's first lanes given."""
    at_row, at_point = place * lanes, v * lanes
    result = total(first * load(points, at_point))
    for c in range(LANES, lanes, LANES):
        result += total(load(row, at_row + c) * load(points, at_point + c))
    return result


@inlined
def values_at(table: Any, at: int, stride: int, constant: Any, x: Any, v: int, d: int) -> Any:
    """Values of eight functions, which a table has coefficient by coefficient, at a vertex."""
    values = constant
    for k in range(d):
        values = values + x[v, k] * load(table, at + k * stride)
    return values
