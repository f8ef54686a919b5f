"""The state of one walk: a stack of frames, an arena of vertices, the functions on the path, and what was found.

All of it is plain arrays, so that a walk can be stopped at any moment, resumed, copied and grown. A frame is a cell
that is being cut; its vertices are numbers into the arena, listed in ``ids``. Arena and ids grow on the way down and
shrink on the way back up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.kernels.aligned import aligned
from affinelens.kernels.lanes import LANES
from affinelens.engine.vertex.layout.stage_layout import padded
from affinelens.engine.vertex.layout.program import (
    BREAK_OFFSET, BREAKS, CHOICE_OFFSET, LANE_OFFSET, PADDED, QUANTUM, ROW_OFFSET, UNIT_OFFSET, Compiled,
)  # fmt: skip

_SORTING = ("ids", "upper", "level", "lower_bits", "edge_upper", "edge_lower")
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

# Columns of Stack.frame; the levels of the stages' sums follow.
(STAGE, PHASE, UNIT, NEXT, END, IDS, COUNT, FRESH, FRESH_COUNT, SPLIT, BELOW, ABOVE, ARENA_TOP, IDS_TOP, SLOT,
 OLD_PLACE, OLD_SIDE, KIND, GROUP, WINNER, DIMENSION, LIVE, SELECTED, LEVEL) = range(24)  # fmt: skip
# Phases of a frame.
OPEN, BRANCHING, STARTED, ENTERED, SPLIT_BY_GROUP, CONCLUDING = range(6)
# Kinds of a frame: an ordinary cell; one that keeps only the part where a group's candidate wins; the domain in the
# making, which keeps only the positive side of each of its rows; a section of a cell that is being counted; a cell of
# the last stage of which not every part is wanted.
ORDINARY, CLIPPED, DOMAIN, SECTION, WANTED = range(5)
# Columns of Rows.row after the lanes.
BASE, SIZE, ERROR, CONSTANT_ERROR = range(4)
# Rows of a block in Rows.block after the coefficients and the constant.
BLOCK_BASE, BLOCK_SIZE, BLOCK_EXTRA = range(1, 4)
# Columns of Rows.whole after the coefficients and the constant.
IS_WHOLE, BREAK = range(1, 3)
WHOLE_EXTRA = 3
# Columns of Arena.whole after the coordinates and the common denominator: whether float64 ones are as good as can be.
KNOWN = 1
# Rows of Functions.hyperplane; Functions.unit has the first two.
H_ERROR, H_CONSTANT_ERROR, H_SIZE, H_BASE, H_SQUARE, H_CONSTANT_SQUARE = range(6)
# Columns of Stack.slot.
PLACE, SIDE = range(2)
# Columns of Requests.
VERTEX, ROW_PLACE, BIT, ANSWER = range(4)
# Control: the walk's own counters.
(DEPTH, ARENA_USED, IDS_USED, REQUESTS, DECIDED, BY_INTEGERS, REFRESHED, EMITTED, FACETS_EMITTED, VERTICES_EMITTED,
 WORK, POINT_IDS, POINT_COUNT, FACET_COLUMN, VERTEX_COLUMN, COUNT_ONLY, SECTIONS, ROOM) = range(18)  # fmt: skip
# How a kernel call ended.
(FINISHED, PAUSED, FULL, UNDECIDED, NO_POINT, GROW_ARENA, GROW_IDS, GROW_FRAMES, GROW_LEVELS, GROW_SLOTS,
 GROW_REQUESTS) = range(11)  # fmt: skip


class Arena(NamedTuple):
    """Vertices: coordinates and how far they may be off; bits for the slots of the hyperplanes they lie on, for the
    stage's cutting hyperplanes that they lie above, and for those they lie below; exact integer coordinates, if known.
    """

    x: Floats
    off: Floats
    bits: Words
    whole: Indices
    ids: NDArray[np.uint32]
    # scratch, for sorting a cell's vertices by the side of a hyperplane and listing the edges that it cuts
    upper: NDArray[np.uint32]
    level: NDArray[np.uint32]
    lower_bits: Words
    edge_upper: NDArray[np.uint32]
    edge_lower: NDArray[np.uint32]
    # scratch, for computing a vertex again
    normal: Floats
    inverse: Floats
    identity: Floats
    coordinates: Floats
    point: Floats
    residual: Floats
    places: Indices
    solving: Indices


class Stack(NamedTuple):
    """Frames: their numbers, hyperplanes that cut their cell and slots its vertices use, error sums of later stages;
    for each slot the hyperplane it stands for and the side on which the current cell lies; and the selected regions in
    an order in which those that lie in a frame's cell, as many as the frame says, come first."""

    frame: Indices
    cutting: Words
    used: Words
    spread: Floats
    slot: Indices
    selected: Indices


class Rows(NamedTuple):
    """Hyperplanes by place: the domain's, then for each stage those that cut the cell on which it was opened, then the
    sides of the unit cube. ``block`` has those of the domain and of each stage again, coefficient by coefficient. Also
    what is known of all breaks on the path: place (or -1), sign, and groups' winners."""

    row: Floats
    block: Floats
    whole: Indices
    place: Indices
    sign: NDArray[np.int8]
    winner: Indices


class Functions(NamedTuple):
    """Functions of the stages on the path, coefficient by coefficient.

    ``levels`` has first those hyperplanes that are not just a unit's zero, then for each stage a stack of sums in the
    making, of which ``level`` says the start and the room. Also the errors of hyperplanes and of pre-activations.
    """

    levels: Floats
    level: Indices
    hyperplane: Floats
    unit: Floats
    # scratch
    passed: NDArray[np.uint32]
    shares: Floats


class Results(NamedTuple):
    """Regions found: their columns. ``ends`` says where a region's facets and vertices end."""

    counts: Indices
    patterns: NDArray[Any]
    points: Floats
    ends: Indices
    facets: Indices
    vertices: Floats
    vertex_tight: Words


@dataclass(frozen=True, eq=False)
class State:
    """Everything that changes during a walk."""

    control: Indices
    arena: Arena
    stack: Stack
    rows: Rows
    functions: Functions
    results: Results
    requests: Indices

    def grown(self, status: int) -> State:
        """The same walk with more room where it ran out."""
        if status == GROW_ARENA:
            arrays = {name: _doubled(getattr(self.arena, name)) for name in ("x", "off", "bits", "whole")}
            return replace(self, arena=self.arena._replace(**arrays))
        if status == GROW_IDS:
            arrays = {name: _doubled(getattr(self.arena, name)) for name in _SORTING}
            return replace(self, arena=self.arena._replace(**arrays))
        if status == GROW_FRAMES:
            arrays = {name: _doubled(getattr(self.stack, name)) for name in ("frame", "cutting", "used", "spread")}
            return replace(self, stack=self.stack._replace(**arrays))
        if status == GROW_REQUESTS:
            return replace(self, requests=_doubled(self.requests))
        return self._with_more_slots() if status == GROW_SLOTS else self._with_more_levels()

    def _with_more_slots(self) -> State:
        words, facets = self.stack.used.shape[1], self.results.facets

        def widened(table: Words) -> Words:
            return np.insert(table, words, 0, axis=1)

        slot = np.concatenate([self.stack.slot, np.zeros((64, 2), dtype=np.int64)])
        return replace(
            self,
            arena=self.arena._replace(bits=widened(self.arena.bits)),
            stack=self.stack._replace(used=widened(self.stack.used), slot=slot),
            results=self.results._replace(
                vertex_tight=widened(self.results.vertex_tight),
                facets=_resized(facets, len(facets) + 64 if len(facets) else 0),
            ),
        )

    def _with_more_levels(self) -> State:
        starts = self.functions.level[0]
        sizes = np.diff(starts)
        moved = starts[0] + np.concatenate([[0], np.cumsum(2 * sizes)])
        levels = aligned((int(moved[-1]),))
        levels[: starts[0]] = self.functions.levels[: starts[0]]
        for stage, size in enumerate(sizes.tolist()):
            levels[moved[stage] : moved[stage] + size] = self.functions.levels[starts[stage] :][:size]
        level = np.stack([moved, 2 * self.functions.level[1]])
        return replace(self, functions=self.functions._replace(levels=levels, level=level))

    def tight(self, vertices: NDArray[np.integer[Any]]) -> Words:
        """Bits for the slots of the hyperplanes that vertices lie on."""
        return self.arena.bits[vertices, : self.stack.used.shape[1]]

    def set_down(self) -> State:
        """The same walk without room for results, which were taken away: what a job holds while nobody works on it."""
        nothing: Any = [array[:0] for array in self.results]
        control = self.control.copy()
        control[[DECIDED, BY_INTEGERS, REFRESHED, EMITTED, FACETS_EMITTED, VERTICES_EMITTED]] = 0
        return replace(self, control=control, results=Results(*nothing))

    def taken_up(self, compiled: Compiled, results: int) -> State:
        """The same walk with room for results again."""
        control, words = self.control, self.stack.used.shape[1]
        room = _room_for_results(compiled, results, words, bool(control[FACET_COLUMN]), bool(control[VERTEX_COLUMN]))
        return replace(self, results=room)

    def copied(self) -> State:
        """An independent copy of the walk, without its results."""
        results = self.results._replace(
            counts=np.zeros_like(self.results.counts),
            patterns=np.empty_like(self.results.patterns),
            points=np.empty_like(self.results.points),
            ends=np.zeros_like(self.results.ends),
            facets=np.empty_like(self.results.facets),
            vertices=np.empty_like(self.results.vertices),
            vertex_tight=np.empty_like(self.results.vertex_tight),
        )
        control = self.control.copy()
        control[[DECIDED, BY_INTEGERS, REFRESHED, EMITTED, FACETS_EMITTED, VERTICES_EMITTED, REQUESTS]] = 0
        return State(
            control,
            _copied(self.arena),
            _copied(self.stack),
            _copied(self.rows),
            _copied(self.functions),
            results,
            np.zeros_like(self.requests),
        )


Group = TypeVar("Group", Arena, Stack, Rows, Functions)


def _copied(group: Group) -> Group:
    arrays: Any = [_resized(array, len(array)) for array in group]
    return type(group)(*arrays)


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    return _resized(array, 2 * len(array))


def _resized(array: NDArray[Any], length: int) -> NDArray[Any]:
    """A copy, followed by zeros."""
    copy = aligned((length, *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy


def new_state(
    compiled: Compiled,
    results: int,
    *,
    facets: bool = False,
    vertices: bool = False,
    count_only: bool = False,
    sections: bool = False,
) -> State:
    """A walk about to start, with room for a number of regions before they must be taken away."""
    program = compiled.program
    d, rows, stages = program.dim, program.domain_rows, program.stages
    last = program.stage[-1] if stages else np.zeros(program.stage.shape[1], dtype=np.int64)
    breaks, choices = int(last[BREAK_OFFSET]), int(last[CHOICE_OFFSET])
    lanes, breaks_in_lanes = program.lanes, int(last[LANE_OFFSET])
    places = rows + breaks + 2 * d
    most = int(program.stage[:, BREAKS].max(initial=1))
    list_words = max(1, -(-max(most, 1 if compiled.is_box else rows) // 64))
    words = 1 + 2 * d // 60
    corners = 2**d
    capacity = np.full(stages + 1, 24, dtype=np.int64)
    sizes = capacity[:stages] * (d + 1) * program.stage[:stages, PADDED]
    starts = (d + 1) * breaks_in_lanes + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    arena = max(64, 4 * corners)
    ids = 16 * corners + 1024
    state = State(
        control=np.zeros(18, dtype=np.int64),
        arena=Arena(
            x=aligned((arena, lanes)),
            off=np.zeros(arena),
            bits=np.zeros((arena, words + 2 * list_words), dtype=np.uint64),
            whole=np.zeros((arena, d + 2), dtype=np.int64),
            ids=np.zeros(ids, dtype=np.uint32),
            upper=np.zeros(ids, dtype=np.uint32),
            level=np.zeros(ids, dtype=np.uint32),
            lower_bits=aligned((ids,), np.uint64),
            edge_upper=np.zeros(ids, dtype=np.uint32),
            edge_lower=np.zeros(ids, dtype=np.uint32),
            normal=aligned((d, lanes)),
            inverse=aligned((d, lanes)),
            identity=np.eye(d, lanes),
            coordinates=(np.arange(lanes) < d).astype(np.float64),
            point=aligned((lanes,)),
            residual=np.zeros(d),
            places=np.zeros(d, dtype=np.int64),
            solving=np.zeros((d, d + 1), dtype=np.int64),
        ),
        stack=Stack(
            frame=np.zeros((64, LEVEL + stages), dtype=np.int64),
            cutting=np.zeros((64, list_words), dtype=np.uint64),
            used=np.zeros((64, words), dtype=np.uint64),
            spread=np.zeros((64, 2 * stages)),
            slot=np.tile(np.array([0, 1], dtype=np.int64), (64 * words, 1)),
            selected=np.arange(len(program.selection)),
        ),
        rows=Rows(
            row=aligned((places, lanes + LANES)),
            block=aligned(((d + BLOCK_EXTRA) * (padded(rows) + breaks_in_lanes),)),
            whole=np.zeros((places, d + WHOLE_EXTRA), dtype=np.int64),
            place=np.full(breaks, -1, dtype=np.int64),
            sign=np.zeros(breaks + LANES, dtype=np.int8),
            winner=np.zeros(choices, dtype=np.int64),
        ),
        functions=Functions(
            levels=aligned((int(starts[-1]),)),
            level=np.stack([starts, capacity]),
            hyperplane=aligned((6, breaks_in_lanes)),
            unit=aligned((2, int(last[UNIT_OFFSET]))),
            passed=np.zeros(most + LANES, dtype=np.uint32),
            shares=np.zeros(most + LANES),
        ),
        results=_room_for_results(compiled, results, words, facets, vertices),
        requests=np.zeros((1024, 4), dtype=np.int64),
    )
    state.control[[FACET_COLUMN, VERTEX_COLUMN, COUNT_ONLY, SECTIONS, ROOM]] = (
        facets,
        vertices,
        count_only,
        sections,
        results,
    )
    _fill_rows(state, compiled)
    _fill_root(state, compiled)
    return state


def _room_for_results(compiled: Compiled, results: int, words: int, facets: bool, vertices: bool) -> Results:
    program = compiled.program
    d, corners = program.dim, 2**program.dim
    choices = int(program.stage[-1, CHOICE_OFFSET]) if program.stages else 0
    return Results(
        counts=np.zeros(max(program.stages, 1), dtype=np.int64),
        patterns=np.zeros((results, choices), dtype=compiled.pattern_type),
        points=np.zeros((results, d)),
        ends=np.zeros((results, 2), dtype=np.int64),
        facets=np.zeros((4 * d * results + 64 * words if facets else 0, 3), dtype=np.int64),
        vertices=np.zeros((corners * results + 64 if vertices else 0, d)),
        vertex_tight=np.zeros((corners * results + 64 if vertices else 0, words), dtype=np.uint64),
    )


def _fill_rows(state: State, compiled: Compiled) -> None:
    """The domain's rows, divided by their largest entry, the cube's sides, and the fixed part of every stage."""
    program, exact = compiled.program, compiled.rows.numerators
    d, count = program.dim, program.domain_rows
    table, lanes = state.rows.row, program.lanes
    cube = len(table) - 2 * d
    integers = [[int(a) for a in row] for row in exact.tolist()]
    table[:count, : d + 1] = [[a / max(abs(n) for n in row) for a in row] for row in integers]
    table[cube:, :d] = np.repeat(np.eye(d), 2, axis=0) * np.tile([1.0, -1.0], d)[:, None]
    table[cube:, d] = 1.0
    size = np.abs(table[:, : d + 1]).sum(axis=1)
    table[:, lanes + SIZE] = size
    table[:count, lanes + ERROR] = 4 * 2.0**-53 * size[:count]
    table[:count, lanes + CONSTANT_ERROR] = table[:count, lanes + ERROR]
    table[:, lanes + BASE] = 2 * table[:, lanes + ERROR] + (d + 8) * 2.0**-53 * size
    block = state.rows.block[: (d + BLOCK_EXTRA) * padded(count)].reshape(d + BLOCK_EXTRA, -1)
    block[: d + 1, :count] = table[:count, : d + 1].T
    block[d + BLOCK_BASE, :count] = table[:count, lanes + BASE]
    block[d + BLOCK_SIZE, :count] = table[:count, lanes + SIZE]
    state.rows.whole[:, d + BREAK] = -1
    for place in [*range(count), *range(cube, cube + 2 * d)]:
        row = integers[place] if place < count else [int(a) for a in table[place, : d + 1]]
        whole = _shortened(row, 2**50)
        if whole is not None:
            state.rows.whole[place, : d + 1] = whole
            state.rows.whole[place, d + IS_WHOLE] = 1
    for stage in range(program.stages):
        first = state.functions.level[0, stage]
        count = program.stage[stage, PADDED] * (d + 1)
        state.functions.levels[first : first + count] = program.fixed[program.stage[stage, ROW_OFFSET] :][:count]


def _fill_root(state: State, compiled: Compiled) -> None:
    """The first frame: the domain if it is a box, otherwise the unit cube that the domain is to be cut out of."""
    program = compiled.program
    d = program.dim
    corners = 2**d
    low, high = (compiled.lower, compiled.upper) if compiled.is_box else (np.full(d, -1.0), np.full(d, 1.0))
    number = np.arange(corners)
    for k in range(d):
        upper = (number >> k & 1).astype(bool)
        state.arena.x[:corners, k] = np.where(upper, high[k], low[k])
        slots = np.where(upper, 2 * k + 1, 2 * k)
        state.arena.bits[number, slots // 64] |= np.uint64(1) << (slots % 64).astype(np.uint64)
    state.arena.x[:corners, d] = 1.0
    if np.any(program.accuracy[:, QUANTUM] > 0):
        for v in range(corners):
            whole = _as_integers(np.append(state.arena.x[v, :d], 1.0), 2**31)
            if whole is not None:
                state.arena.whole[v, : d + 1] = whole
    first_place = 0 if compiled.is_box else len(state.rows.row) - 2 * d
    state.stack.slot[: 2 * d, PLACE] = np.arange(first_place, first_place + 2 * d)
    state.arena.ids[:corners] = number
    live = state.stack.cutting.shape[1]
    state.stack.frame[0, [STAGE, PHASE, KIND, COUNT, SLOT, LIVE]] = -1, OPEN, DOMAIN, corners, -1, live
    state.stack.used[0] = np.bitwise_or.reduce(state.tight(np.arange(corners)), axis=0)
    if not compiled.is_box:
        # every row of the domain cuts the cube: its signs at the corners are found like any others
        state.stack.frame[0, PHASE] = STARTED
        for row in range(program.domain_rows):
            state.stack.cutting[0, row // 64] |= np.uint64(1) << np.uint64(row % 64)
    state.stack.frame[0, SELECTED] = len(program.selection)
    state.control[[DEPTH, ARENA_USED, IDS_USED]] = min(1, len(program.selection)), corners, corners


def _as_integers(values: Floats, limit: int) -> list[int] | None:
    """A positive multiple of the values in small integers, if there is one."""
    mantissas, exponents = np.frexp(values)
    used = exponents[mantissas != 0]
    if not used.size or int(used.max()) - int(used.min()) > 60:
        return None
    lowest = int(used.min()) - 53
    whole = [int(np.ldexp(m, 53)) << max(int(e) - 53 - lowest, 0) for m, e in zip(mantissas, exponents, strict=True)]
    return _shortened(whole, limit)


def _shortened(whole: list[int], limit: int) -> list[int] | None:
    """Integers without their common factor, if they are small."""
    divisor = gcd(*whole)
    short = [n // divisor for n in whole]
    return short if max(abs(n) for n in short) <= limit else None
