"""A network on a domain, laid out for the kernels: flat arrays, padded to whole vectors, with proven errors.

Coordinates are shifted and scaled by powers of two so that the domain lies in the unit cube, ``|y_k| <= 1``; that
rounds nothing and makes one number enough for "how far a point is off". A unit's output is written as a sum over its
breaks: where the pre-activation z passes the break at t, the slope changes by ``jump`` and ``jump * (z - t)`` is added.
The kernels therefore update the next stages' functions by one column a break, along the path from the domain to a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix
from affinelens.array_types import Floats, Indices
from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.engine.vertex.exact.path_rows import ExactRows, PathRows, SwitchingRows
from affinelens.engine.vertex.layout.duplicates import duplicates
from affinelens.engine.vertex.layout.program_records import (
    BreakColumns,
    BreakRow,
    CopyRow,
    GroupRow,
    Program,
    StageRow,
    TargetRow,
    UnitErrors,
)  # fmt: skip
from affinelens.engine.vertex.layout.records import Records, new_records, records_of
from affinelens.engine.vertex.layout.stage_layout import StageParts, in_lanes, padded
from affinelens.engine.vertex.layout.stage_numbers import StageNumbers
from affinelens.network import Activation, Network
from affinelens.network.affine_functions import NetworkTerms
from affinelens.restrict import Clauses, RestrictedNetwork, restricted_rows
from affinelens.walk import EVERYTHING, Selected

# Rational functions of a network that takes more products to evaluate are carried back to the input one by one.
_MANY_PRODUCTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Compiled:
    """A program and the exact problem behind it, in the coordinates ``y = (x - shift) / scale``."""

    program: Program
    activations: tuple[Activation, ...]
    exact_rows: Callable[[], ExactRows]
    rows: ExactMatrix
    shift: Floats
    scale: Floats
    lower: Floats
    upper: Floats
    is_box: bool

    @property
    def pattern_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """Smallest type that holds a pattern."""
        return _pattern_type(self.activations)


def _pattern_type(activations: Sequence[Activation]) -> np.dtype[np.unsignedinteger[Any]]:
    small = all(activation.pieces <= 256 for activation in activations)
    return np.dtype(np.uint8) if small else np.dtype(np.uint16)


def compile_program(
    network: Network,
    frame: Frame,
    restricted: RestrictedNetwork | None = None,
    wanted: Clauses = (),
    deadline: Deadline = NEVER,
    selected: Selected = EVERYTHING,
) -> Compiled:
    """Lay a network and a domain out for the kernels: all of it, or only the part that can switch.

    If ``wanted`` is given, only those regions are that lie above all breaks of the last stage listed in one of its
    clauses, of which at least one must be possible. If regions are selected, only what lies in one of them is found.
    """
    shift, scale = _placement(frame.lower, frame.upper)
    chart, rows = frame.chart.in_coordinates(scale, shift), frame.rows.in_coordinates(scale, shift)
    if restricted is None:
        activations = [stage.activation for stage in network.stages]
        numbers = [StageNumbers.of_stage(s, chart, activations[:i]) for i, s in enumerate(network.stages)]
        leader, orientation = duplicates(network)
        exact_rows: Callable[[], ExactRows] = partial(PathRows, NetworkTerms(network, chart))
        clauses = wanted
    else:
        activations = [stage.activation for stage in restricted.stages]
        found = restricted_rows(restricted, chart, np.ones(frame.dim + 1), deadline)
        numbers = [
            StageNumbers.of_rows(r, activations[i], activations[:i], restricted.first_like(i))
            for i, r in enumerate(found)
        ]
        leader = restricted.leaders
        orientation = np.ones(len(leader), dtype=np.int64)
        shared = NetworkTerms(network, chart) if network.products <= _MANY_PRODUCTS else None
        exact_rows = partial(SwitchingRows, restricted, chart, shared)
        clauses = restricted.open_clauses(wanted)
    parts: list[StageParts] = []
    for stage in numbers:
        parts.append(StageParts(stage, parts))
    lower, upper = (frame.lower - shift) / scale, (frame.upper - shift) / scale
    program = _program(parts, leader, orientation, rows, shift, scale, clauses, selected)
    moved = np.array_equal(lower * scale, frame.lower - shift) and np.array_equal(upper * scale, frame.upper - shift)
    is_box = moved and _is_box(frame)
    return Compiled(program, tuple(activations), exact_rows, rows, shift, scale, lower, upper, is_box)


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


def _program(
    parts: Sequence[StageParts], leader: Indices, orientation: Indices, rows: ExactMatrix, shift: Floats, scale: Floats,
    wanted: Clauses, selected: Selected,
) -> Program:  # fmt: skip
    dim = rows.shape[1] - 1
    breaks = [part.activation.breaks for part in parts]
    follower_start, followers = _followers(leader)
    first_target, target, columns = _targets(parts)
    counts = [len(b) for b in breaks]
    group, pairs = _groups(parts)
    lanes = padded(dim + 1)
    leads = (leader == np.arange(len(leader))) & (orientation != 0)
    own = _joined([in_lanes(leads[a:b]) for a, b in pairwise(_offsets(counts).tolist())], np.bool_)
    return Program(
        dim=dim,
        lanes=lanes,
        stages=len(parts),
        domain_rows=rows.shape[0],
        wanted=_wanted(wanted, counts[-1] if counts else 0),
        selected_stages=selected.stages,
        selection=selected.patterns.astype(_pattern_type([part.activation for part in parts]), order="C"),
        shift=np.pad(shift, (0, lanes - dim)),
        scale=np.pad(scale, (0, lanes - dim), constant_values=1.0),
        stage=_stages(parts, follower_start, first_target, target),
        hyperplane=records_of(
            BreakRow,
            plus=_joined([b.plus for b in breaks]),
            minus=_joined([b.minus for b in breaks]),
            choice=_joined([b.choice for b in breaks]),
            position=_joined([_positions(b.choice) for b in breaks]),
            leader=leader,
            orientation=orientation,
            first_follower=follower_start,
        ),
        step=BreakColumns(
            threshold=_lanes_joined(b.threshold for b in breaks),
            jump=_lanes_joined(part.jump for part in parts),
            gap=_lanes_joined(part.gap for part in parts),
        ),
        own=np.packbits(own, bitorder="little").astype(np.int64),
        followers=followers,
        group=group,
        pairs=pairs,
        unit=UnitErrors(
            base_slope=_lanes_joined(part.base_slope for part in parts),
            fixed_error=_lanes_joined(part.errors[0] for part in parts),
            fixed_constant_error=_lanes_joined(part.errors[1] for part in parts),
            norm=_lanes_joined(part.norms() for part in parts),
        ),
        copy=_copies(parts),
        fixed=_lanes_joined(part.numbers.fixed.T for part in parts),
        target=target,
        columns=columns,
    )


def _stages(
    parts: Sequence[StageParts], follower_start: Indices, first_target: Indices, target: Records[TargetRow]
) -> Records[StageRow]:
    dim = parts[0].numbers.fixed.shape[1] - 1 if parts else 0
    break_offset = _offsets(len(part.activation.breaks) for part in parts)
    target_rounding = [
        max([parts[t].rounding for t in target["stage"][int(a) : int(b)]], default=0.0)
        for a, b in pairwise(first_target)
    ]
    return records_of(
        StageRow,
        units=[part.units for part in parts],
        padded=[part.padded for part in parts],
        unit_offset=_offsets(part.padded for part in parts),
        row_offset=_offsets(part.padded * (dim + 1) for part in parts),
        breaks=[len(part.activation.breaks) for part in parts],
        break_offset=break_offset,
        padded_breaks=[part.padded_breaks for part in parts],
        lane_offset=_offsets(part.padded_breaks for part in parts),
        choices=[part.activation.choices for part in parts],
        choice_offset=_offsets(part.activation.choices for part in parts),
        is_plain=[_is_plain(part.activation) for part in parts],
        is_grouped=[part.grouped for part in parts],
        has_bases=[bool(part.base_slope.any()) for part in parts],
        followed=np.diff(follower_start[break_offset]),
        first_target=first_target,
        rounding=[part.rounding for part in parts],
        break_rounding=[0.0 if part.exact else 4 * UNIT_ROUNDOFF for part in parts],
        target_rounding=target_rounding,
        quantum=[part.quantum for part in parts],
        is_lumped=[part.is_lumped for part in parts],
        fixed_norm=[part.lumped_norms[0] for part in parts],
        row_norm=[part.lumped_norms[1] for part in parts],
        error_norm=[part.lumped_norms[2] for part in parts],
    )


def _wanted(clauses: Clauses, breaks: int) -> Indices:
    """A row a clause, with a 1 for each of its breaks; none if every cell is wanted."""
    if not all(clauses):
        clauses = ()
    table = np.zeros((len(clauses), breaks), dtype=np.int64)
    for row, clause in zip(table, clauses, strict=True):
        row[list(clause)] = 1
    return table


def _positions(choices: Indices) -> Indices:
    """The place of each break among those of its choice."""
    return np.arange(len(choices)) - np.searchsorted(choices, choices)


def _is_plain(activation: Activation) -> bool:
    """Whether break i is just the sign of unit i."""
    breaks = activation.breaks
    return (
        not activation.grouped
        and bool(np.array_equal(breaks.plus, np.arange(activation.size_in)))
        and not breaks.threshold.any()
    )


def _followers(leader: Indices) -> tuple[Indices, Indices]:
    """Where each break's followers begin, and all of them."""
    followers = np.flatnonzero(leader != np.arange(len(leader)))
    followers = followers[np.argsort(leader[followers], kind="stable")]
    counts = np.bincount(leader[followers], minlength=len(leader))
    return _offsets(counts.tolist()), followers


def _copies(parts: Sequence[StageParts]) -> Records[CopyRow]:
    """For every unit of a grouped stage the break that it repeats the ReLU of, or -1, and the unit that it is like."""
    units = _offsets(part.padded for part in parts)
    lanes = _offsets(part.padded_breaks for part in parts)
    breaks = _offsets(len(part.activation.breaks) for part in parts)
    table = new_records(CopyRow, int(units[-1]))
    table["lane"] = table["break_number"] = table["first_like"] = -1
    for index, part in enumerate(parts):
        if part.grouped:
            table["first_like"][units[index] : units[index] + part.units] = part.numbers.first_like
            for unit, source, copied in part.copies():
                table[units[index] + unit].lane = lanes[source] + copied
                table[units[index] + unit].break_number = breaks[source] + copied
    return table


def _groups(parts: Sequence[StageParts]) -> tuple[Records[GroupRow], Indices]:
    """For every choice the first unit and the size of its group, and where its square table of pairs begins."""
    rows: list[tuple[int, int, int]] = []
    pairs: list[int] = []
    for part in parts:
        activation = part.activation
        if not activation.grouped:
            rows += [(0, 1, len(pairs))] * activation.choices
            continue
        plus, minus = activation.breaks.plus.tolist(), activation.breaks.minus.tolist()
        index = {pair: i for i, pair in enumerate(zip(plus, minus, strict=True))}
        for start, stop in pairwise(activation.starts.tolist()):
            rows.append((start, stop - start, len(pairs)))
            members = range(start, stop)
            pairs += [-1 if a == b else index[min(a, b), max(a, b)] for a in members for b in members]
    first_unit, count, begin = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return records_of(GroupRow, first_unit=first_unit, members=count, pairs=begin), _whole(pairs)


def _targets(parts: Sequence[StageParts]) -> tuple[Indices, Records[TargetRow], Floats]:
    """Every block by its source stage, and all their columns in one array."""
    starts = [0]
    rows: list[tuple[int, int, int, int]] = []
    flat: list[Floats] = [np.zeros(0)]
    size = 0
    for source in range(len(parts)):
        for index, part in enumerate(parts):
            for block in part.blocks:
                if block.source != source:
                    continue
                rows.append((source, index, size, size + block.per_break.size))
                flat.append(block.per_break.ravel())
                size += block.per_break.size
                if block.per_unit is not None:
                    flat.append(block.per_unit.ravel())
                    size += block.per_unit.size
        starts.append(len(rows))
    before, stage, breaks, bases = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    table = records_of(TargetRow, source=before, stage=stage, break_columns=breaks, base_columns=bases)
    return _whole(starts), table, np.concatenate(flat)


def _whole(values: Iterator[int] | Sequence[int]) -> Indices:
    return np.array([int(v) for v in values], dtype=np.int64)


def _offsets(sizes: Iterator[int] | Sequence[int]) -> Indices:
    return _whole(accumulate(sizes, initial=0))


def _lanes_joined(tables: Iterable[Floats]) -> Floats:
    """The rows of all tables one after another, each in whole lanes."""
    return _joined([in_lanes(table).ravel() for table in tables], np.float64)


def _joined(arrays: Sequence[NDArray[Any]], kind: type = np.int64) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *arrays]).astype(kind)
