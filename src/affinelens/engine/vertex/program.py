"""A network on a domain, laid out for the kernels: flat arrays, padded to whole vectors, with proven errors.

Coordinates are shifted and scaled by powers of two so that the domain lies in the unit cube, ``|y_k| <= 1``; that
rounds nothing and makes one number enough for "how far a point is off". A unit's output is written as a sum over its
breaks: where the pre-activation z passes the break at t, the slope changes by ``jump`` and ``jump * (z - t)`` is added.
The kernels therefore update the next stages' functions by one column a break, along the path from the domain to a cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, gamma
from affinelens.domain import Frame
from affinelens.engine.vertex.lanes import LANES
from affinelens.network import MaxGroups, Network, PiecewiseLinear
from affinelens.network.activation import Activation
from affinelens.network.canonical import Stage
from affinelens.network.linear_map import Dense, LinearMap

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
# Bounds are sums of few non-negative terms computed in float64; this factor covers their own rounding.
SLACK = 1.0 + 2.0**-30
# Integers up to this size are exact in float64.
_EXACT_INTEGERS = 2.0**53
# Rows whose entries are multiples of a power of two above this never underflow.
_LOWEST_EXPONENT = -960
_UNDERFLOW = 2.0**-1000
_SMALLEST = 5e-324
_SMALLEST_ACCURATE = 2.0**_LOWEST_EXPONENT


# Columns of Program.stage.
(UNITS, PADDED, UNIT_OFFSET, ROW_OFFSET, BREAKS, BREAK_OFFSET, PADDED_BREAKS, LANE_OFFSET, CHOICES, CHOICE_OFFSET,
 PLAIN, GROUPED, BASED, FOLLOWED, TARGETS) = range(15)  # fmt: skip
# Columns of Program.accuracy: relative error of sums and of hyperplanes, the unit in which functions are integers, and
# the largest relative error of the sums that the stage is added to.
ROUNDING, BREAK_ROUNDING, QUANTUM, TARGET_ROUNDING = range(4)
# Columns of Program.hyperplane.
PLUS, MINUS, CHOICE, LEADER, ORIENTATION, FOLLOWERS = range(6)
# Rows of Program.step.
THRESHOLD, JUMP, GAP = range(3)
# Columns of Program.group.
FIRST_UNIT, GROUP_SIZE, PAIRS = range(3)
# Rows of Program.unit.
BASE_SLOPE, FIXED_ERROR, FIXED_CONSTANT_ERROR, NORM = range(4)
# Columns of Program.target.
TARGET, BREAK_COLUMNS, BASE_COLUMNS = range(3)


class Program(NamedTuple):
    """What kernels read. Tables have one row more than stages, hyperplanes or groups where they hold offsets.

    Points and rows take ``lanes`` numbers: the coordinates, then 1 or the constant, then zeros. ``own`` has a bit for
    each break that is a hyperplane of its own, not a copy of another's and not identically zero.
    """

    dim: int
    lanes: int
    stages: int
    domain_rows: int
    shift: Floats
    scale: Floats
    stage: Indices
    accuracy: Floats
    hyperplane: Indices
    step: Floats
    own: Indices
    followers: Indices
    group: Indices
    pairs: Indices
    unit: Floats
    fixed: Floats
    target: Indices
    columns: Floats


@dataclass(frozen=True, eq=False)
class Compiled:
    """A program and the exact problem behind it, in the coordinates ``y = (x - shift) / scale``."""

    program: Program
    network: Network
    chart: ExactMatrix
    rows: ExactMatrix
    shift: Floats
    scale: Floats
    lower: Floats
    upper: Floats
    is_box: bool


def padded(count: int) -> int:
    """The next number of whole lanes."""
    return -(-count // LANES) * LANES


def compile_program(network: Network, frame: Frame) -> Compiled:
    """Lay a network and a domain out for the kernels."""
    shift, scale = _placement(frame.lower, frame.upper)
    change = np.diag(np.append(scale, 1.0))
    change[:-1, -1] = shift
    columns = ExactMatrix.from_floats(change)
    chart, rows = frame.chart @ columns, frame.rows @ columns
    parts: list[_StageParts] = []
    for stage in network.stages:
        parts.append(_StageParts(stage, chart, parts))
    lower, upper = (frame.lower - shift) / scale, (frame.upper - shift) / scale
    program = _program(network, parts, rows, shift, scale)
    moved = np.array_equal(lower * scale, frame.lower - shift) and np.array_equal(upper * scale, frame.upper - shift)
    return Compiled(program, network, chart, rows, shift, scale, lower, upper, moved and _is_box(frame))


def _placement(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Shift and scale of each coordinate, so that nothing is rounded when a point of the domain is moved.

    A range that is narrow for its distance from zero is shifted to its middle: numbers within a factor of two of each
    other have an exact difference. Others are not, which keeps zero where it is.
    """
    narrow = (lower > 0) & (upper <= 2 * lower) | (upper < 0) & (lower >= 2 * upper)
    shift = np.where(narrow, lower + (upper - lower) / 2, 0.0)
    reach = np.maximum(np.abs(lower - shift), np.abs(upper - shift))
    return shift, np.ldexp(1.0, np.frexp(reach)[1])


def _is_box(frame: Frame) -> bool:
    """Whether rows 2k and 2k+1 are the lower and upper bound of coordinate k, those of the frame's box."""
    d = frame.dim
    if frame.rows.source is None or frame.rows.shape[0] != 2 * d:
        return False
    rows = np.zeros((2 * d, d + 1))
    rows[0::2, :d], rows[0::2, -1] = np.eye(d), -frame.lower
    rows[1::2, :d], rows[1::2, -1] = -np.eye(d), frame.upper
    return bool(np.array_equal(rows, frame.rows.source))


@dataclass(frozen=True, eq=False)
class _Block:
    """What one source stage adds to a stage: a column a break (or group), and a column a unit with a base slope."""

    source: int
    per_break: Floats
    per_unit: Floats | None
    exact: bool
    square_norms: Floats
    bound: Floats
    exponent: int


class _StageParts:
    """One stage's arrays, and bounds that hold whatever the pattern is."""

    def __init__(self, stage: Stage, chart: ExactMatrix, earlier: Sequence[_StageParts]) -> None:
        self.stage = stage
        self.activation = stage.activation
        self.units = self.activation.size_in
        self.padded = padded(self.units)
        self.padded_breaks = padded(len(self.activation.breaks))
        self._chart = chart
        self._earlier = earlier
        self.jump, self.gap, self.base_slope = _pieces(self.activation)

    @cached_property
    def blocks(self) -> list[_Block]:
        found = []
        for source, linear in self.stage.linear.sources:
            if source == 0:
                continue
            before = self._earlier[source - 1]
            matrix, exact = _matrix(linear)
            unit_of = before.activation.breaks.plus if not before.grouped else np.arange(before.activation.size_out)
            jump = before.jump if not before.grouped else np.ones(len(unit_of))
            taken = matrix[:, unit_of]
            base = before.base_slope
            squares = _squares(taken, jump)
            bound = np.abs(taken * jump) @ before.break_bound
            exponents = [_lowest_exponent(taken * jump) + before.exponent]
            if base.any():
                squares = squares + _squares(matrix[:, base != 0], base[base != 0])
                bound = bound + np.abs(matrix * base) @ before.bound
                exponents.append(_lowest_exponent(matrix * base) + before.exponent)
            exact = exact and before.has_unit_slopes
            found.append(
                _Block(
                    source - 1, self._pad((taken * jump).T), self._pad((matrix * base).T) if base.any() else None,
                    exact, squares, bound, min(exponents),
                )
            )  # fmt: skip
        return found

    def _pad(self, rows: Floats) -> Floats:
        table = np.zeros((len(rows), self.padded))
        table[:, : rows.shape[1]] = rows
        return table

    @property
    def grouped(self) -> bool:
        return isinstance(self.activation, MaxGroups)

    @property
    def has_unit_slopes(self) -> bool:
        """Whether all slopes are 0 or 1 or -1, so that multiplying by their differences rounds nothing."""
        slopes = getattr(self.activation, "slopes", np.ones(1))
        return bool(np.isin(slopes, (-1.0, 0.0, 1.0)).all())

    @cached_property
    def _fixed(self) -> tuple[Floats, bool]:
        """Bias and direct dependence on the input, summed exactly and rounded once; and whether rounding was idle."""
        width = self._chart.shape[1]
        one = ExactMatrix.from_floats(np.append(np.zeros(width - 1), 1.0)[None, :])
        sources = [self._chart]
        for before in self._earlier:
            constants = np.zeros((before.activation.size_out, width))
            if isinstance(before.activation, PiecewiseLinear):
                constants[:, -1] = before.activation.offsets[:, 0]
            sources.append(ExactMatrix.from_floats(constants))
        total = self.stage.linear.propagate_exact(sources, one)
        table = total.to_floats()
        table[(table == 0) & _nonzero(total)] = _SMALLEST
        if not np.isfinite(table).all():
            return table, False
        again = ExactMatrix.from_floats(table)
        exact = again.numerators * total.denominator == total.numerators * again.denominator
        return table, bool(exact)

    @cached_property
    def bound(self) -> Floats:
        """Upper bound on the entries of every unit's function, under any pattern."""
        return SLACK * (np.abs(self._fixed[0]) + sum(block.bound for block in self.blocks))

    @cached_property
    def break_bound(self) -> Floats:
        """As :attr:`bound`, for what is added when a break is passed or a group's winner is known."""
        if isinstance(self.activation, MaxGroups):
            return np.array([self.bound[a:b].max(axis=0) for a, b in pairwise(self.activation.starts.tolist())])
        return self._hyperplane_bound

    @cached_property
    def _hyperplane_bound(self) -> Floats:
        breaks = self.activation.breaks
        paired = np.where(breaks.minus[:, None] >= 0, self.bound[breaks.minus], 0.0)
        bound = self.bound[breaks.plus] + paired
        bound[:, -1] += np.abs(breaks.threshold)
        return SLACK * bound

    @cached_property
    def exponent(self) -> int:
        """All entries of the stage's functions are multiples of 2 to this power, under any pattern."""
        own = min(_lowest_exponent(self._fixed[0]), _lowest_exponent(self.activation.breaks.threshold))
        return min([own, *(block.exponent for block in self.blocks)])

    @cached_property
    def exact(self) -> bool:
        """Whether float64 holds every function of the stage without rounding, whatever the pattern."""
        largest = max(self.bound.max(initial=0.0), self._hyperplane_bound.max(initial=0.0))
        return (
            self._fixed[1]
            and all(block.exact and self._earlier[block.source].exact for block in self.blocks)
            and not any(self._earlier[block.source].gap.any() for block in self.blocks)
            and self.exponent > _LOWEST_EXPONENT
            and bool(largest < np.ldexp(_EXACT_INTEGERS, min(self.exponent, 0)))
        )

    @property
    def quantum(self) -> float:
        """The power of two that all entries are multiples of, or 0 if they are not held exactly."""
        return float(np.ldexp(1.0, min(self.exponent, 0))) if self.exact else 0.0

    @property
    def rounding(self) -> float:
        """Relative error of the sum over sources: any order, with each coefficient rounded."""
        if self.exact:
            return 0.0
        terms = sum(len(b.per_break) + (0 if b.per_unit is None else len(b.per_unit)) for b in self.blocks)
        return SLACK * (gamma(terms + 2) + 4 * UNIT_ROUNDOFF)

    @property
    def errors(self) -> tuple[Floats, Floats]:
        """Error of the fixed part (rounded once) and of adding to it: of the coefficients, and of the constant."""
        size = np.abs(self._fixed[0])
        unit = 0.0 if self.exact else SLACK * (self.rounding + 2 * UNIT_ROUNDOFF)
        extra = 0.0 if self.exponent > _LOWEST_EXPONENT else _UNDERFLOW
        return unit * size[:, :-1].sum(axis=1) + extra, unit * size[:, -1] + extra

    def fixed_rows(self) -> Floats:
        return self._pad(self._fixed[0].T)

    def norms(self) -> Floats:
        total = np.zeros(self.units)
        for block in self.blocks:
            total += block.square_norms
        return SLACK * np.sqrt(total)

    def padded_column(self, values: Floats) -> Floats:
        return self._pad(values[None, :])[0]


def _program(
    network: Network, parts: Sequence[_StageParts], rows: ExactMatrix, shift: Floats, scale: Floats
) -> Program:
    dim = rows.shape[1] - 1
    breaks = [part.activation.breaks for part in parts]
    leader, orientation, follower_start, followers = _duplicates(network)
    target_start, target, columns = _targets(parts)
    counts = [len(b) for b in breaks]
    group, pairs = _groups(parts)
    stage = _table(
        [part.units for part in parts],
        [part.padded for part in parts],
        _offsets(part.padded for part in parts),
        _offsets(part.padded * (dim + 1) for part in parts),
        counts,
        _offsets(counts),
        [part.padded_breaks for part in parts],
        _offsets(part.padded_breaks for part in parts),
        [part.activation.choices for part in parts],
        _offsets(part.activation.choices for part in parts),
        [_is_plain(part.activation) for part in parts],
        [part.grouped for part in parts],
        [int(part.base_slope.any()) for part in parts],
        np.diff(follower_start[_offsets(counts)]),
        target_start,
    )
    accuracy = [
        [
            part.rounding, 0.0 if part.exact else 4 * UNIT_ROUNDOFF, part.quantum,
            max([parts[t].rounding for t in target[target_start[s] : target_start[s + 1], TARGET]], default=0.0),
        ]
        for s, part in enumerate(parts)
    ]  # fmt: skip
    lanes = padded(dim + 1)
    own = np.concatenate([np.zeros(0, dtype=bool), *(
        np.pad((leader == np.arange(len(leader)))[a:b] & (orientation != 0)[a:b], (0, -(b - a) % LANES))
        for a, b in pairwise(_offsets(counts).tolist())
    )])  # fmt: skip
    return Program(
        dim=dim,
        lanes=lanes,
        stages=len(parts),
        domain_rows=rows.shape[0],
        shift=np.pad(shift, (0, lanes - dim)),
        scale=np.pad(scale, (0, lanes - dim), constant_values=1.0),
        stage=stage,
        accuracy=np.array(accuracy).reshape(-1, 4),
        hyperplane=_table(
            _joined([b.plus for b in breaks]), _joined([b.minus for b in breaks]), _joined([b.choice for b in breaks]),
            leader, orientation, follower_start,
        ),
        step=np.stack([
            _joined([_padded(b.threshold) for b in breaks], np.float64),
            _joined([_padded(part.jump) for part in parts], np.float64),
            _joined([_padded(part.gap) for part in parts], np.float64),
        ]),
        own=np.packbits(own, bitorder="little").astype(np.int64),
        followers=followers,
        group=group,
        pairs=pairs,
        unit=np.stack([
            _joined([part.padded_column(part.base_slope) for part in parts], np.float64),
            _joined([part.padded_column(part.errors[0]) for part in parts], np.float64),
            _joined([part.padded_column(part.errors[1]) for part in parts], np.float64),
            _joined([part.padded_column(part.norms()) for part in parts], np.float64),
        ]),
        fixed=_joined([part.fixed_rows().ravel() for part in parts], np.float64),
        target=target,
        columns=columns,
    )  # fmt: skip


def _table(*columns: Sequence[int] | Indices) -> Indices:
    """Columns side by side; those without a last offset are padded with a zero."""
    length = max(len(column) for column in columns)
    table = np.zeros((length, len(columns)), dtype=np.int64)
    for j, column in enumerate(columns):
        table[: len(column), j] = column
    return table


def _is_plain(activation: Activation) -> bool:
    """Whether break i is just the sign of unit i."""
    breaks = activation.breaks
    return (
        isinstance(activation, PiecewiseLinear)
        and bool(np.array_equal(breaks.plus, np.arange(activation.size_in)))
        and not breaks.threshold.any()
    )


def _pieces(activation: Activation) -> tuple[Floats, Floats, Floats]:
    """Change of slope at each break, what continuity leaves over there, and the slope below all breaks."""
    count = len(activation.breaks)
    jump, gap = np.zeros(count), np.zeros(count)
    if not isinstance(activation, PiecewiseLinear):
        return jump, gap, np.zeros(activation.size_in)
    unit, position = np.nonzero(np.isfinite(activation.breakpoints))
    if not (activation.breakpoints[unit, position].any() or activation.offsets.any()):
        return activation.slopes[unit, position + 1] - activation.slopes[unit, position], gap, activation.slopes[:, 0]
    for b, (u, k) in enumerate(zip(unit.tolist(), position.tolist(), strict=True)):
        t, s, o = activation.breakpoints[u, k], activation.slopes[u], activation.offsets[u]
        change = Fraction(s[k + 1]) - Fraction(s[k])
        jump[b] = float(change)
        left_over = abs(change * Fraction(t) + Fraction(o[k + 1]) - Fraction(o[k]))
        gap[b] = SLACK * float(left_over) + (_UNDERFLOW if left_over else 0.0)
    return jump, gap, activation.slopes[:, 0].copy()


def _squares(matrix: Floats, factor: Floats) -> Floats:
    """Squared norms of rows, rounded up; infinite where a product with a factor may have lost its relative accuracy."""
    with np.errstate(over="ignore", under="ignore"):
        squares: Floats = (matrix**2 + _UNDERFLOW * (matrix != 0)).sum(axis=1)
        lost = (matrix != 0) & (factor != 0) & (np.abs(matrix * factor) < _SMALLEST_ACCURATE)
    squares[lost.any(axis=1)] = np.inf
    return squares


def _nonzero(matrix: ExactMatrix) -> NDArray[np.bool_]:
    return np.array([bool(n) for n in matrix.numerators.entries()], dtype=bool).reshape(matrix.shape)


def _matrix(linear: LinearMap) -> tuple[Floats, bool]:
    """A linear map multiplied out, each entry correctly rounded; and whether nothing was rounded."""
    if isinstance(linear, Dense):
        return linear.weight, True
    exact = linear.apply_exact(ExactMatrix.from_floats(np.eye(linear.size_in)))
    table = exact.to_floats()
    table[(np.abs(table) < _SMALLEST_ACCURATE) & _nonzero(exact)] = np.nan
    if not np.isfinite(table).all():
        return table, False
    again = ExactMatrix.from_floats(table)
    return table, bool(again.numerators * exact.denominator == exact.numerators * again.denominator)


def _lowest_exponent(values: Floats) -> int:
    """The largest e such that all values are multiples of ``2**e`` (a large number if all are zero)."""
    finite = values[np.isfinite(values) & (values != 0)]
    if not finite.size:
        return 2000
    mantissas, exponents = np.frexp(finite)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64)).astype(np.int64)
    return int((exponents.astype(np.int64) - 53 + trailing).min())


def _duplicates(network: Network) -> tuple[Indices, Indices, Indices, Indices]:
    """Breaks that are the same hyperplane whatever the pattern, because their parameters are proportional.

    ``leader[b]`` is the first of them (b itself if none is before it) and ``orientation[b]`` the sign of the ratio; a
    break that is identically zero follows itself with orientation 0.
    """
    leader = np.arange(network.break_offsets[-1])
    signs = np.ones(len(leader), dtype=np.int64)
    for stage, offset in zip(network.stages, network.break_offsets, strict=False):
        grouped = isinstance(stage.activation, MaxGroups)
        first_of: dict[tuple[int, ...], tuple[int, int]] = {}
        suspects = _possible_duplicates(stage)
        for index, row in zip(suspects, _parameter_rows(stage, suspects), strict=True):
            direction, sign = _direction(row)
            if grouped or sign == 0:  # candidates of a group are compared pair by pair
                signs[offset + index] = sign * sign
                continue
            first, orientation = first_of.setdefault(direction, (offset + index, sign))
            leader[offset + index] = first
            signs[offset + index] = sign * orientation
    followers = np.flatnonzero(leader != np.arange(len(leader)))
    followers = followers[np.argsort(leader[followers], kind="stable")]
    counts = np.bincount(leader[followers], minlength=len(leader))
    return leader, signs, _offsets(counts.tolist()), followers


def _possible_duplicates(stage: Stage) -> list[int]:
    """Breaks whose parameters, in float64 and scaled, look like those of another or like nothing.

    One that is overlooked costs time only: it is then recognised wherever it matters, at each vertex.
    """
    maps = [_matrix(linear)[0] for _, linear in stage.linear.sources]
    bias = np.zeros((stage.linear.size, 1))
    if stage.linear.bias is not None:
        bias = stage.linear.bias.apply(np.ones((1, 1)))
    table = np.hstack([*maps, bias])
    breaks = stage.activation.breaks
    rows = table[breaks.plus] - np.where(breaks.minus[:, None] >= 0, table[breaks.minus], 0.0)
    rows[:, -1] -= breaks.threshold
    largest = np.abs(rows).argmax(axis=1)
    pivot = rows[np.arange(len(rows)), largest]
    with np.errstate(all="ignore"):
        scaled = np.where(pivot[:, None] != 0, rows / pivot[:, None], 0.0)
    keys = [row.tobytes() for row in np.round(scaled, 9) + 0.0]
    seen = Counter(keys)
    return [i for i, key in enumerate(keys) if seen[key] > 1 or pivot[i] == 0]


def _parameter_rows(stage: Stage, breaks: Sequence[int]) -> Iterator[list[int]]:
    """Breaks as integers: their coefficients on all sources and their constant, times a common denominator."""
    if not breaks:
        return
    sizes = [linear.size_in for _, linear in stage.linear.sources]
    width = sum(sizes) + 1
    table = ExactMatrix.zeros(stage.linear.size, width)
    start = 0
    for (_, linear), size in zip(stage.linear.sources, sizes, strict=True):
        unit = np.zeros((size, width))
        unit[:, start : start + size] = np.eye(size)
        table = table + linear.apply_exact(ExactMatrix.from_floats(unit))
        start += size
    if stage.linear.bias is not None:
        table = table + stage.linear.bias.apply_exact(
            ExactMatrix.from_floats(np.append(np.zeros(width - 1), 1.0)[None])
        )
    rows = stage.activation.breaks[np.array(breaks)].exact(table)
    entries = [int(n) for n in rows.numerators.entries()]
    for index in range(rows.shape[0]):
        yield entries[index * width : (index + 1) * width]


def _direction(row: list[int]) -> tuple[tuple[int, ...], int]:
    """The row divided by its content, first entry positive; and the sign that was taken out (0 for a row of zeros)."""
    content = gcd(*row)
    if content == 0:
        return tuple(row), 0
    sign = 1 if next(n for n in row if n) > 0 else -1
    return tuple(sign * n // content for n in row), sign


def _groups(parts: Sequence[_StageParts]) -> tuple[Indices, Indices]:
    """For every choice the first unit and the size of its group, and where its square table of pairs begins."""
    rows: list[tuple[int, int, int]] = []
    pairs: list[int] = []
    for part in parts:
        activation = part.activation
        if not isinstance(activation, MaxGroups):
            rows += [(0, 1, len(pairs))] * activation.choices
            continue
        plus, minus = activation.breaks.plus.tolist(), activation.breaks.minus.tolist()
        index = {pair: i for i, pair in enumerate(zip(plus, minus, strict=True))}
        for start, stop in pairwise(activation.starts.tolist()):
            rows.append((start, stop - start, len(pairs)))
            members = range(start, stop)
            pairs += [-1 if a == b else index[min(a, b), max(a, b)] for a in members for b in members]
    return np.array(rows, dtype=np.int64).reshape(-1, 3), _whole(pairs)


def _targets(parts: Sequence[_StageParts]) -> tuple[Indices, Indices, Floats]:
    """Every block by its source stage, and all their columns in one array."""
    starts = [0]
    rows: list[tuple[int, int, int]] = []
    flat: list[Floats] = [np.zeros(0)]
    size = 0
    for source in range(len(parts)):
        for index, part in enumerate(parts):
            for block in part.blocks:
                if block.source != source:
                    continue
                rows.append((index, size, size + block.per_break.size))
                flat.append(block.per_break.ravel())
                size += block.per_break.size
                if block.per_unit is not None:
                    flat.append(block.per_unit.ravel())
                    size += block.per_unit.size
        starts.append(len(rows))
    return _whole(starts), np.array(rows, dtype=np.int64).reshape(-1, 3), np.concatenate(flat)


def _padded(values: Floats) -> Floats:
    return np.pad(values, (0, -len(values) % LANES))


def _whole(values: Iterator[int] | Sequence[int]) -> Indices:
    return np.array([int(v) for v in values], dtype=np.int64)


def _offsets(sizes: Iterator[int] | Sequence[int]) -> Indices:
    return _whole(np.cumsum([0, *sizes]).tolist())


def _joined(arrays: Sequence[NDArray[Any]], kind: type = np.int64) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *arrays]).astype(kind)
