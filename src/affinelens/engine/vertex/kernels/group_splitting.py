"""Stages of groups: a cell is shared out among a group's candidates, each of which is cut against its rivals."""

from __future__ import annotations

import numpy as np

from affinelens.kernels.intrinsics import index
from affinelens.engine.vertex.kernels.frames import pop, push
from affinelens.engine.vertex.kernels.selected_cells import select_winner
from affinelens.engine.vertex.kernels.sums import inherit_sums
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Rows, Stack, State
from affinelens.kernels.bits import ONE
from affinelens.kernels.compilation import kernel

# That its group's winner be noted; nothing right now.
WON = -2
CHOSEN = -3


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
def next_candidate(program: Program, state: State, f: int) -> int:
    """Push the part of a cell where the next member of a group wins."""
    stack = state.stack
    frame = stack.frame
    candidate = frame[f].next
    if candidate >= frame[f].end:
        pop(state, f)
        return endings.FINISHED
    g = index(f + 1)
    if g >= len(frame):
        return endings.GROW_FRAMES
    frame[f].taken = candidate
    frame[f].next += 1
    selected = select_winner(program, state, f, candidate)
    if selected == 0:
        return endings.FINISHED
    push(state, f, frame[f].stage, phases.OPEN, kinds.CLIPPED)
    frame[g].selected = selected
    frame[g].ids = frame[f].ids
    frame[g].count = frame[f].count
    frame[g].group = frame[f].group
    frame[g].winner = candidate
    for w in range(frame[f].live):
        stack.cutting[g, w] = stack.cutting[f, w]
    for w in range(stack.used.shape[1]):
        stack.used[g, w] = stack.used[f, w]
    inherit_sums(program, stack, f, g)
    return endings.FINISHED


@kernel
def _cuts(program: Program, stack: Stack, rows: Rows, f: int, stage: int, b: int) -> int:
    """The number among the stage's candidates of a break that cuts frame f's cell, or -1."""
    place = rows.place[b]
    if place < 0:
        return -1
    unit = place - program.domain_rows - program.stage[stage].break_offset
    if stack.cutting[f, unit >> 6] & (ONE << np.uint64(unit & 63)):
        return unit
    return -1


@kernel
def next_rival(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """The next hyperplane between a group's candidate and a rival, and the side on which the candidate wins."""
    frame = stack.frame
    stage, choice, candidate = frame[f].stage, frame[f].group, frame[f].winner
    size, table = program.group[choice].members, program.group[choice].pairs
    for rival in range(size):
        if rival == candidate:
            continue
        b = program.stage[stage].break_offset + program.pairs[table + candidate * size + rival]
        unit = _cuts(program, stack, rows, f, stage, b)
        if unit >= 0:
            frame[f].next = 1 if candidate < rival else 0
            frame[f].end = frame[f].next + 1
            return unit
        lost = rows.sign[b] < 0 if candidate < rival else rows.sign[b] >= 0
        if lost:
            frame[f].phase = phases.BRANCHING
            frame[f].next = 0
            frame[f].end = 0
            return CHOSEN
    return WON


@kernel
def win(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """A group's candidate has beaten all rivals on frame f's cell, which becomes an ordinary one."""
    frame = stack.frame
    stage, choice = frame[f].stage, frame[f].group
    size, table = program.group[choice].members, program.group[choice].pairs
    first = program.stage[stage].break_offset
    for a in range(size):
        for b in range(a + 1, size):
            unit = _cuts(program, stack, rows, f, stage, first + program.pairs[table + a * size + b])
            if unit >= 0:
                stack.cutting[f, unit >> 6] &= ~(ONE << np.uint64(unit & 63))
    frame[f].kind = kinds.ORDINARY
    return endings.FINISHED
