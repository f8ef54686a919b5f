"""Keeping a walk to the cells in which selected regions lie.

A region lies in a cell if and only if it is on the cell's side of every hyperplane that the cell was cut by. So the
regions in a cell are shared out among its parts by one entry of their patterns a cut, and parts that get none are left.
"""

from __future__ import annotations


from affinelens.engine.vertex.layout import kinds
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.stack_records import Counters
from affinelens.engine.vertex.layout.state import Stack, State
from affinelens.kernels.compilation import inlined, kernel


@inlined
def select_side(program: Program, state: State, f: int, side: int) -> int:
    """Put first the regions that lie on one side of frame f's cut, 1 being above; returns how many."""
    control, stack, rows = state.control, state.stack, state.rows
    stage = stack.frame[f].stage
    if stage < 0 or stage >= program.selected_stages or stack.frame[f].kind == kinds.CLIPPED:
        return stack.frame[f].selected
    place = program.domain_rows + program.stage[stage].break_offset + stack.frame[f].unit
    b = rows.hyperplane[place].break_number
    choice = program.stage[stage].choice_offset + program.hyperplane[b].choice
    position = program.hyperplane[b].position
    if side == 0:
        return _put_first(program, control, stack, f, choice, 0, position)
    return _put_first(program, control, stack, f, choice, position + 1, 1 << 30)


@inlined
def select_winner(program: Program, state: State, f: int, candidate: int) -> int:
    """Put first the regions in frame f's cell in which a candidate wins its group; returns how many."""
    control, stack = state.control, state.stack
    if stack.frame[f].stage >= program.selected_stages:
        return stack.frame[f].selected
    return _put_first(program, control, stack, f, stack.frame[f].group, candidate, candidate)


@kernel
def _put_first(
    program: Program, control: Counters, stack: Stack, f: int, choice: int, lowest: int, highest: int
) -> int:
    """Put first those regions in frame f's cell that are on one of some pieces of a choice; returns how many."""
    order, found = stack.selected, 0
    for i in range(stack.frame[f].selected):
        region = order[i]
        if lowest <= program.selection[region, choice] <= highest:
            order[i] = order[found]
            order[found] = region
            found += 1
    control.work += stack.frame[f].selected >> 2
    return found
