"""A frame as plain data: a JSON structure that refers to named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.domain.frame import Frame
from affinelens.errors import AffineLensError

Arrays = dict[str, NDArray[Any]]


def frame_to_data(frame: Frame) -> tuple[dict[str, Any], Arrays]:
    """The frame's numbers, exactly."""
    arrays: Arrays = {"lower": frame.lower, "upper": frame.upper}
    structure: dict[str, Any] = {"constraints": list(frame.constraints), "irredundant": frame.irredundant}
    for name, matrix in (("chart", frame.chart), ("rows", frame.rows)):
        entries = [int(entry) for entry in matrix.numerators.entries()]
        places = [place for place, entry in enumerate(entries) if entry]
        arrays[f"{name}_places"] = np.array(places, dtype=np.int64)
        if matrix.source is not None:
            arrays[f"{name}_minus_zeros"] = np.packbits((matrix.source == 0) & np.signbit(matrix.source))
        structure[name] = {
            "shape": list(matrix.shape),
            "numerators": [format(entries[place], "x") for place in places],
            "denominator": format(int(matrix.denominator), "x"),
        }
    return structure, arrays


def frame_from_data(structure: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Frame:
    """Rebuild a frame; that its box holds the domain, and that it has an interior, is trusted."""
    try:
        chart, rows = (
            _matrix(structure[name], arrays[f"{name}_places"], arrays.get(f"{name}_minus_zeros"))
            for name in ("chart", "rows")
        )
        lower, upper = (arrays[name].astype(np.float64) for name in ("lower", "upper"))
        constraints = tuple(int(number) for number in structure["constraints"])
        irredundant = bool(structure["irredundant"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise AffineLensError("the saved domain cannot be read") from error
    dim = chart.shape[1] - 1
    fits = rows.shape == (len(constraints), dim + 1) and lower.shape == upper.shape == (dim,) and dim > 0
    if not (fits and np.isfinite(lower).all() and np.isfinite(upper).all() and (lower < upper).all()):
        raise AffineLensError("the numbers of the saved domain do not fit together")
    return Frame(chart, rows, constraints, lower, upper, irredundant)


def _matrix(data: Mapping[str, Any], places: NDArray[Any], minus_zeros: NDArray[Any] | None) -> ExactMatrix:
    """A matrix; if it is said which zeros have a sign, it has its numbers in float64 at hand, to the bit."""
    count, width = (int(n) for n in data["shape"])
    numerators, denominator = fmpz_mat(count, width), int(data["denominator"], 16)
    if denominator < 1 or count < 0 or width < 1:
        raise ValueError("a matrix is none")
    for place, text in zip(places.tolist(), data["numerators"], strict=True):
        row, column = divmod(place, width)
        if not 0 <= row < count:
            raise ValueError("an entry is outside of its matrix")
        numerators[row, column] = int(text, 16)
    matrix = ExactMatrix(numerators, fmpz(denominator))
    if minus_zeros is None:
        return matrix
    source = matrix.to_floats().copy()
    is_negative = np.unpackbits(minus_zeros, count=source.size).astype(bool).reshape(source.shape)
    source[is_negative & (source == 0)] = -0.0
    return replace(matrix, source=source)
