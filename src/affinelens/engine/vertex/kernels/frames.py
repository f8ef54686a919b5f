"""The stack of frames in kernels: one is added above another, and taken away again."""

from __future__ import annotations

from affinelens.kernels.intrinsics import index
from affinelens.engine.vertex.layout.state import Stack, State
from affinelens.kernels.bits import NONE, lowest_bit
from affinelens.kernels.compilation import inlined


@inlined
def pop(state: State, f: int) -> None:
    """Take frame f, the topmost, away; slots mean again what they meant before it."""
    control, stack = state.control, state.stack
    frame = stack.frame
    slot = frame[f].slot
    if slot >= 0:
        stack.slot[slot].place = frame[f].old_place
        stack.slot[slot].side = frame[f].old_side
    control.arena_used = frame[f].arena_top
    control.ids_used = frame[f].ids_top
    control.depth = f


@inlined
def push(state: State, f: int, stage: int, phase: int, kind: int) -> None:
    """Add a frame above frame f; its cell, cutting bits and sums are set by the caller."""
    control, stack = state.control, state.stack
    frame = stack.frame
    g = index(f + 1)
    frame[g].stage = stage
    frame[g].phase = phase
    frame[g].kind = kind
    frame[g].next = 0
    frame[g].end = 0
    frame[g].slot = -1
    frame[g].live = frame[f].live
    frame[g].selected = frame[f].selected
    frame[g].arena_top = control.arena_used
    frame[g].ids_top = control.ids_used
    control.depth = g + 1


@inlined
def take_slot(stack: Stack, f: int, place: int) -> int:
    """Let the slot that frame f has, or a free one, stand for a hyperplane; returns it, or -1 if none is free."""
    frame, used = stack.frame, stack.used
    slot = frame[f].slot
    if slot < 0:
        for w in range(used.shape[1]):
            if ~used[f, w] != NONE:
                slot = 64 * w + lowest_bit(~used[f, w])
                break
        if slot < 0:
            return -1
        frame[f].slot = slot
        frame[f].old_place = stack.slot[slot].place
        frame[f].old_side = stack.slot[slot].side
    stack.slot[slot].place = place
    return slot
