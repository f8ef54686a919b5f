"""The last cut of a cell: when one hyperplane of the last stage is left, both halves are regions.

About every second cut is of this kind. Its new vertices are needed for the halves' interior points alone, and the
hyperplanes they lie on for their facets: so they are summed up and not kept, and their errors do not matter.
"""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.kernels.edges import list_edges, separate
from affinelens.engine.vertex.kernels.emission import is_inside, placed, write_facets, write_region
from affinelens.engine.vertex.kernels.frames import pop, take_slot
from affinelens.engine.vertex.kernels.vertices import along, share_of_edge
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import State
from affinelens.kernels.bits import NONE, ONE, ZERO, count_bits
from affinelens.kernels.compilation import merged
from affinelens.kernels.lanes import LANES, load, splat, store, total

# Not a last cut, or one that this way is not made for.
ORDINARY_CUT = -1


@merged
def halve(program: Program, state: State, f: int, unit: int) -> int:
    """Write down both halves of frame f's cell and leave it, if that is all there is to do; else change nothing.

    Only the children that are wanted are written down, and where there is room for one only, the other later.
    """
    control, arena, stack, rows, results = state.control, state.arena, state.stack, state.rows, state.results
    frame, ids, x, bits = stack.frame, arena.ids, arena.x, arena.bits
    stage = frame[f].stage
    if control.guided > 0:
        return ORDINARY_CUT
    is_last = stage == program.stages - 1 and frame[f].live == 1 and count_bits(stack.cutting[f, 0]) == 1
    if not is_last or frame[f].kind != kinds.ORDINARY:
        return ORDINARY_CUT
    if program.stage[stage].is_grouped or stage < program.selected_stages:
        return ORDINARY_CUT
    wanted = frame[f].end - frame[f].next
    if control.count_only:
        control.emitted += wanted
        control.work += 4
        results.counts[stage] += wanted
        pop(state, f)
        return endings.FINISHED
    if control.vertex_column or program.stage[stage].followed:
        return ORDINARY_CUT
    d, index = program.dim, control.emitted
    if program.lanes > LANES:
        return ORDINARY_CUT
    for w in range(1, stack.used.shape[1]):
        if stack.used[f, w] != NONE:
            return ORDINARY_CUT
    with_facets = control.facet_column != 0
    has_room = index + wanted <= control.room
    if not has_room or (with_facets and control.facets_emitted + 128 > len(results.facets)):
        if index > 0 or control.room == 0:
            return endings.FULL
        wanted = min(wanted, control.room)
    n, start, top = frame[f].count, frame[f].ids, control.ids_used
    place = unit + program.domain_rows + program.stage[stage].break_offset
    if top + n > len(ids) or n + LANES > len(arena.upper):
        return ORDINARY_CUT
    slot = take_slot(stack, f, place)
    n_below, n_above, n_level = separate(state, start, n, top, unit)
    if slot < 0 or slot >= 64 or n_level > 0:
        return ORDINARY_CUT

    crossings = list_edges(program, state, start, n, top, n_below, n_above)
    if crossings < 0:
        return ORDINARY_CUT

    is_simple = True
    lower, lower_used = splat(0.0), NONE
    for i in range(n_below):
        v = ids[top + i]
        lower = lower + load(x, v * LANES)
        lower_used |= bits[v, 0]
        is_simple &= count_bits(bits[v, 0]) == d
    middle, middle_used = splat(0.0), ONE << np.uint64(slot)
    row = load(rows.row, place * program.lanes)
    for i in range(crossings):
        p, q = arena.upper[arena.edge_upper[i]], ids[top + arena.edge_lower[i]]
        p_point, q_point = load(x, p * LANES), load(x, q * LANES)
        share, _ = share_of_edge(total(row * p_point), total(row * q_point))
        middle = middle + along(p_point, q_point - p_point, share)
        middle_used |= bits[p, 0] & bits[q, 0]
    upper, upper_used = middle, middle_used
    for i in range(n_above):
        v = arena.upper[i]
        upper = upper + load(x, v * LANES)
        upper_used |= bits[v, 0]
        is_simple &= count_bits(bits[v, 0]) == d
    lower_used |= middle_used
    if with_facets and not is_simple:  # not every hyperplane that touches a half need be a facet of it
        return ORDINARY_CUT

    shift, scale = load(program.shift, 0), load(program.scale, 0)
    lower = placed((lower + middle) / float(n_below + crossings), shift, scale)
    upper = placed(upper / float(n_above + crossings), shift, scale)
    stack.slot[slot].side = -1
    store(arena.point, 0, lower)
    if not is_inside(stack, rows, arena.point, ZERO, lower_used, LANES):
        return ORDINARY_CUT
    stack.slot[slot].side = 1
    store(arena.point, 0, upper)
    if not is_inside(stack, rows, arena.point, ZERO, upper_used, LANES):
        return ORDINARY_CUT
    b = rows.hyperplane[place].break_number
    first = frame[f].next
    for side in range(first, first + wanted):
        stack.slot[slot].side = 2 * side - 1
        rows.sign[b] = 2 * side - 1
        store(arena.point, 0, lower if side == 0 else upper)
        if with_facets:
            used = lower_used if side == 0 else upper_used
            write_facets(program, control, stack, rows, results, ZERO, used)
        write_region(program, control, rows, results, arena.point)
    control.work += 8 + n
    results.counts[stage] += wanted
    if first + wanted < frame[f].end:
        frame[f].phase = phases.HALVED
        frame[f].unit = unit
        frame[f].next = first + wanted
        return endings.FINISHED
    pop(state, f)
    return endings.FINISHED
