"""Opening a stage on a finished cell: its functions there, with errors, and the hyperplanes that may cut the cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.kernels.error_bounds import row_base, squared, squares, summed, value_bound
from affinelens.engine.vertex.kernels.row_values import values_at
from affinelens.engine.vertex.kernels.signs import block_of
from affinelens.engine.vertex.kernels.sums import add_bases, functions_at, is_carried, units_at
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Functions, Rows, Stack, State
from affinelens.kernels.bits import NONE, ZERO, count_bits, lowest_bit
from affinelens.kernels.compilation import inlined, kernel
from affinelens.kernels.lanes import LANES, PLACES, above, load, splat, spread, store, store_bytes, store_places

_SMALLEST = 5e-324


@inlined
def open_stage(program: Program, state: State, f: int, stage: int, first: int, n: int) -> tuple[int, int]:
    """Make the stage's functions on the cell of frame f, with n vertices, and decide those that clearly miss it.

    Returns how many hyperplanes are left as candidates, which are written to the stage's rows, and how many breaks are
    known to be passed, which are listed. The candidates' signs at the vertices, as far as clear, are written to their
    bits.
    """
    control, arena, stack, rows, functions = state.control, state.arena, state.stack, state.rows, state.functions
    d = program.dim
    plain = program.stage[stage].is_plain > 0
    if not plain:
        _make_hyperplanes(program, functions, stack, rows, f, stage)
    root, constant_root = np.sqrt(stack.sums[f, stage].square), np.sqrt(stack.sums[f, stage].constant_square)
    count, offset = program.stage[stage].breaks, program.stage[stage].break_offset
    width, lane_offset = program.stage[stage].padded_breaks, program.stage[stage].lane_offset
    if program.stage[stage].is_grouped or program.stage[stage].followed:
        for b in range(offset, offset + count):
            rows.place[b] = -1
    first_unit = program.stage[stage].unit_offset
    start = functions_at(program, functions, stack, f, stage)
    levels, table, x = functions.levels, functions.hyperplane, arena.x
    rounding = program.stage[stage].target_rounding
    carries = is_carried(program, stage)
    lumped = program.stage[stage].is_lumped > 0
    words = stack.used.shape[1]
    for v in range(first, first + n):
        for w in range(words, arena.bits.shape[1]):
            arena.bits[v, w] = NONE
    candidates, passed = ZERO, ZERO
    for j in range(0, width, LANES):
        b = lane_offset + j
        if plain:
            u = first_unit + j
            norm = load(program.unit.norm, u)
            error = summed(load(program.unit.fixed_error, u), norm, root)
            constant_error = summed(load(program.unit.fixed_constant_error, u), norm, constant_root)
            if lumped:
                constant_error = constant_error + error
            store(table.error, b, error)
            store(table.constant_error, b, constant_error)
            if program.stage[stage].has_bases:
                store(functions.unit.error, u, error)
                store(functions.unit.constant_error, u, constant_error)
        else:
            error, constant_error = load(table.error, b), load(table.constant_error, b)
        size = splat(0.0)
        for k in range(d):
            size = size + abs(load(levels, start + k * width + j))
        constant = load(levels, start + d * width + j)
        base = row_base(error, constant_error, size, constant, d)
        store(table.row_size, b, size)
        store(table.row_base, b, base)
        if carries:
            jump, gap = abs(load(program.step.jump, b)), load(program.step.gap, b)
            if lumped:
                reach, none = size + abs(constant), splat(0.0)
                store(table.square, b, squares(jump, none, rounding, reach, none))
                store(table.constant_square, b, squares(none, none, rounding, none, gap))
            else:
                store(table.square, b, squares(jump, error, rounding, size, splat(0.0)))
                store(table.constant_square, b, squares(jump, constant_error, rounding, abs(constant), gap))
        over, under = 255, 255
        for v in range(first, first + n):
            value = values_at(levels, start + j, width, constant, x, v, d)
            bound = value_bound(base, size, arena.off[v])
            over &= above(value, bound)
            under &= above(bound * -1.0, value)
        is_zero = above(splat(_SMALLEST), base + size + abs(constant))  # what is exactly zero everywhere cuts nothing
        own = program.own[b // LANES] & ~is_zero
        over, under = over & own, under & own
        store_bytes(rows.sign, offset + j, spread(over) | spread(under) * np.uint64(255))
        left = own & ~(over | under)
        if left:
            for v in range(first, first + n):
                value = values_at(levels, start + j, width, constant, x, v, d)
                bound = value_bound(base, size, arena.off[v])
                _write_signs(arena.bits, v, words, left, above(value, bound), above(bound * -1.0, value), candidates)
        while left:
            i = j + lowest_bit(np.uint64(left))
            left &= left - 1
            _write_row(program, functions, rows, stage, start, i, candidates)
            candidates += 1
        if carries:
            store_places(functions.passed, passed, PLACES[over], j)
            passed += count_bits(np.uint64(over))
    control.decided += n * count
    if lumped:
        _carry_errors(program, stack, f, stage, root, constant_root)
    if program.stage[stage].followed:
        for i in range(program.hyperplane[offset].first_follower, program.hyperplane[offset + count].first_follower):
            follower = program.followers[i]
            if rows.place[program.hyperplane[follower].leader] < 0:
                passed = follow(program, functions, rows, offset, follower, passed)
    if program.stage[stage].has_bases:
        add_bases(program, state, f, stage)
    return candidates, passed


@kernel
def _carry_errors(program: Program, stack: Stack, f: int, stage: int, root: float, constant_root: float) -> None:
    """Add the errors of a stage's functions, as one vector, to those that later stages are made from."""
    here = program.stage[stage]
    norm = here.fixed_norm + here.row_norm * root + here.error_norm * constant_root
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        stack.sums[f, program.target[entry].stage].constant_square += squared(1.0, norm, 0.0, 0.0, 0.0)


@inlined
def _write_signs(bits: Any, v: int, words: int, wanted: int, over: int, under: int, candidate: int) -> None:
    """Write the signs of some of eight hyperplanes at a vertex to its bits, one after another."""
    half = (bits.shape[1] - words) >> 1
    while wanted:
        i, bit = lowest_bit(np.uint64(wanted)), np.uint64(candidate & 63)
        bits[v, words + (candidate >> 6)] |= np.uint64(over >> i & 1) << bit
        bits[v, words + half + (candidate >> 6)] |= np.uint64(under >> i & 1) << bit
        wanted &= wanted - 1
        candidate += 1


@kernel
def _make_hyperplanes(
    program: Program, functions: Functions, stack: Stack, rows: Rows, f: int, stage: int
) -> None:  # fmt: skip
    """A stage's hyperplanes that are not simply the zeros of its units, and the errors of both.

    A unit that repeats a ReLU is as accurate as it, and where that is off it is exactly zero.
    """
    source = units_at(program, functions, stack, f, stage)
    root, constant_root = np.sqrt(stack.sums[f, stage].square), np.sqrt(stack.sums[f, stage].constant_square)
    first = program.stage[stage].unit_offset
    for u in range(first, first + program.stage[stage].units):
        norm = program.unit.norm[u]
        functions.unit.error[u] = summed(program.unit.fixed_error[u], norm, root)
        functions.unit.constant_error[u] = summed(program.unit.fixed_constant_error[u], norm, constant_root)
        if program.stage[stage].is_lumped > 0:
            functions.unit.constant_error[u] += functions.unit.error[u]
        lane = program.copy[u].lane
        if lane >= 0:
            is_on = rows.sign[program.copy[u].break_number] > 0
            functions.unit.error[u] = functions.hyperplane.error[lane] if is_on else 0.0
            functions.unit.constant_error[u] = functions.hyperplane.constant_error[lane] if is_on else 0.0
    for b in range(program.stage[stage].breaks):
        _make_hyperplane(program, functions, rows, stage, source, b)


@kernel
def _make_hyperplane(program: Program, functions: Functions, rows: Rows, stage: int, source: int, b: int) -> None:
    """A hyperplane that is not simply the zero of a unit: a threshold or a difference of two units.

    Between a ReLU that is on and one that is off there is none: the former is larger all over the cell.
    """
    d = program.dim
    width = program.stage[stage].padded
    stride, lane = program.stage[stage].padded_breaks, program.stage[stage].lane_offset
    first, offset = program.stage[stage].unit_offset, program.stage[stage].break_offset
    plus, minus = program.hyperplane[offset + b].plus, program.hyperplane[offset + b].minus
    threshold = program.step.threshold[lane + b]
    error = functions.unit.error[first + plus]
    constant_error = functions.unit.constant_error[first + plus]
    rounding = program.stage[stage].break_rounding
    if minus >= 0:
        error += functions.unit.error[first + minus]
        constant_error += functions.unit.constant_error[first + minus]
    size = 0.0
    plus_size = functions.unit.error[first + plus] + functions.unit.constant_error[first + plus]
    minus_size = 0.0
    if minus >= 0:
        minus_size = functions.unit.error[first + minus] + functions.unit.constant_error[first + minus]
    for k in range(d + 1):
        value = functions.levels[source + k * width + plus]
        size = abs(value) + (size if k < d else 0.0)
        plus_size += abs(value)
        if minus >= 0:
            other = functions.levels[source + k * width + minus]
            size += abs(other)
            minus_size += abs(other)
            value -= other
        if k == d:
            size += abs(threshold)
            value -= threshold
        functions.levels[(d + 1) * lane + k * stride + b] = value
        if k == d - 1 and minus >= 0:
            error += rounding * size
        if k == d and (minus >= 0 or threshold != 0.0):
            constant_error += rounding * size
    if minus >= 0:
        larger = _comparison(program, rows, plus_size == 0.0, minus_size == 0.0, first + plus, first + minus)
        if larger != 0:
            for k in range(d + 1):
                functions.levels[(d + 1) * lane + k * stride + b] = float(larger) if k == d else 0.0
            error, constant_error = 0.0, 0.0
    functions.hyperplane.error[lane + b] = error
    functions.hyperplane.constant_error[lane + b] = constant_error


@kernel
def _comparison(program: Program, rows: Rows, zero_plus: bool, zero_minus: bool, plus: int, minus: int) -> int:
    """1 or -1 where one of two units is a ReLU that is on and the other is zero, 0 where that is not known."""
    if zero_minus and _is_on(program, rows, plus):
        return 1
    return -1 if zero_plus and _is_on(program, rows, minus) else 0


@inlined
def _is_on(program: Program, rows: Rows, u: int) -> bool:
    return program.copy[u].lane >= 0 and rows.sign[program.copy[u].break_number] > 0


@inlined
def _write_row(
    program: Program, functions: Functions, rows: Rows, stage: int, start: int, b: int, candidate: int
) -> None:
    """Copy a hyperplane that may cut the cell to where vertices are tested against it."""
    d = program.dim
    stride, lane, offset = (
        program.stage[stage].padded_breaks, program.stage[stage].lane_offset + b, program.stage[stage].break_offset,
    )  # fmt: skip
    place = program.domain_rows + offset + candidate
    begin, width = block_of(program, stage)
    row, block, hyperplane, table = rows.row, rows.block, rows.hyperplane[place], functions.hyperplane
    for k in range(d + 1):
        coefficient = functions.levels[start + k * stride + b]
        row[place, k] = coefficient
        block[begin + k * width + candidate] = coefficient
    base, size = table.row_base[lane], table.row_size[lane]
    hyperplane.row_base = block[begin + (d + 1) * width + candidate] = base
    hyperplane.row_size = block[begin + (d + 2) * width + candidate] = size
    hyperplane.constant_error = table.constant_error[lane]
    hyperplane.break_number = offset + b
    if program.stage[stage].is_grouped or program.stage[stage].followed:
        rows.place[offset + b] = place
    quantum = program.stage[stage].quantum
    hyperplane.is_whole = quantum > 0.0
    if quantum > 0.0:
        for k in range(d + 1):
            rows.whole[place, k] = int(row[place, k] / quantum)


@kernel
def follow(program: Program, functions: Functions, rows: Rows, offset: int, b: int, passed: int) -> int:
    """Note the sign of a break that is the same hyperplane as another whatever the pattern, and list it if passed."""
    rows.sign[b] = rows.sign[program.hyperplane[b].leader] * program.hyperplane[b].orientation
    if rows.sign[b] > 0:
        functions.passed[passed] = b - offset
        passed += 1
    return passed
