"""Leaving cells early, where not every part of the last stage's cells is wanted.

Let the stage before the last be open on a cell, with some of its breaks still cutting it. On any part of the cell a
function of the last stage is ``base + sum w_b h_b`` over those cutting breaks b that the part lies above, where h_b is
the break's function and w_b its weight. So it is at most ``base + sum over w_b > 0 of w_b max(0, h_b)``. That is a
convex function: it is largest at one of the cell's vertices, and where it is negative at all of them the cell can be
left before it is cut.
"""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.kernels.error_bounds import row_base, summed, value_bound
from affinelens.engine.vertex.kernels.row_values import values_at
from affinelens.engine.vertex.kernels.sums import functions_at, units_at
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Rows, Stack, State
from affinelens.kernels.bits import NONE, ONE, lowest_bit
from affinelens.kernels.compilation import kernel
from affinelens.kernels.lanes import LANES, above, chosen, load, splat, spread, store_bytes

# Weights are rounded thrice and up to 2**16 terms are added; this is far more than that can change.
_SLACK = 2.0**-30


@kernel
def is_unwanted(program: Program, stack: Stack, rows: Rows, f: int, stage: int) -> bool:
    """Whether frame f's cell, which is one of the last stage, lies below a break of every clause."""
    offset = program.stage[stage].break_offset
    first = program.domain_rows + offset
    for w in range(stack.frame[f].live):
        cutting = stack.cutting[f, w]
        while cutting != NONE:  # signs may be left over from another part
            b = rows.hyperplane[first + 64 * w + lowest_bit(cutting)].break_number
            cutting &= cutting - ONE
            rows.sign[b] = 0
            for k in range(program.hyperplane[b].first_follower, program.hyperplane[b + 1].first_follower):
                rows.sign[program.followers[k]] = 0
    return no_clause_holds(program, rows)


@kernel
def no_clause_holds(program: Program, rows: Rows) -> bool:
    """Whether every clause has a break whose sign is negative."""
    offset = program.stage[program.stages - 1].break_offset
    for clause in program.wanted:
        possible = True
        for b in range(len(clause)):
            possible &= clause[b] == 0 or rows.sign[offset + b] >= 0
        if possible:
            return False
    return True


@kernel
def can_be_left(program: Program, state: State, f: int, stage: int) -> bool:
    """Whether no part of frame f's cell, on which the stage before the last is open, can be wanted."""
    arena, stack, rows, functions = state.arena, state.stack, state.rows, state.functions
    last = stage + 1
    if program.stage[stage].is_grouped or not program.stage[last].is_plain:
        return False
    passing = _list_passing(program, state, f, stage)
    if passing < 0:
        return False
    d, levels = program.dim, functions.levels
    width, first_unit = program.stage[last].padded, program.stage[last].unit_offset
    start = units_at(program, functions, stack, f, last)
    root, constant_root = np.sqrt(stack.sums[f, last].square), np.sqrt(stack.sums[f, last].constant_square)
    ids, n = stack.frame[f].ids, stack.frame[f].count
    columns = -1
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        if program.target[entry].stage == last:
            columns = program.target[entry].break_columns
    for j in range(0, width, LANES):
        u = first_unit + j
        norm = load(program.unit.norm, u)
        error = summed(load(program.unit.fixed_error, u), norm, root)
        constant_error = summed(load(program.unit.fixed_constant_error, u), norm, constant_root)
        if program.stage[last].is_lumped > 0:
            constant_error = constant_error + error
        size = splat(0.0)
        for k in range(d):
            size = size + abs(load(levels, start + k * width + j))
        constant = load(levels, start + d * width + j)
        base = row_base(error, constant_error, size, constant, d)
        below = 255
        for i in range(n):
            v = arena.ids[ids + i]
            value = values_at(levels, start + j, width, constant, arena.x, v, d)
            bound = value_bound(base, size, arena.off[v])
            total, reach = value + bound, abs(value) + bound
            if columns >= 0:
                for p in range(passing):
                    b = np.int64(functions.passed[p])
                    most = _largest_value(program, state, f, stage, b, v)
                    if not most <= 0.0:
                        weight = load(program.columns, columns + b * width + j)
                        share = most * chosen(above(splat(0.0), weight), splat(0.0), weight)
                        total, reach = total + share, reach + share
            below &= above(reach * -_SLACK, total)
            if below == 0:
                break
        store_bytes(rows.sign, program.stage[last].break_offset + j, spread(below) * np.uint64(255))
    return no_clause_holds(program, rows)


@kernel
def _list_passing(program: Program, state: State, f: int, stage: int) -> int:
    """List the stage's breaks that only part of frame f's cell lies above; returns how many, or -1 if one has a gap."""
    stack, rows, functions = state.stack, state.rows, state.functions
    offset, lane = program.stage[stage].break_offset, program.stage[stage].lane_offset
    first = program.domain_rows + offset
    count = 0
    for w in range(stack.frame[f].live):
        cutting = stack.cutting[f, w]
        while cutting != NONE:
            b = rows.hyperplane[first + 64 * w + lowest_bit(cutting)].break_number
            cutting &= cutting - ONE
            functions.passed[count] = b - offset
            count += 1
            for k in range(program.hyperplane[b].first_follower, program.hyperplane[b + 1].first_follower):
                functions.passed[count] = program.followers[k] - offset
                count += 1
    for i in range(count):
        if program.step.gap[lane + functions.passed[i]] != 0.0:
            return -1
    return count


@kernel
def _largest_value(program: Program, state: State, f: int, stage: int, b: np.int64, v: int) -> float:
    """The most that a break's function can be at a vertex."""
    arena, stack, functions = state.arena, state.stack, state.functions
    levels, table, d = functions.levels, functions.hyperplane, program.dim
    stride, lane = program.stage[stage].padded_breaks, program.stage[stage].lane_offset + b
    start = functions_at(program, functions, stack, f, stage) + b
    value = levels[start + d * stride]
    for k in range(d):
        value += levels[start + k * stride] * arena.x[v, k]
    return value + value_bound(table.row_base[lane], table.row_size[lane], arena.off[v])
