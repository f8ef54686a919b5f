"""On which side of hyperplanes a vertex lies: by error bounds, then by a closer look, else it is left to rationals."""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.kernels.error_bounds import value_bound
from affinelens.engine.vertex.kernels.integer_vertices import INTEGER_LIMIT, meet_in_integers
from affinelens.engine.vertex.kernels.row_values import value_at, values_at
from affinelens.engine.vertex.kernels.vertex_refinement import refresh
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Arena, Rows, Stack, State
from affinelens.kernels.bits import NONE, ONE, ZERO, count_bits, lowest_bit
from affinelens.kernels.compilation import inlined, kernel
from affinelens.kernels.lanes import LANES, above, load

_UNKNOWN = 2
# A vertex that may be off by more than this is computed again from its hyperplanes when a sign depends on it. Only
# speed depends on it.
_NEARLY_EXACT = 1e-13


@inlined
def block_of(program: Program, stage: int) -> tuple[int, int]:
    """Where in ``Rows.block`` a stage's cutting hyperplanes begin (the domain's, for stage -1), and its width."""
    rows = (program.domain_rows + LANES - 1) // LANES * LANES
    if stage < 0:
        return 0, rows
    return (program.dim + 3) * (rows + program.stage[stage].lane_offset), program.stage[stage].padded_breaks


@inlined
def evaluate(program: Program, state: State, f: int, live: int, stage: int, first: int, count: int) -> int:
    """Find the signs of the hyperplanes in the first words of ``wanted[f]`` at new vertices.

    What stays open is added to the requests.

    Returns how many requests there are, or -1 if there is no room for them.
    """
    control, arena, stack, rows = state.control, state.arena, state.stack, state.rows
    wanted, words = stack.cutting, stack.used.shape[1]
    d = program.dim
    x, bits, block = arena.x, arena.bits, rows.block
    start, width = block_of(program, stage)
    half = wanted.shape[1]
    asked = ZERO
    for v in range(first, first + count):
        off = arena.off[v]
        for w in range(live):
            rest = wanted[f, w]
            over, under = NONE, NONE
            while rest != NONE:
                shift = lowest_bit(rest) & 56
                rest &= ~(np.uint64(255) << np.uint64(shift))
                at = start + 64 * w + shift
                value = values_at(block, at, width, load(block, at + d * width), x, v, d)
                bound = value_bound(load(block, at + (d + 1) * width), load(block, at + (d + 2) * width), off)
                over |= np.uint64(above(value, bound)) << np.uint64(shift)
                under |= np.uint64(above(bound * -1.0, value)) << np.uint64(shift)
            bits[v, words + w] = over & wanted[f, w]
            bits[v, words + half + w] = under & wanted[f, w]
            if wanted[f, w] & ~(over | under) != NONE:
                asked = look_again(program, state, f, w, stage, v, asked)
                if asked < 0:
                    return -1
    for w in range(live):
        control.decided += count * count_bits(wanted[f, w])
    return asked


@kernel
def look_again(program: Program, state: State, f: int, w: int, stage: int, v: int, asked: int) -> int:
    """Find the signs that float64 has left open at a vertex, in one word of the hyperplanes."""
    arena, stack, rows, requests = state.arena, state.stack, state.rows, state.requests
    wanted, words = stack.cutting, stack.used.shape[1]
    bits = arena.bits
    half = wanted.shape[1]
    first_place = 0 if stage < 0 else program.domain_rows + program.stage[stage].break_offset
    rest = wanted[f, w] & ~(bits[v, words + w] | bits[v, words + half + w])
    while rest != NONE:
        unit = lowest_bit(rest)
        bit = ONE << np.uint64(unit)
        rest &= rest - ONE
        place = first_place + 64 * w + unit
        if stage >= 0 and program.stage[stage].is_grouped and _is_tied(program, arena, rows, stack, stage, place, v):
            continue
        sign = _weigh(program, state, place, v)
        if sign == 1:
            bits[v, words + w] |= bit
        elif sign == -1:
            bits[v, words + half + w] |= bit
        elif sign == _UNKNOWN:
            if asked >= len(requests):
                return -1
            requests[asked].vertex = v
            requests[asked].place = place
            requests[asked].bit = 64 * w + unit
            asked += 1
    return asked


@kernel
def _is_tied(program: Program, arena: Arena, rows: Rows, stack: Stack, stage: int, place: int, v: int) -> bool:
    """Whether two candidates of a group are equal at a vertex because of other hyperplanes that it lies on.

    Those are ties between units of the stage that are like members of the group, and zeros of ReLUs that members
    repeat: from them, equality is passed on from member to member.
    """
    bits, slots, words = arena.bits, stack.slot, stack.used.shape[1]
    offset = program.stage[stage].break_offset
    asked = rows.hyperplane[place].break_number
    group = program.stage[stage].choice_offset + program.hyperplane[asked].choice
    first, size = program.group[group].first_unit, program.group[group].members
    if size > 64:
        return False
    units = program.stage[stage].unit_offset
    equal = ONE << np.uint64(program.hyperplane[asked].plus - first)
    wanted = ONE << np.uint64(program.hyperplane[asked].minus - first)
    zero = NONE
    grown = True
    while grown:
        before = equal
        for w in range(words):
            rest = bits[v, w]
            while rest != NONE:
                b = rows.hyperplane[slots[64 * w + lowest_bit(rest)].place].break_number
                rest &= rest - ONE
                if b >= offset:
                    plus = program.copy[units + program.hyperplane[b].plus].first_like
                    minus = program.copy[units + program.hyperplane[b].minus].first_like
                    tied = NONE
                    for member in range(size):
                        like = program.copy[units + first + member].first_like
                        if like in (plus, minus):
                            tied |= ONE << np.uint64(member)
                    if tied & equal != NONE:
                        equal |= tied
                elif b >= 0:
                    for member in range(size):
                        copied = program.copy[units + first + member].break_number
                        if copied >= 0 and program.hyperplane[copied].leader == b:
                            zero |= ONE << np.uint64(member)
        if zero & equal != NONE:
            equal |= zero
        grown = equal != before
    return equal & wanted != NONE


@kernel
def _weigh(program: Program, state: State, place: int, v: int) -> int:
    """A second look at a sign: in integers, at a better vertex, at the origin (where only the constant counts)."""
    control, arena, stack, rows = state.control, state.arena, state.stack, state.rows
    slots, words, lanes, d = stack.slot, stack.used.shape[1], program.lanes, program.dim
    h, row = arena.whole, rows.row
    if h[v, d] == 0 and rows.hyperplane[place].is_whole != 0:
        meet_in_integers(arena, rows, slots, v, words, d)
    if h[v, d] != 0 and rows.hyperplane[place].is_whole != 0:
        size = 0.0
        result = 0
        for k in range(d + 1):
            size += abs(float(rows.whole[place, k]) * float(h[v, k]))
            result += rows.whole[place, k] * h[v, k]
        if size < INTEGER_LIMIT:
            control.by_integers += 1
            return 1 if result > 0 else (-1 if result < 0 else 0)
    if arena.off[v] > _NEARLY_EXACT:
        refresh(arena, rows, slots, v, words, lanes, d)
    value = value_at(row, place, arena.x, v, lanes)
    if abs(value) > value_bound(rows.hyperplane[place].row_base, rows.hyperplane[place].row_size, arena.off[v]):
        return 1 if value > 0.0 else -1
    if arena.off[v] == 0.0:
        for k in range(d):
            if arena.x[v, k] != 0.0:
                return _UNKNOWN
        constant, error = row[place, d], rows.hyperplane[place].constant_error
        if abs(constant) > error:
            return 1 if constant > 0.0 else -1
        if error == 0.0:
            return 0
    return _UNKNOWN
