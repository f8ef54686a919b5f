"""The functions of later stages, summed up along the path: a level more for every break that is passed.

A frame knows for every stage which level is its own, so that going back up is to forget the later ones.
"""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.kernels.error_bounds import squared
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Functions, Stack, State
from affinelens.kernels.bits import ZERO
from affinelens.kernels.compilation import inlined, kernel
from affinelens.kernels.lanes import LANES, load, store


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
    offset = program.stage[stage].lane_offset
    coefficients, constants = 0.0, 0.0
    for i in range(passed):
        b = offset + functions.passed[i]
        coefficients += functions.hyperplane.square[b]
        constants += functions.hyperplane.constant_square[b]
    start = functions_at(program, functions, stack, f, stage)
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        target = program.target[entry].stage
        old = _next_level(program, functions, stack, f, target)
        _add_columns(program, functions, stage, entry, old, start, passed)
        stack.sums[f, target].square += coefficients
        stack.sums[f, target].constant_square += constants
    return endings.FINISHED


@inlined
def _add_columns(
    program: Program, functions: Functions, stage: int, entry: int, old: int, start: int, passed: int
) -> None:
    """The next level is the old one plus columns times rows, in blocks whose sums stay in registers.

    A level has d + 1 rows, one a coefficient and one for the constant, of as many numbers as its stage has units::

        old      [ row 0 | row 1 | ... | row d ]     next level   [ row 0 | row 1 | ... | row d ]
        columns  [ break 0 | break 1 | ... ]         what passing a break adds to each unit, for slope 1

    Row k of the next level is row k of the old one plus, for every passed break, its column times coefficient k of its
    function, which stands in row k from ``start`` on.
    """
    levels, breaks, columns, d = functions.levels, functions.passed, program.columns, program.dim
    target, stride = program.target[entry], program.stage[stage].padded_breaks
    first_column, width = target.break_columns, program.stage[target.stage].padded
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
                _add_to_row(program, functions, old + m * width, first_column, row, passed, width, rest)
        k += 3
    while k <= d:
        row = start + k * stride
        _add_to_row(program, functions, old + k * width, first_column, row, passed, width, ZERO)
        k += 1


@inlined
def _add_to_row(
    program: Program, functions: Functions, at: int, first_column: int, row: int, passed: int, width: int, j: int
) -> None:
    """As :func:`_add_columns`, for one row, from column j on."""
    levels, breaks, columns = functions.levels, functions.passed, program.columns
    new = (program.dim + 1) * width
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
    program: Program, state: State, f: int, entry: int, old: int, column: int, unit: int, slope: float
) -> None:
    """The next level is the old one plus a column times a unit's function; columns already hold the slope."""
    functions, stack, d = state.functions, state.stack, program.dim
    stage, target = program.target[entry].source, program.target[entry].stage
    padded, width = program.stage[stage].padded, program.stage[target].padded
    new = units_at(program, functions, stack, f, target)
    units = units_at(program, functions, stack, f, stage)
    size = 0.0
    for k in range(d + 1):
        factor = functions.levels[units + k * padded + unit]
        if k < d:
            size += abs(factor)
        source = functions.levels[old + k * width : old + (k + 1) * width]
        target_row = functions.levels[new + k * width : new + (k + 1) * width]
        changes = program.columns[column : column + width]
        for j in range(width):
            target_row[j] = source[j] + factor * changes[j]
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
def add_winners(program: Program, state: State, f: int, stage: int) -> None:
    """Add the winners of a stage's groups to the sums of frame f; there is room."""
    functions, stack, rows = state.functions, state.stack, state.rows
    for entry in range(program.stage[stage].first_target, program.stage[stage + 1].first_target):
        target = program.target[entry].stage
        width = program.stage[target].padded
        source = _next_level(program, functions, stack, f, target)
        for group in range(program.stage[stage].choices):
            choice = program.stage[stage].choice_offset + group
            unit = program.group[choice].first_unit + rows.winner[choice]
            column = program.target[entry].break_columns + group * width
            _add_unit(program, state, f, entry, source, column, unit, 1.0)
            source = units_at(program, functions, stack, f, target)


@kernel
def add_bases(program: Program, state: State, f: int, stage: int) -> None:
    """Add what units contribute below all their breaks; there is room."""
    functions, stack = state.functions, state.stack
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
                _add_unit(program, state, f, entry, new, column, unit, slope)
