"""Opening a stage on a finished cell: its functions there, with errors, and the hyperplanes that may cut the cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.kernels.bits import NONE, ZERO, count_bits, lowest_bit
from affinelens.engine.vertex.kernels.error_bounds import row_base, squared, squares, summed, value_bound
from affinelens.kernels.compilation import inlined, kernel
from affinelens.kernels.lanes import LANES, PLACES, above, load, splat, spread, store, store_bytes, store_places
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Arena, Functions, Rows, Stack
from affinelens.engine.vertex.kernels.vertices import block_of, values_at


_SMALLEST = 5e-324


@inlined
def inherit_sums(program: Program, stack: Stack, f: int, g: int) -> None:
    """Frame g starts with the sums of frame f."""
    for stage in range(program.stages):
        own, inherited = stack.sums[g, stage], stack.sums[f, stage]
        own.level = inherited.level
        own.square = inherited.square
        own.constant_square = inherited.constant_square


@inlined
def room_for_levels(program: Program, functions: Functions, stack: Stack, f: int, stage: int, more: int) -> bool:
    """Whether the sums that a stage adds to can be written a number of times more."""
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        target = program.target[entry].stage
        if stack.sums[f, target].level + more >= functions.level[target].capacity:
            return False
    return True


@inlined
def units_at(program: Program, functions: Functions, stack: Stack, f: int, stage: int) -> int:
    """Where a stage's pre-activations on the cell of frame f are, or what is summed up of them so far."""
    size = (program.dim + 1) * program.stage[stage].padded
    return functions.level[stage].start + stack.sums[f, stage].level * size


@inlined
def _next_level(program: Program, functions: Functions, stack: Stack, f: int, target: int) -> int:
    """Where frame f's current sum for a stage is; the next level, one sum further on, becomes its current one."""
    old = units_at(program, functions, stack, f, target)
    stack.sums[f, target].level += 1
    return old


@inlined
def is_carried(program: Program, stage: int) -> bool:
    """Whether the sums of later stages change whenever one of this stage's breaks is passed."""
    has_targets = program.stage[stage].first_target < program.stage[stage + 1].first_target
    return has_targets and not program.stage[stage].is_grouped


@inlined
def functions_at(program: Program, functions: Functions, stack: Stack, f: int, stage: int) -> int:
    """Where a stage's hyperplanes on the cell of frame f are: where its units are, if they are just their zeros."""
    if program.stage[stage].is_plain:
        return units_at(program, functions, stack, f, stage)
    return (program.dim + 1) * program.stage[stage].lane_offset


@inlined
def add_breaks(program: Program, functions: Functions, stack: Stack, f: int, stage: int, passed: int) -> int:
    """Add the columns of the breaks listed in ``passed`` to the sums of frame f."""
    if passed == 0:
        return endings.FINISHED
    if not room_for_levels(program, functions, stack, f, stage, 1):
        return endings.GROW_LEVELS
    offset, stride = program.stage[stage].lane_offset, program.stage[stage].padded_breaks
    coefficients, constants = 0.0, 0.0
    for i in range(passed):
        b = offset + functions.passed[i]
        coefficients += functions.hyperplane.square[b]
        constants += functions.hyperplane.constant_square[b]
    start = functions_at(program, functions, stack, f, stage)
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        target = program.target[entry].stage
        old = _next_level(program, functions, stack, f, target)
        _add_columns(
            functions.levels, old, program.columns, program.target[entry].break_columns, start, stride,
            functions.passed, passed, program.stage[target].padded, program.dim,
        )  # fmt: skip
        stack.sums[f, target].square += coefficients
        stack.sums[f, target].constant_square += constants
    return endings.FINISHED


@inlined
def _add_columns(
    levels: Any, old: int, columns: Any, first_column: int, start: int, stride: int, breaks: Any, passed: int,
    width: int, d: int,
) -> None:  # fmt: skip
    """The next level is the old one plus columns times rows, in blocks whose sums stay in registers."""
    new = (d + 1) * width
    k = 0
    while k + 3 <= d + 1:  # three rows by sixteen columns
        r0, at0 = start + k * stride, old + k * width
        for j in range(0, width - LANES, 2 * LANES):
            a0, a1, a2 = at0 + j, at0 + width + j, at0 + 2 * width + j
            s00, s01 = load(levels, a0), load(levels, a0 + LANES)
            s10, s11 = load(levels, a1), load(levels, a1 + LANES)
            s20, s21 = load(levels, a2), load(levels, a2 + LANES)
            for i in range(passed):
                b = np.int64(breaks[i])
                column = first_column + b * width + j
                c0, c1 = load(columns, column), load(columns, column + LANES)
                f0, f1, f2 = levels[r0 + b], levels[r0 + stride + b], levels[r0 + 2 * stride + b]
                s00, s01 = s00 + f0 * c0, s01 + f0 * c1
                s10, s11 = s10 + f1 * c0, s11 + f1 * c1
                s20, s21 = s20 + f2 * c0, s21 + f2 * c1
            store(levels, new + a0, s00)
            store(levels, new + a0 + LANES, s01)
            store(levels, new + a1, s10)
            store(levels, new + a1 + LANES, s11)
            store(levels, new + a2, s20)
            store(levels, new + a2 + LANES, s21)
        if width & LANES:
            for m in range(k, k + 3):
                row, rest = start + m * stride, width - LANES
                _add_to_row(levels, old + m * width, new, columns, first_column, row, breaks, passed, width, rest)
        k += 3
    while k <= d:
        row = start + k * stride
        _add_to_row(levels, old + k * width, new, columns, first_column, row, breaks, passed, width, ZERO)
        k += 1


@inlined
def _add_to_row(
    levels: Any, at: int, new: int, columns: Any, first_column: int, row: int, breaks: Any, passed: int, width: int,
    j: int,
) -> None:  # fmt: skip
    """As :func:`_add_columns`, for one row, from column j on."""
    while j + 4 * LANES <= width:
        s0, s1 = load(levels, at + j), load(levels, at + j + LANES)
        s2, s3 = load(levels, at + j + 2 * LANES), load(levels, at + j + 3 * LANES)
        for i in range(passed):
            b = np.int64(breaks[i])
            factor, column = levels[row + b], first_column + b * width + j
            s0, s1 = s0 + factor * load(columns, column), s1 + factor * load(columns, column + LANES)
            s2 = s2 + factor * load(columns, column + 2 * LANES)
            s3 = s3 + factor * load(columns, column + 3 * LANES)
        store(levels, new + at + j, s0)
        store(levels, new + at + j + LANES, s1)
        store(levels, new + at + j + 2 * LANES, s2)
        store(levels, new + at + j + 3 * LANES, s3)
        j += 4 * LANES
    while j < width:
        s0 = load(levels, at + j)
        for i in range(passed):
            b = np.int64(breaks[i])
            s0 = s0 + levels[row + b] * load(columns, first_column + b * width + j)
        store(levels, new + at + j, s0)
        j += LANES


@kernel
def _add_unit(
    program: Program, functions: Functions, stack: Stack, f: int, stage: int, entry: int, old: int, columns: int,
    unit: int, slope: float,
) -> None:  # fmt: skip
    """The next level is the old one plus a column times a unit's function; columns already hold the slope."""
    d = program.dim
    padded = program.stage[stage].padded
    target = program.target[entry].stage
    width = program.stage[target].padded
    new = units_at(program, functions, stack, f, target)
    units = units_at(program, functions, stack, f, stage)
    size = 0.0
    for k in range(d + 1):
        factor = functions.levels[units + k * padded + unit]
        if k < d:
            size += abs(factor)
        source = functions.levels[old + k * width : old + (k + 1) * width]
        target_row = functions.levels[new + k * width : new + (k + 1) * width]
        column = program.columns[columns : columns + width]
        for j in range(width):
            target_row[j] = source[j] + factor * column[j]
    u = program.stage[stage].unit_offset + unit
    constant = abs(functions.levels[units + d * padded + unit])
    rounding = program.stage[target].rounding
    own = stack.sums[f, target]
    if program.stage[stage].is_lumped > 0:
        own.square += squared(slope, 0.0, rounding, size + constant, 0.0)
        return
    own.square += squared(slope, functions.unit.error[u], rounding, size, 0.0)
    own.constant_square += squared(slope, functions.unit.constant_error[u], rounding, constant, 0.0)


@kernel
def name_winners(program: Program, rows: Rows, stage: int) -> None:
    """Find each group's winner on a finished cell.

    The signs between it and its rivals are known; those between losers may be out of date, and do not matter.
    """
    first = program.stage[stage].break_offset
    for choice in range(program.stage[stage].choice_offset, program.stage[stage + 1].choice_offset):
        size, table = program.group[choice].members, program.group[choice].pairs
        winner = 0
        for rival in range(1, size):
            if rows.sign[first + program.pairs[table + winner * size + rival]] < 0:
                winner = rival
        rows.winner[choice] = winner


@kernel
def add_winners(program: Program, functions: Functions, rows: Rows, stack: Stack, f: int, stage: int) -> None:
    """Add the winners of a stage's groups to the sums of frame f; there is room."""
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        target = program.target[entry].stage
        width = program.stage[target].padded
        source = _next_level(program, functions, stack, f, target)
        for group in range(program.stage[stage].choices):
            choice = program.stage[stage].choice_offset + group
            unit = program.group[choice].first_unit + rows.winner[choice]
            column = program.target[entry].break_columns + group * width
            _add_unit(program, functions, stack, f, stage, entry, source, column, unit, 1.0)
            source = units_at(program, functions, stack, f, target)


@kernel
def _add_bases(program: Program, functions: Functions, stack: Stack, f: int, stage: int) -> None:
    """Add what units contribute below all their breaks; there is room."""
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        target = program.target[entry].stage
        width = program.stage[target].padded
        old = _next_level(program, functions, stack, f, target)
        new = old + (program.dim + 1) * width
        for i in range((program.dim + 1) * width):
            functions.levels[new + i] = functions.levels[old + i]
        for unit in range(program.stage[stage].units):
            slope = abs(program.unit.base_slope[program.stage[stage].unit_offset + unit])
            if slope != 0.0:
                column = program.target[entry].base_columns + unit * width
                _add_unit(program, functions, stack, f, stage, entry, new, column, unit, slope)


@inlined
def open_stage(
    program: Program, functions: Functions, stack: Stack, rows: Rows, control: Any, arena: Arena, f: int, stage: int,
    first: int, n: int,
) -> tuple[int, int]:  # fmt: skip
    """Make the stage's functions on the cell of frame f, with n vertices, and decide those that clearly miss it.

    Returns how many hyperplanes are left as candidates, which are written to the stage's rows, and how many breaks are
    known to be passed, which are listed. The candidates' signs at the vertices, as far as clear, are written to their
    bits.
    """
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
        _add_bases(program, functions, stack, f, stage)
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
    first_lane, width = block_of(program, stage)
    row, block, hyperplane, table = rows.row, rows.block, rows.hyperplane[place], functions.hyperplane
    for k in range(d + 1):
        coefficient = functions.levels[start + k * stride + b]
        row[place, k] = coefficient
        block.coefficients[(d + 1) * first_lane + k * width + candidate] = coefficient
    base, size = table.row_base[lane], table.row_size[lane]
    hyperplane.row_base = block.row_base[first_lane + candidate] = base
    hyperplane.row_size = block.row_size[first_lane + candidate] = size
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
