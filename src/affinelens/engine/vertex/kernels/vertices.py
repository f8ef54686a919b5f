"""Vertices in kernels: where an edge is cut, on which side of hyperplanes a vertex lies, and how well it is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.kernels.bits import NONE, ONE, ZERO, count_bits, lowest_bit
from affinelens.engine.vertex.kernels.error_bounds import crossing_error, value_bound
from affinelens.kernels.compilation import inlined, kernel, unreordered
from affinelens.kernels.lanes import LANES, above, largest, load, splat, store, total
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Arena, Rows

_UNKNOWN = 2
# Sums of products of integers below this are exact in int64.
_INTEGER_LIMIT = 2.0**62
# A vertex that may be off by more than this is computed again from its hyperplanes: at once, or only when a sign
# depends on it. Only speed depends on these numbers.
_TOO_FAR_OFF = 1e-1
_NEARLY_EXACT = 1e-13
_ROUNDING = 2.0**-53
# Below this an inverse would overflow; nothing is then assumed about where an edge is cut.
_SMALLEST_DROP = 1e-290


@inlined
def value_at(row: Any, place: int, points: Any, v: int, lanes: int) -> float:
    """Value of a hyperplane's function at a point."""
    return value_along(load(row, place * lanes), row, place, points, v, lanes)


@inlined
def value_along(first: Any, row: Any, place: int, points: Any, v: int, lanes: int) -> float:
    """As :func:`value_at`, with the row's first lanes given."""
    at_row, at_point = place * lanes, v * lanes
    result = total(first * load(points, at_point))
    for c in range(LANES, lanes, LANES):
        result += total(load(row, at_row + c) * load(points, at_point + c))
    return result


@inlined
def values_at(table: Any, at: int, stride: int, constant: Any, x: Any, v: int, d: int) -> Any:
    """Values of eight functions, which a table has coefficient by coefficient, at a vertex."""
    values = constant
    for k in range(d):
        values = values + x[v, k] * load(table, at + k * stride)
    return values


@inlined
def share_of_edge(p_value: float, q_value: float) -> tuple[float, float]:
    """How far from p to q a row vanishes that is positive at p and negative at q, and the inverse of its drop.

    If that cannot be computed, the middle is as good as any point, with an infinite inverse.
    """
    p_value = max(p_value, 0.0)
    drop = p_value - min(q_value, 0.0)
    if drop > _SMALLEST_DROP:
        steepness = 1.0 / drop
        share = p_value * steepness
        if share <= 1.0 + 2.0**-50:  # false for values that overflow
            return share, steepness
    return 0.5, np.inf


@unreordered
def along(begin: Any, step: Any, share: float) -> Any:
    """A point on an edge; where both ends have a 1 for the constant, so has it."""
    return begin + step * share


@inlined
def copy_vertex(arena: Arena, v: int, to: int, lanes: int, d: int) -> None:
    """Copy everything about a vertex but its bits."""
    for c in range(0, lanes, LANES):
        store(arena.x, to * lanes + c, load(arena.x, v * lanes + c))
    arena.off[to] = arena.off[v]
    arena.whole[to, d] = arena.whole[v, d]
    arena.is_known[to] = arena.is_known[v]
    if arena.whole[v, d] != 0:
        for k in range(d):
            arena.whole[to, k] = arena.whole[v, k]


@inlined
def cross(
    control: Any, arena: Arena, rows: Rows, slots: Any, first: Any, place: int, p: int, q: int, to: int, slot: int,
    words: int, lanes: int, d: int,
) -> None:  # fmt: skip
    """Make the vertex where a hyperplane meets the edge from p above it to q below it; its first lanes are given."""
    x, bits, row = arena.x, arena.bits, rows.row
    for w in range(words):
        bits[to, w] = bits[p, w] & bits[q, w]
    bits[to, slot >> 6] |= ONE << np.uint64(slot & 63)
    share, steepness = share_of_edge(
        value_along(first, row, place, x, p, lanes), value_along(first, row, place, x, q, lanes)
    )
    length = 0.0
    for c in range(0, lanes, LANES):
        begin = load(x, p * lanes + c)
        step = load(x, q * lanes + c) - begin
        store(x, to * lanes + c, along(begin, step, share))
        length = max(length, largest(abs(step)))
    base, size = rows.hyperplane[place].row_base, rows.hyperplane[place].row_size
    off = crossing_error(base, size, arena.off[p], arena.off[q], share, steepness, length)
    arena.off[to] = off
    arena.whole[to, d] = 0
    arena.is_known[to] = False
    if arena.whole[p, d] != 0 and arena.whole[q, d] != 0 and rows.hyperplane[place].is_whole != 0:
        _cross_integers(arena, rows, place, p, q, to, d)
    elif row[place, d] == 0.0 and _is_origin(bits, rows, slots, to, words, lanes, d):
        for k in range(d):
            x[to, k] = 0.0
        arena.off[to] = 0.0
    elif off > _TOO_FAR_OFF:
        control.refreshed += 1
        refresh(arena, rows, slots, to, words, lanes, d)


@kernel
def _is_origin(bits: Any, rows: Rows, slots: Any, v: int, words: int, lanes: int, d: int) -> bool:
    """Whether all hyperplanes that meet in a vertex are known to pass through the origin, which then is the vertex."""
    for w in range(words):
        rest = bits[v, w]
        while rest:
            place = slots[64 * w + lowest_bit(rest)].place
            rest &= rest - ONE
            if rows.row[place, d] != 0.0 or rows.hyperplane[place].constant_error != 0.0:
                return False
    return True


@kernel
def _cross_integers(arena: Arena, rows: Rows, place: int, p: int, q: int, to: int, d: int) -> None:
    """Exact homogeneous coordinates of a new vertex, if they fit; then its float64 ones are as good as can be."""
    h = arena.whole
    size_p, size_q, largest_p, largest_q = 0.0, 0.0, 0.0, 0.0
    at_p, at_q = 0, 0
    for k in range(d + 1):
        a = rows.whole[place, k]
        size_p += abs(float(a) * float(h[p, k]))
        size_q += abs(float(a) * float(h[q, k]))
        largest_p = max(largest_p, abs(float(h[p, k])))
        largest_q = max(largest_q, abs(float(h[q, k])))
        at_p += a * h[p, k]
        at_q += a * h[q, k]
    if not size_p * largest_q + size_q * largest_p < _INTEGER_LIMIT:
        return
    for k in range(d + 1):
        h[to, k] = at_p * h[q, k] - at_q * h[p, k]
    _place_at_integers(arena, to, d)


@kernel
def _place_at_integers(arena: Arena, v: int, d: int) -> None:
    """Shorten a vertex's homogeneous coordinates, and make the others as good as can be."""
    h = arena.whole
    divisor = ZERO
    for k in range(d + 1):
        divisor = _gcd(divisor, h[v, k])
    below = float(h[v, d] // divisor)
    at_origin = True
    for k in range(d + 1):
        h[v, k] //= divisor
        if k < d:
            arena.x[v, k] = float(h[v, k]) / below
            at_origin &= h[v, k] == 0
    arena.off[v] = 0.0 if at_origin else 4.0 * _ROUNDING


@kernel
def _meet_in_integers(arena: Arena, rows: Rows, slots: Any, v: int, words: int, d: int) -> None:
    """Find a vertex's homogeneous coordinates from hyperplanes that are integers, if d of them meet there and all fits.

    Each row is freed of the pivots of those before it, and then those before it of its own; what is left of each says
    one coordinate.
    """
    table, pivots, h, found = arena.solving, arena.places, arena.whole, ZERO
    for w in range(words):
        rest = arena.bits[v, w]
        while rest != NONE and found < d:
            place = slots[64 * w + lowest_bit(rest)].place
            rest &= rest - ONE
            if rows.hyperplane[place].is_whole == 0:
                continue
            for k in range(d + 1):
                table[found, k] = rows.whole[place, k]
            for i in range(found):
                if not _eliminate(table, found, i, pivots[i], d):
                    return
            pivots[found] = ZERO
            while pivots[found] < d and table[found, pivots[found]] == 0:
                pivots[found] += 1
            if pivots[found] < d:
                found += 1
    if found < d:
        return
    below = ZERO + 1
    for i in range(d):
        for j in range(i + 1, d):
            if not _eliminate(table, i, j, pivots[j], d):
                return
        factor = abs(table[i, pivots[i]]) // _gcd(below, table[i, pivots[i]])
        if not float(below) * float(factor) < _INTEGER_LIMIT:
            return
        below *= factor
    for i in range(d):
        factor = -(below // table[i, pivots[i]])
        if not abs(float(factor) * float(table[i, d])) < _INTEGER_LIMIT:
            return
        h[v, pivots[i]] = factor * table[i, d]
    h[v, d] = below
    _place_at_integers(arena, v, d)


@kernel
def _eliminate(table: Any, i: int, j: int, pivot: int, d: int) -> bool:
    """Free row i of a coordinate by adding a multiple of row j, and shorten it; false if that does not fit."""
    own, other = table[i, pivot], table[j, pivot]
    if own == 0:
        return True
    divisor = _gcd(own, other)
    own, other = own // divisor, other // divisor
    divisor = ZERO
    for k in range(d + 1):
        if not abs(float(other) * float(table[i, k])) + abs(float(own) * float(table[j, k])) < _INTEGER_LIMIT:
            return False
        table[i, k] = other * table[i, k] - own * table[j, k]
        divisor = _gcd(divisor, table[i, k])
    if divisor > 1:
        for k in range(d + 1):
            table[i, k] //= divisor
    return True


@kernel
def _gcd(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@kernel
def refresh(arena: Arena, rows: Rows, slots: Any, v: int, words: int, lanes: int, d: int) -> None:
    """Compute a vertex again, from d of the hyperplanes that meet there, if that makes its error bound smaller.

    With M an approximate inverse of their normals N, the vertex differs from x by at most
    ``|M| (|N x + c| + row errors) / (1 - ||I - M N||)``.
    """
    x, bits, off, row = arena.x, arena.bits, arena.off, rows.row
    inverse, point, residual, places = arena.inverse, arena.point, arena.residual, arena.places
    found = 0
    for w in range(words):
        rest = bits[v, w]
        while rest and found < d:
            places[found] = slots[64 * w + lowest_bit(rest)].place
            rest &= rest - ONE
            found += 1
    if not _solve(arena, row, lanes, d):
        return
    # one step of Newton's method, then the bound
    for i in range(d):
        residual[i] = value_at(row, places[i], point, 0, lanes)
    for k in range(d):
        step = 0.0
        for i in range(d):
            step += inverse[k, i] * residual[i]
        point[k] -= step
    defect = 0.0
    for k in range(d):
        part = 0.0
        for i in range(d):
            part += abs(inverse[k, i]) * rows.hyperplane[places[i]].row_base
        for c in range(0, lanes, LANES):
            entry, size = load(arena.identity, k * lanes + c) * -1.0, splat(1.0)
            for i in range(d):
                term = inverse[k, i] * load(row, places[i] * lanes + c)
                entry = entry + term
                size = size + abs(term)
            part += total((abs(entry) + ((d + 2) * _ROUNDING) * size) * load(arena.coordinates, c))
        if not part < 0.5:
            return
        defect = max(defect, part)
    for i in range(d):
        residual[i] = abs(value_at(row, places[i], point, 0, lanes)) + rows.hyperplane[places[i]].row_base
    reach = 0.0
    for k in range(d):
        part = 0.0
        for i in range(d):
            part += abs(inverse[k, i]) * residual[i]
        if not part < off[v]:
            return
        reach = max(reach, part)
    reach = reach / (1.0 - defect) * (1.0 + 1e-9)
    if reach < off[v]:
        for k in range(d):
            x[v, k] = point[k]
        off[v] = reach


@inlined
def _solve(arena: Arena, row: Any, lanes: int, d: int) -> bool:
    """Invert the normals of the rows at ``places`` by Gauss and Jordan; where the rows vanish is left in ``point``."""
    normal, inverse, places = arena.normal, arena.inverse, arena.places
    for i in range(d):
        for c in range(0, lanes, LANES):
            store(normal, i * lanes + c, load(row, places[i] * lanes + c))
            store(inverse, i * lanes + c, load(arena.identity, i * lanes + c))
    for k in range(d):
        pivot = k
        for i in range(k + 1, d):
            if abs(normal[i, k]) > abs(normal[pivot, k]):
                pivot = i
        if not abs(normal[pivot, k]) > 0.0:
            return False
        scale = 1.0 / normal[pivot, k]
        for c in range(0, lanes, LANES):
            a, b = load(normal, pivot * lanes + c) * scale, load(inverse, pivot * lanes + c) * scale
            store(normal, pivot * lanes + c, load(normal, k * lanes + c))
            store(inverse, pivot * lanes + c, load(inverse, k * lanes + c))
            store(normal, k * lanes + c, a)
            store(inverse, k * lanes + c, b)
        for i in range(d):
            if i == k:
                continue
            factor = normal[i, k]
            for c in range(0, lanes, LANES):
                store(normal, i * lanes + c, load(normal, i * lanes + c) - factor * load(normal, k * lanes + c))
                store(inverse, i * lanes + c, load(inverse, i * lanes + c) - factor * load(inverse, k * lanes + c))
    for k in range(d):
        arena.point[k] = -normal[k, d]
    arena.point[d] = 1.0
    return True


@inlined
def block_of(program: Program, stage: int) -> tuple[int, int]:
    """The first lane in ``Rows.block`` of a stage's cutting hyperplanes (the domain's, for stage -1), and how many."""
    rows = (program.domain_rows + LANES - 1) // LANES * LANES
    if stage < 0:
        return 0, rows
    return rows + program.stage[stage].lane_offset, program.stage[stage].padded_breaks


@inlined
def evaluate(
    program: Program, control: Any, arena: Arena, rows: Rows, slots: Any, requests: Any, wanted: Any, f: int,
    live: int, stage: int, first: int, count: int, words: int,
) -> int:  # fmt: skip
    """Find the signs of the hyperplanes in the first words of ``wanted[f]`` at new vertices.

    What stays open is added to the requests.

    Returns how many requests there are, or -1 if there is no room for them.
    """
    d = program.dim
    x, bits, block = arena.x, arena.bits, rows.block
    first_lane, width = block_of(program, stage)
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
                lane = first_lane + 64 * w + shift
                at = lane + d * first_lane
                value = values_at(block.coefficients, at, width, load(block.coefficients, at + d * width), x, v, d)
                bound = value_bound(load(block.row_base, lane), load(block.row_size, lane), off)
                over |= np.uint64(above(value, bound)) << np.uint64(shift)
                under |= np.uint64(above(bound * -1.0, value)) << np.uint64(shift)
            bits[v, words + w] = over & wanted[f, w]
            bits[v, words + half + w] = under & wanted[f, w]
            if wanted[f, w] & ~(over | under) != NONE:
                asked = look_again(program, control, arena, rows, slots, requests, wanted, f, w, stage, v, words, asked)
                if asked < 0:
                    return -1
    for w in range(live):
        control.decided += count * count_bits(wanted[f, w])
    return asked


@kernel
def look_again(
    program: Program, control: Any, arena: Arena, rows: Rows, slots: Any, requests: Any, wanted: Any, f: int, w: int,
    stage: int, v: int, words: int, asked: int,
) -> int:  # fmt: skip
    """Find the signs that float64 has left open at a vertex, in one word of the hyperplanes."""
    bits = arena.bits
    half = wanted.shape[1]
    first_place = 0 if stage < 0 else program.domain_rows + program.stage[stage].break_offset
    rest = wanted[f, w] & ~(bits[v, words + w] | bits[v, words + half + w])
    while rest != NONE:
        unit = lowest_bit(rest)
        bit = ONE << np.uint64(unit)
        rest &= rest - ONE
        place = first_place + 64 * w + unit
        if (
            stage >= 0
            and program.stage[stage].is_grouped
            and _is_tied(program, bits, rows, slots, stage, place, v, words)
        ):
            continue
        sign = _weigh(control, arena, rows, slots, place, v, words, program.lanes, program.dim)
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
def _is_tied(program: Program, bits: Any, rows: Rows, slots: Any, stage: int, place: int, v: int, words: int) -> bool:
    """Whether two candidates of a group are equal at a vertex because of other hyperplanes that it lies on.

    Those are ties between units of the stage that are like members of the group, and zeros of ReLUs that members
    repeat: from them, equality is passed on from member to member.
    """
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
def _weigh(
    control: Any, arena: Arena, rows: Rows, slots: Any, place: int, v: int, words: int, lanes: int, d: int
) -> int:
    """A second look at a sign: in integers, at a better vertex, at the origin (where only the constant counts)."""
    h, row = arena.whole, rows.row
    if h[v, d] == 0 and rows.hyperplane[place].is_whole != 0:
        _meet_in_integers(arena, rows, slots, v, words, d)
    if h[v, d] != 0 and rows.hyperplane[place].is_whole != 0:
        size = 0.0
        result = 0
        for k in range(d + 1):
            size += abs(float(rows.whole[place, k]) * float(h[v, k]))
            result += rows.whole[place, k] * h[v, k]
        if size < _INTEGER_LIMIT:
            control.by_integers += 1
            return 1 if result > 0 else (-1 if result < 0 else 0)
    if arena.off[v] > _NEARLY_EXACT:
        control.refreshed += 1
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
