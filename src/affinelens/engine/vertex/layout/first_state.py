"""A walk about to start: room for everything, and the first frame, which is the domain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np

from affinelens.kernels.aligned import aligned
from affinelens.kernels.lanes import LANES
from affinelens.engine.vertex.layout import kinds, phases
from affinelens.engine.vertex.layout.records import new_record, new_records
from affinelens.engine.vertex.layout.stack_records import Counters, Frame, Hyperplane, Level, Request, Slot, Step, Sum
from affinelens.engine.vertex.layout.stage_layout import padded
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.program_records import Program, StageRow
from affinelens.engine.vertex.layout.state import (
    Arena,
    Functions,
    HyperplaneColumns,
    Rows,
    Stack,
    State,
    UnitColumns,
    room_for_results,
)
from affinelens.array_types import Floats


@dataclass(frozen=True)
class _Sizes:
    """How much room a walk of a program needs at first; ``words`` and ``list_words`` are those of its bit sets."""

    program: Program
    most_breaks: int
    words: int
    list_words: int

    @classmethod
    def of(cls, compiled: Compiled) -> _Sizes:
        program = compiled.program
        most = int(program.stage["breaks"].max(initial=1))
        listed = max(most, 1 if compiled.is_box else program.domain_rows)
        return cls(program, most, 1 + 2 * program.dim // 60, max(1, -(-listed // 64)))

    @property
    def ends(self) -> StageRow:
        """Where the breaks, choices, units and lanes of all stages end."""
        return self.program.stage[self.program.stages]


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
    sizes = _Sizes.of(compiled)
    state = State(
        control=new_record(Counters),
        arena=_new_arena(sizes),
        stack=_new_stack(sizes),
        rows=_new_rows(sizes),
        functions=_new_functions(sizes),
        results=room_for_results(compiled, results, sizes.words, facets, vertices),
        requests=new_records(Request, 1024),
        guide=new_records(Step, 64),
    )
    control = state.control
    control.facet_column, control.vertex_column, control.count_only = facets, vertices, count_only
    control.sections, control.room = sections, results
    _fill_rows(state, compiled)
    _fill_corners(state, compiled)
    stand_at_root(state, compiled)
    return state


def _new_arena(sizes: _Sizes) -> Arena:
    d, lanes, corners = sizes.program.dim, sizes.program.lanes, 2**sizes.program.dim
    vertices, ids = max(64, 4 * corners), 16 * corners + 1024
    return Arena(
        x=aligned((vertices, lanes)),
        off=np.zeros(vertices),
        bits=np.zeros((vertices, sizes.words + 2 * sizes.list_words), dtype=np.uint64),
        whole=np.zeros((vertices, d + 1), dtype=np.int64),
        is_known=np.zeros(vertices, dtype=np.bool_),
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
    )


def _new_stack(sizes: _Sizes) -> Stack:
    stack = Stack(
        frame=new_records(Frame, 64),
        cutting=np.zeros((64, sizes.list_words), dtype=np.uint64),
        used=np.zeros((64, sizes.words), dtype=np.uint64),
        sums=new_records(Sum, (64, sizes.program.stages)),
        slot=new_records(Slot, 64 * sizes.words),
        selected=np.arange(len(sizes.program.selection)),
    )
    stack.slot["side"] = 1
    return stack


def _new_rows(sizes: _Sizes) -> Rows:
    d, domain, ends = sizes.program.dim, sizes.program.domain_rows, sizes.ends
    breaks = int(ends.break_offset)
    places = domain + breaks + 2 * d
    return Rows(
        row=aligned((places, sizes.program.lanes)),
        whole=np.zeros((places, d + 1), dtype=np.int64),
        hyperplane=new_records(Hyperplane, places),
        block=aligned(((d + 3) * (padded(domain) + int(ends.lane_offset)),)),
        place=np.full(breaks, -1, dtype=np.int64),
        sign=np.zeros(breaks + LANES, dtype=np.int8),
        winner=np.zeros(int(ends.choice_offset), dtype=np.int64),
    )


def _new_functions(sizes: _Sizes) -> Functions:
    d, stages = sizes.program.dim, sizes.program.stages
    units, breaks_in_lanes = int(sizes.ends.unit_offset), int(sizes.ends.lane_offset)
    level = new_records(Level, stages + 1)
    level["capacity"] = 24
    room = level["capacity"][:stages] * (d + 1) * sizes.program.stage["padded"][:stages]
    level["start"] = (d + 1) * breaks_in_lanes + np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    return Functions(
        levels=aligned((int(level["start"][-1]),)),
        level=level,
        hyperplane=HyperplaneColumns(*(aligned((breaks_in_lanes,)) for _ in HyperplaneColumns._fields)),
        unit=UnitColumns(aligned((units,)), aligned((units,))),
        passed=np.zeros(sizes.most_breaks + LANES, dtype=np.uint32),
        shares=np.zeros(sizes.most_breaks + LANES),
    )


def _fill_rows(state: State, compiled: Compiled) -> None:
    """The domain's rows, divided by their largest entry, the cube's sides, and the fixed part of every stage."""
    program, exact = compiled.program, compiled.rows.numerators
    d, count = program.dim, program.domain_rows
    table = state.rows.row
    cube = len(table) - 2 * d
    integers = [[int(a) for a in row] for row in exact.tolist()]
    table[:count, : d + 1] = [[a / max(abs(n) for n in row) for a in row] for row in integers]
    table[cube:, :d] = np.repeat(np.eye(d), 2, axis=0) * np.tile([1.0, -1.0], d)[:, None]
    table[cube:, d] = 1.0
    size = np.abs(table[:, : d + 1]).sum(axis=1)
    error = np.where(np.arange(len(table)) < count, 4 * 2.0**-53 * size, 0.0)
    hyperplane, block = state.rows.hyperplane, state.rows.block
    hyperplane["break_number"], hyperplane["row_size"], hyperplane["constant_error"] = -1, size, error
    hyperplane["row_base"] = 2 * error + (d + 8) * 2.0**-53 * size
    columns = [table[:count, : d + 1].T, hyperplane["row_base"][None, :count], hyperplane["row_size"][None, :count]]
    block[: (d + 3) * padded(count)].reshape(d + 3, -1)[:, :count] = np.concatenate(columns)
    for place in [*range(count), *range(cube, cube + 2 * d)]:
        row = integers[place] if place < count else [int(a) for a in table[place, : d + 1]]
        whole = _shortened(row, 2**50)
        if whole is not None:
            state.rows.whole[place, : d + 1] = whole
            hyperplane["is_whole"][place] = 1
    starts, begins = state.functions.level["start"].tolist(), program.stage["row_offset"].tolist()
    for first, (begin, end) in zip(starts, pairwise(begins), strict=False):
        state.functions.levels[first : first + end - begin] = program.fixed[begin:end]


def _fill_corners(state: State, compiled: Compiled) -> None:
    """The vertices of the first cell: the domain if it is a box, otherwise the cube that it is to be cut out of."""
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
    if np.any(program.stage["quantum"] > 0):
        for v in range(corners):
            whole = _as_integers(np.append(state.arena.x[v, :d], 1.0), 2**31)
            if whole is not None:
                state.arena.whole[v, : d + 1] = whole


def stand_at_root(state: State, compiled: Compiled) -> None:
    """The first frame, with all to come, and nothing decided or found."""
    program, control, stack = compiled.program, state.control, state.stack
    d = program.dim
    corners = 2**d
    stack.slot["place"][: 2 * d] = np.arange(2 * d) + (0 if compiled.is_box else len(state.rows.row) - 2 * d)
    stack.slot["side"] = 1
    state.arena.ids[:corners] = np.arange(corners)
    root = stack.frame[0]
    root.stage, root.phase, root.kind, root.slot = -1, phases.OPEN, kinds.DOMAIN, -1
    root.taken = root.next = root.end = 0
    root.count, root.live, root.selected = corners, stack.cutting.shape[1], len(program.selection)
    stack.used[0] = np.bitwise_or.reduce(state.tight(np.arange(corners)), axis=0)
    stack.cutting[0] = 0
    if not compiled.is_box:
        # every row of the domain cuts the cube: its signs at the corners are found like any others
        root.phase = phases.STARTED
        for row in range(program.domain_rows):
            stack.cutting[0, row // 64] |= np.uint64(1) << np.uint64(row % 64)
    control.depth = min(1, len(program.selection))
    control.arena_used = control.ids_used = corners
    control.guided = control.requests = control.hurried = 0
    control.emitted = control.facets_emitted = control.vertices_emitted = 0
    control.decided = control.by_integers = control.refreshed = 0
    state.results.counts[:] = 0


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
