"""Opening a stage on a finished cell: its functions there, with errors, and the hyperplanes that may cut the cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.error_bounds import row_base, squared, summed, value_bound
from affinelens.engine.vertex.jit import inlined, kernel
from affinelens.engine.vertex.program import (
    BASED, BASE_COLUMNS, BASE_SLOPE, BREAKS, BREAK_COLUMNS, BREAK_OFFSET, BREAK_ROUNDING, CHOICES, CHOICE_OFFSET,
    FIRST_UNIT, FIXED_CONSTANT_ERROR, FIXED_ERROR, FOLLOWERS, GAP, GROUP_SIZE, JUMP, LEADER, MINUS, NORM, ORIENTATION,
    PADDED, PAIRS, PLAIN, PLUS, QUANTUM, ROUNDING, ROW_OFFSET, TARGET, TARGETS, THRESHOLD, UNITS, UNIT_OFFSET,
    Program,
)  # fmt: skip
from affinelens.engine.vertex.state import (
    BASE, BREAK, CONSTANT_ERROR, DECIDED, ERROR, FINISHED, GROW_LEVELS, H_BASE, H_CONSTANT_ERROR, H_ERROR, H_SIZE,
    IS_WHOLE, LEVEL, SIZE, Functions, Rows, Stack,
)  # fmt: skip


@inlined
def inherit_sums(program: Program, stack: Stack, f: int, g: int) -> None:
    """Frame g starts with the sums of frame f."""
    for stage in range(program.stages):
        stack.frame[g, LEVEL + stage] = stack.frame[f, LEVEL + stage]
        stack.spread[g, 2 * stage] = stack.spread[f, 2 * stage]
        stack.spread[g, 2 * stage + 1] = stack.spread[f, 2 * stage + 1]


@inlined
def room_for_levels(program: Program, functions: Functions, stack: Stack, f: int, stage: int, more: int) -> bool:
    """Whether the sums that a stage adds to can be written a number of times more."""
    for entry in range(program.stage[stage, TARGETS], program.stage[stage + 1, TARGETS]):
        target = program.target[entry, TARGET]
        if stack.frame[f, LEVEL + target] + more >= functions.level[1, target]:
            return False
    return True


@inlined
def _next_level(program: Program, functions: Functions, stack: Stack, f: int, target: int) -> int:
    """Where frame f's current sum for a stage is; the next level, one sum further on, becomes its current one."""
    size = (program.dim + 1) * program.stage[target, PADDED]
    old = functions.level[0, target] + stack.frame[f, LEVEL + target] * size
    stack.frame[f, LEVEL + target] += 1
    return old


@inlined
def add_breaks(program: Program, functions: Functions, stack: Stack, f: int, stage: int, passed: int) -> int:
    """Add the columns of the breaks listed in ``counters[0]`` to the sums of frame f."""
    if passed == 0:
        return FINISHED
    if not room_for_levels(program, functions, stack, f, stage, 1):
        return GROW_LEVELS
    d = program.dim
    offset, count = program.stage[stage, BREAK_OFFSET], program.stage[stage, BREAKS]
    start = (d + 1) * offset
    for entry in range(program.stage[stage, TARGETS], program.stage[stage + 1, TARGETS]):
        target = program.target[entry, TARGET]
        width = program.stage[target, PADDED]
        old = _next_level(program, functions, stack, f, target)
        _add_columns(
            functions.levels, old, program.columns, program.target[entry, BREAK_COLUMNS], functions.hyperplanes, start,
            count, offset, functions.counters, passed, width, d,
        )  # fmt: skip
        rounding = program.accuracy[target, ROUNDING]
        coefficients, constants = 0.0, 0.0
        for i in range(passed):
            b = functions.counters[0, i]
            jump = abs(program.step[JUMP, b])
            constant = abs(functions.hyperplanes[start + d * count + b - offset])
            size, error = functions.hyperplane[H_SIZE, b], functions.hyperplane[H_ERROR, b]
            coefficients += squared(jump, error, rounding, size, 0.0)
            constant_error = functions.hyperplane[H_CONSTANT_ERROR, b]
            constants += squared(jump, constant_error, rounding, constant, program.step[GAP, b])
        stack.spread[f, 2 * target] += coefficients
        stack.spread[f, 2 * target + 1] += constants
    return FINISHED


@inlined
def _add_columns(
    levels: Any, old: int, columns: Any, column_start: int, rows: Any, start: int, count: int, offset: int, breaks: Any,
    passed: int, width: int, d: int,
) -> None:  # fmt: skip
    """The next level is the old one plus columns times rows, four breaks at a time so that sums stay in registers."""
    new = old + (d + 1) * width
    source = old
    i = 0
    while i + 3 < passed:
        b0, b1 = breaks[0, i] - offset, breaks[0, i + 1] - offset
        b2, b3 = breaks[0, i + 2] - offset, breaks[0, i + 3] - offset
        c0 = columns[column_start + b0 * width : column_start + b0 * width + width]
        c1 = columns[column_start + b1 * width : column_start + b1 * width + width]
        c2 = columns[column_start + b2 * width : column_start + b2 * width + width]
        c3 = columns[column_start + b3 * width : column_start + b3 * width + width]
        for k in range(d + 1):
            factors = rows[start + k * count : start + (k + 1) * count]
            f0, f1, f2, f3 = factors[b0], factors[b1], factors[b2], factors[b3]
            before = levels[source + k * width : source + (k + 1) * width]
            after = levels[new + k * width : new + (k + 1) * width]
            for j in range(width):
                after[j] = before[j] + f0 * c0[j] + f1 * c1[j] + f2 * c2[j] + f3 * c3[j]
        source = new
        i += 4
    while i < passed:
        b0 = breaks[0, i] - offset
        c0 = columns[column_start + b0 * width : column_start + b0 * width + width]
        for k in range(d + 1):
            f0 = rows[start + k * count + b0]
            before = levels[source + k * width : source + (k + 1) * width]
            after = levels[new + k * width : new + (k + 1) * width]
            for j in range(width):
                after[j] = before[j] + f0 * c0[j]
        source = new
        i += 1


@kernel
def _add_unit(
    program: Program, functions: Functions, stack: Stack, f: int, stage: int, entry: int, old: int, columns: int,
    unit: int, slope: float,
) -> None:  # fmt: skip
    """The next level is the old one plus a column times a unit's function; columns already hold the slope."""
    d = program.dim
    padded = program.stage[stage, PADDED]
    target = program.target[entry, TARGET]
    width = program.stage[target, PADDED]
    new = functions.level[0, target] + stack.frame[f, LEVEL + target] * (d + 1) * width
    rows = program.stage[stage, ROW_OFFSET]
    size = 0.0
    for k in range(d + 1):
        factor = functions.units[rows + k * padded + unit]
        if k < d:
            size += abs(factor)
        source = functions.levels[old + k * width : old + (k + 1) * width]
        target_row = functions.levels[new + k * width : new + (k + 1) * width]
        column = program.columns[columns : columns + width]
        for j in range(width):
            target_row[j] = source[j] + factor * column[j]
    u = program.stage[stage, UNIT_OFFSET] + unit
    constant = abs(functions.units[rows + d * padded + unit])
    rounding = program.accuracy[target, ROUNDING]
    stack.spread[f, 2 * target] += squared(slope, functions.unit[H_ERROR, u], rounding, size, 0.0)
    stack.spread[f, 2 * target + 1] += squared(slope, functions.unit[H_CONSTANT_ERROR, u], rounding, constant, 0.0)


@kernel
def name_winners(program: Program, rows: Rows, stage: int) -> None:
    """Find each group's winner on a finished cell.

    The signs between it and its rivals are known; those between losers may be out of date, and do not matter.
    """
    first = program.stage[stage, BREAK_OFFSET]
    for choice in range(program.stage[stage, CHOICE_OFFSET], program.stage[stage + 1, CHOICE_OFFSET]):
        size, table = program.group[choice, GROUP_SIZE], program.group[choice, PAIRS]
        winner = 0
        for rival in range(1, size):
            if rows.sign[first + program.pairs[table + winner * size + rival]] < 0:
                winner = rival
        rows.winner[choice] = winner


@kernel
def add_winners(program: Program, functions: Functions, rows: Rows, stack: Stack, f: int, stage: int) -> None:
    """Add the winners of a stage's groups to the sums of frame f; there is room."""
    for entry in range(program.stage[stage, TARGETS], program.stage[stage + 1, TARGETS]):
        target = program.target[entry, TARGET]
        width = program.stage[target, PADDED]
        source = _next_level(program, functions, stack, f, target)
        for group in range(program.stage[stage, CHOICES]):
            choice = program.stage[stage, CHOICE_OFFSET] + group
            unit = program.group[choice, FIRST_UNIT] + rows.winner[choice]
            column = program.target[entry, BREAK_COLUMNS] + group * width
            _add_unit(program, functions, stack, f, stage, entry, source, column, unit, 1.0)
            source = functions.level[0, target] + stack.frame[f, LEVEL + target] * (program.dim + 1) * width


@kernel
def _add_bases(program: Program, functions: Functions, stack: Stack, f: int, stage: int) -> None:
    """Add what units contribute below all their breaks; there is room."""
    for entry in range(program.stage[stage, TARGETS], program.stage[stage + 1, TARGETS]):
        target = program.target[entry, TARGET]
        width = program.stage[target, PADDED]
        old = _next_level(program, functions, stack, f, target)
        new = old + (program.dim + 1) * width
        for i in range((program.dim + 1) * width):
            functions.levels[new + i] = functions.levels[old + i]
        for unit in range(program.stage[stage, UNITS]):
            slope = abs(program.unit[BASE_SLOPE, program.stage[stage, UNIT_OFFSET] + unit])
            if slope != 0.0:
                column = program.target[entry, BASE_COLUMNS] + unit * width
                _add_unit(program, functions, stack, f, stage, entry, new, column, unit, slope)


@inlined
def make_functions(program: Program, functions: Functions, stack: Stack, f: int, stage: int) -> None:
    """The stage's pre-activations and hyperplanes as functions on the cell of frame f, with their errors."""
    d = program.dim
    width, units = program.stage[stage, PADDED], program.stage[stage, UNITS]
    source = functions.level[0, stage] + stack.frame[f, LEVEL + stage] * (d + 1) * width
    count, offset = program.stage[stage, BREAKS], program.stage[stage, BREAK_OFFSET]
    start = (d + 1) * offset
    first = program.stage[stage, UNIT_OFFSET]
    root = np.sqrt(stack.spread[f, 2 * stage])
    constant_root = np.sqrt(stack.spread[f, 2 * stage + 1])
    levels, hyperplanes = functions.levels, functions.hyperplanes
    norm = program.unit[NORM, first : first + units]
    fixed = program.unit[FIXED_ERROR, first : first + units]
    fixed_constant = program.unit[FIXED_CONSTANT_ERROR, first : first + units]
    unit_error = functions.unit[H_ERROR, first : first + units]
    unit_constant_error = functions.unit[H_CONSTANT_ERROR, first : first + units]
    error = functions.hyperplane[H_ERROR, offset : offset + count]
    constant_error = functions.hyperplane[H_CONSTANT_ERROR, offset : offset + count]
    for u in range(units):
        unit_error[u] = summed(fixed[u], norm[u], root)
        unit_constant_error[u] = summed(fixed_constant[u], norm[u], constant_root)
    if program.stage[stage, PLAIN]:
        for k in range(d + 1):
            one = levels[source + k * width : source + k * width + count]
            other = hyperplanes[start + k * count : start + (k + 1) * count]
            for b in range(count):
                other[b] = one[b]
        for b in range(count):
            error[b] = unit_error[b]
            constant_error[b] = unit_constant_error[b]
    else:
        for b in range(count):
            _make_hyperplane(program, functions, stage, source, b)
    if not program.stage[stage, PLAIN] or program.stage[stage, BASED]:
        rows = program.stage[stage, ROW_OFFSET]
        for i in range((d + 1) * width):
            functions.units[rows + i] = levels[source + i]
    size = functions.hyperplane[H_SIZE, offset : offset + count]
    base = functions.hyperplane[H_BASE, offset : offset + count]
    constant = hyperplanes[start + d * count : start + (d + 1) * count]
    for b in range(count):
        size[b] = 0.0
    for k in range(d):
        coefficient = hyperplanes[start + k * count : start + (k + 1) * count]
        for b in range(count):
            size[b] += abs(coefficient[b])
    for b in range(count):
        base[b] = row_base(error[b], constant_error[b], size[b], constant[b], d)
    if program.stage[stage, BASED]:
        _add_bases(program, functions, stack, f, stage)


@kernel
def _make_hyperplane(program: Program, functions: Functions, stage: int, source: int, b: int) -> None:
    """A hyperplane that is not simply the zero of a unit: a threshold or a difference of two units."""
    d = program.dim
    width = program.stage[stage, PADDED]
    count, offset = program.stage[stage, BREAKS], program.stage[stage, BREAK_OFFSET]
    first = program.stage[stage, UNIT_OFFSET]
    plus, minus = program.hyperplane[offset + b, PLUS], program.hyperplane[offset + b, MINUS]
    threshold = program.step[THRESHOLD, offset + b]
    error = functions.unit[H_ERROR, first + plus]
    constant_error = functions.unit[H_CONSTANT_ERROR, first + plus]
    rounding = program.accuracy[stage, BREAK_ROUNDING]
    if minus >= 0:
        error += functions.unit[H_ERROR, first + minus]
        constant_error += functions.unit[H_CONSTANT_ERROR, first + minus]
    size = 0.0
    for k in range(d + 1):
        value = functions.levels[source + k * width + plus]
        size = abs(value) + (size if k < d else 0.0)
        if minus >= 0:
            other = functions.levels[source + k * width + minus]
            size += abs(other)
            value -= other
        if k == d:
            size += abs(threshold)
            value -= threshold
        functions.hyperplanes[(d + 1) * offset + k * count + b] = value
        if k == d - 1 and minus >= 0:
            error += rounding * size
        if k == d and (minus >= 0 or threshold != 0.0):
            constant_error += rounding * size
    functions.hyperplane[H_ERROR, offset + b] = error
    functions.hyperplane[H_CONSTANT_ERROR, offset + b] = constant_error


@inlined
def classify(
    program: Program, functions: Functions, rows: Rows, control: Any, x: Any, stage: int, first: int, n: int
) -> int:
    """Decide the hyperplanes that clearly miss the cell; list the others as candidates and return their number."""
    d = program.dim
    count, offset = program.stage[stage, BREAKS], program.stage[stage, BREAK_OFFSET]
    start = (d + 1) * offset
    value, above, below = functions.values, functions.counters[0], functions.counters[1]
    base = functions.hyperplane[H_BASE, offset : offset + count]
    size = functions.hyperplane[H_SIZE, offset : offset + count]
    constant = functions.hyperplanes[start + d * count : start + (d + 1) * count]
    for b in range(count):
        above[b] = 0
        below[b] = 0
    for v in range(first, first + n):
        for b in range(count):
            value[b] = constant[b]
        for k in range(d):
            factor = x[v, k]
            coefficient = functions.hyperplanes[start + k * count : start + (k + 1) * count]
            for b in range(count):
                value[b] += factor * coefficient[b]
        off = x[v, d]
        for b in range(count):
            bound = value_bound(base[b], size[b], off)
            above[b] += value[b] > bound
            below[b] += value[b] < -bound
    control[DECIDED] += n * count
    candidates = 0
    for b in range(count):
        rows.place[offset + b] = -1
        if program.hyperplane[offset + b, LEADER] != offset + b:
            continue
        sign = (above[b] == n) - (below[b] == n)
        if sign != 0 or program.hyperplane[offset + b, ORIENTATION] == 0:
            set_sign(program, rows, offset + b, sign)
        else:
            place = program.domain_rows + offset + candidates
            rows.place[offset + b] = place
            _write_row(program, functions, rows, stage, b, place)
            candidates += 1
    return candidates


@inlined
def _write_row(program: Program, functions: Functions, rows: Rows, stage: int, b: int, place: int) -> None:
    """Copy a hyperplane that may cut the cell to where vertices are tested against it."""
    d = program.dim
    count, offset = program.stage[stage, BREAKS], program.stage[stage, BREAK_OFFSET]
    row, whole = rows.row, rows.whole
    for k in range(d + 1):
        row[place, k] = functions.hyperplanes[(d + 1) * offset + k * count + b]
    row[place, d + BASE] = functions.hyperplane[H_BASE, offset + b]
    row[place, d + SIZE] = functions.hyperplane[H_SIZE, offset + b]
    row[place, d + ERROR] = functions.hyperplane[H_ERROR, offset + b]
    row[place, d + CONSTANT_ERROR] = functions.hyperplane[H_CONSTANT_ERROR, offset + b]
    whole[place, d + BREAK] = offset + b
    quantum = program.accuracy[stage, QUANTUM]
    whole[place, d + IS_WHOLE] = quantum > 0.0
    if quantum > 0.0:
        for k in range(d + 1):
            whole[place, k] = int(row[place, k] / quantum)


@inlined
def set_sign(program: Program, rows: Rows, b: int, sign: int) -> None:
    """Note the sign of a break, and of those that are the same hyperplane whatever the pattern."""
    rows.sign[b] = sign
    for i in range(program.hyperplane[b, FOLLOWERS], program.hyperplane[b + 1, FOLLOWERS]):
        follower = program.followers[i]
        rows.sign[follower] = sign * program.hyperplane[follower, ORIENTATION]


@inlined
def list_passed(program: Program, functions: Functions, rows: Rows, b: int, passed: int) -> int:
    """Append a break with positive sign, and those that follow it, to the list in ``counters[0]``."""
    if rows.sign[b] > 0:
        functions.counters[0, passed] = b
        passed += 1
    for i in range(program.hyperplane[b, FOLLOWERS], program.hyperplane[b + 1, FOLLOWERS]):
        follower = program.followers[i]
        if rows.sign[follower] > 0:
            functions.counters[0, passed] = follower
            passed += 1
    return passed
