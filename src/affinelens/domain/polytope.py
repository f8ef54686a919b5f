"""Polytopes given by halfspaces, checked exactly: bounded, non-empty and, fixed inputs aside, full-dimensional.

All decisions are taken in rational arithmetic from the numbers given, and an error names the constraints whose
combination proves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import ArrayLike

from affinelens.arithmetic import ExactMatrix, ExactProgram, Infeasible, Optimum
from affinelens.arithmetic.rational import fraction
from affinelens.array_types import Floats
from affinelens.domain.frame import Domain, EmptyDomainError, Frame, SinglePointError, free_chart, homogeneous
from affinelens.domain.numbers import LARGEST_BOUND, Numbers, outward, read_numbers
from affinelens.errors import AffineLensError, Option

# Exact bounds on every coordinate are worth 2 d exact programs up to about this dimension.
_TIGHTEN_UP_TO = 32


class Polytope(Domain):
    """The polytope ``{x : W x + b >= 0}``; inputs that it fixes are taken as constants.

    Parameters
    ----------
    W
        Of shape (constraints, inputs). Fractions, decimals and integers are taken exactly.
    b
        Of shape (constraints,), likewise.

    Attributes
    ----------
    weight : numpy.ndarray
        W in the nearest float64s.
    offset : numpy.ndarray
        b in the nearest float64s.

    Raises
    ------
    AffineLensError
        If the polytope is empty, unbounded or flat; the message names the constraints whose combination proves it.

    Notes
    -----
    Costs some linear programs in rational arithmetic: up to two an input.

    Examples
    --------
    >>> import affinelens as al
    >>> triangle = al.Polytope([[1, 0], [0, 1], [-1, -1]], [0, 0, 1])
    >>> triangle.dim
    2
    """

    def __init__(self, W: ArrayLike | Numbers, b: ArrayLike | Numbers) -> None:  # noqa: N803 (the paper's name)
        self._w, self._b = _numbers(W, "W"), _numbers(b, "b")
        self.weight, self.offset = self._w.nearest, self._b.nearest
        if self.weight.ndim != 2 or 0 in self.weight.shape:
            raise AffineLensError(f"W must be a matrix with one row a constraint, but has shape {self.weight.shape}")
        if self.offset.shape != (len(self.weight),):
            raise AffineLensError(
                f"b must hold one number a row of W, {len(self.weight)}, but has shape {self.offset.shape}"
            )
        self._frame = _analyse(self._rows())

    def _rows(self) -> ExactMatrix:
        """The constraints ``[W | b]``."""
        if self._w.exact is self._b.exact is None:
            return ExactMatrix.from_floats(np.hstack([self.weight, self.offset[:, None]]))
        width = self.inputs
        weights, offsets = self._w.fractions(), self._b.fractions()
        return ExactMatrix.from_fractions(
            [[*weights[i * width : (i + 1) * width], offset] for i, offset in enumerate(offsets)]
        )

    @property
    def inputs(self) -> int:
        return int(self.weight.shape[1])

    @property
    def frame(self) -> Frame:
        return self._frame

    def describe_constraint(self, number: int) -> str:
        return f"constraint {number}"

    def halfspace(self, number: int) -> tuple[Floats, float]:
        return self.weight[number], float(self.offset[number])

    def to_json(self) -> dict[str, Any]:
        return {"kind": "polytope", "W": self._w.to_json(), "b": self._b.to_json()}

    def __repr__(self) -> str:
        return f"Polytope({len(self.weight)} constraints on {self.inputs} inputs, dimension {self.dim})"


def _numbers(values: ArrayLike | Numbers, name: str) -> Numbers:
    array = read_numbers(values, f"the entries of the polytope's {name}")
    if not np.isfinite(array.nearest).all():
        raise AffineLensError(f"the polytope's {name} contains NaN or infinity; every entry must be a finite number")
    return array


def _analyse(rows: ExactMatrix) -> Frame:
    kept = []
    for i, row in enumerate(rows.numerators.tolist()):
        if any(row[:-1]):
            kept.append(i)
        elif row[-1] < 0:
            offset = float(rows.entry(i, rows.shape[1] - 1))
            raise EmptyDomainError(
                f"the polytope is empty: constraint {i} reads 0 x + {offset:g} >= 0, which never holds"
            )
    if not kept:
        raise AffineLensError("the polytope is unbounded: no constraint bounds input 0, or any other; add some")
    rows = rows.rows(kept)
    box = _bounding_box(rows, kept)
    slack, proof = _widest(rows, box)
    if slack < 0:
        raise EmptyDomainError(f"the polytope is empty: {_name(kept, proof)} cannot hold together; relax one of them")
    fixed = {} if slack > 0 else _fixed_inputs(rows, box)
    return _reduced_frame(rows, kept, box, fixed)


def _bounding_box(rows: ExactMatrix, names: Sequence[int]) -> tuple[list[fmpq], list[fmpq]]:
    """Exact finite bounds of every input, or an error that names an input without one."""
    count = rows.shape[1] - 1
    bounds: list[dict[int, fmpq]] = [{}, {}]
    table = rows.numerators.tolist()
    for row in table:
        used = [k for k in range(count) if row[k]]
        if len(used) == 1:
            k = used[0]
            side, bound = (0, max) if row[k] > 0 else (1, min)
            value = fmpq(-row[-1], row[k])
            bounds[side][k] = bound(bounds[side].get(k, value), value)
    missing = [(side, k) for side in (0, 1) for k in range(count) if k not in bounds[side]]
    if missing:
        homogeneous = fmpz_mat(len(table), count + 1, [a for row in table for a in (*row[:-1], fmpz(0))])
        recession = ExactProgram(homogeneous, [fmpq(-1)] * count, [fmpq(1)] * count)
        for side, k in missing:
            bounds[side][k] = _implied_bound(recession, table, side, k)
    return [bounds[0][k] for k in range(count)], [bounds[1][k] for k in range(count)]


def _implied_bound(recession: ExactProgram, table: list[list[fmpz]], side: int, k: int) -> fmpq:
    """A bound on x_k from constraints whose combination gives it; the recession cone proves that there is one."""
    sign = 1 if side else -1
    objective = [fmpz(0)] * (len(table[0]) - 1)
    objective[k] = fmpz(sign)
    result = recession.maximise(objective)
    assert isinstance(result, Optimum)  # the zero vector is always feasible
    if result.value > 0:
        direction = ", ".join(f"{float(fraction(r)):g}" for r in result.point[:8])
        word = "above" if side else "below"
        raise AffineLensError(
            f"the polytope is unbounded: no combination of its constraints bounds input {k} from {word} "
            f"(it holds the ray ({direction}{', ...' if len(result.point) > 8 else ''})); add a constraint on x[{k}]"
        )
    total = sum((y * table[i][-1] for i, y in result.multipliers.items() if i < len(table)), fmpq(0))
    return total * sign


def _widest(rows: ExactMatrix, box: tuple[list[fmpq], list[fmpq]]) -> tuple[fmpq, list[int]]:
    """The largest t in [-1, 1] with every row >= t times its size (-1 if none), and the rows that limit it."""
    count = rows.shape[1] - 1
    entries: list[fmpz] = []
    for row in rows.numerators.tolist():
        entries += [*row[:-1], -max(abs(a) for a in row[:-1]), row[-1]]
    program = ExactProgram(fmpz_mat(rows.shape[0], count + 2, entries), [*box[0], fmpq(-1)], [*box[1], fmpq(1)])
    result = program.maximise([*[fmpz(0)] * count, fmpz(1)])
    value = fmpq(-1) if isinstance(result, Infeasible) else result.value
    return value, _rows_behind(rows, box, result.multipliers)


def _rows_behind(rows: ExactMatrix, box: tuple[list[fmpq], list[fmpq]], multipliers: Iterable[int]) -> list[int]:
    """Rows named by a proof; a bound of the box is traced back to the row that states it."""
    count = rows.shape[0]
    table = rows.numerators.tolist()
    found: set[int] = set()
    for index in multipliers:
        if index < count:
            found.add(index)
            continue
        k, upper = divmod(index - count, 2)
        if k >= rows.shape[1] - 1:
            continue
        for i, row in enumerate(table):
            alone = all(not a for j, a in enumerate(row[:-1]) if j != k)
            if alone and row[k] and (row[k] < 0) == bool(upper) and fmpq(-row[-1], row[k]) == box[upper][k]:
                found.add(i)
                break
    return sorted(found)


def _fixed_inputs(rows: ExactMatrix, box: tuple[list[fmpq], list[fmpq]]) -> dict[int, Fraction]:
    """Inputs that take a single value on the (flat) polytope."""
    low, high = exact_ranges(rows, box)
    return {k: fraction(value) for k, value in enumerate(low) if value == high[k]}


def exact_ranges(rows: ExactMatrix, box: tuple[list[fmpq], list[fmpq]]) -> tuple[list[fmpq], list[fmpq]]:
    """The exact smallest and largest value of every input."""
    count = rows.shape[1] - 1
    program = ExactProgram(rows.numerators, *box)
    ranges: tuple[list[fmpq], list[fmpq]] = ([], [])
    for k in range(count):
        for side, sign in ((0, -1), (1, 1)):
            objective = [fmpz(0)] * count
            objective[k] = fmpz(sign)
            result = program.maximise(objective)
            assert isinstance(result, Optimum)  # feasibility was established before
            ranges[side].append(result.value * sign)
    return ranges


def _reduced_frame(
    rows: ExactMatrix, names: list[int], box: tuple[list[fmpq], list[fmpq]], fixed: dict[int, Fraction]
) -> Frame:
    """Substitute fixed inputs, check that the rest is full-dimensional, and build the frame."""
    inputs = rows.shape[1] - 1
    free = [k for k in range(inputs) if k not in fixed]
    if not free:
        raise SinglePointError(
            "the polytope fixes every input and is a single point; let at least one input vary",
            [fixed[k] for k in range(inputs)],
        )
    chart = free_chart(free, fixed)
    reduced = rows @ homogeneous(chart)
    live = _distinct_rows(reduced)
    reduced = reduced.rows(live)
    kept = [names[i] for i in live]
    inner = ([box[0][k] for k in free], [box[1][k] for k in free])
    slack, proof = _widest(reduced, inner)
    if slack <= 0:
        raise AffineLensError(
            f"the polytope is flat: {_name(kept, proof)} leave it no interior, and it is not parallel to the axes; "
            "give it in coordinates of the flat's own with ",
            Option("through", in_python="al.Slice"),
            ", or relax one of them",
        )
    if len(free) <= _TIGHTEN_UP_TO:
        inner = exact_ranges(reduced, inner)
    lower = np.array([outward(fraction(value), down=True) for value in inner[0]])
    upper = np.array([outward(fraction(value), down=False) for value in inner[1]])
    if max(np.abs(lower).max(), np.abs(upper).max()) > LARGEST_BOUND:
        raise AffineLensError(f"the polytope reaches beyond {LARGEST_BOUND:g}; rescale its inputs")
    return Frame(chart, reduced, tuple(kept), lower, upper)


def _distinct_rows(rows: ExactMatrix) -> list[int]:
    """Rows that depend on a coordinate, without repetitions of the same halfspace."""
    seen: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(rows.numerators.tolist()):
        if any(row[:-1]):
            divisor = gcd(*(int(a) for a in row))
            seen.setdefault(tuple(int(a) // divisor for a in row), i)
    return sorted(seen.values())


def _name(names: Sequence[int], rows: Sequence[int]) -> str:
    numbers = [str(names[i]) for i in rows]
    if len(numbers) == 1:
        return f"constraint {numbers[0]}"
    return f"constraints {', '.join(numbers[:-1])} and {numbers[-1]}"
