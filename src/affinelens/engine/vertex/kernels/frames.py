"""The stack of frames in kernels: one is added above another, and taken away again."""

from __future__ import annotations

from typing import Any

from affinelens.kernels.bits import NONE, lowest_bit
from affinelens.kernels.compilation import inlined
from affinelens.engine.vertex.layout.state import (
    ARENA_TOP, ARENA_USED, DEPTH, END, IDS_TOP, IDS_USED, KIND, LIVE, NEXT, OLD_PLACE, OLD_SIDE, PHASE, PLACE, SIDE,
    SELECTED, SLOT, STAGE, Stack,
)  # fmt: skip


@inlined
def pop(control: Any, stack: Stack, f: int) -> None:
    """Take frame f, the topmost, away; slots mean again what they meant before it."""
    frame = stack.frame
    slot = frame[f, SLOT]
    if slot >= 0:
        stack.slot[slot, PLACE] = frame[f, OLD_PLACE]
        stack.slot[slot, SIDE] = frame[f, OLD_SIDE]
    control[ARENA_USED] = frame[f, ARENA_TOP]
    control[IDS_USED] = frame[f, IDS_TOP]
    control[DEPTH] = f


@inlined
def push(control: Any, frame: Any, f: int, stage: int, phase: int, kind: int) -> None:
    """Add a frame above frame f; its cell, cutting bits and sums are set by the caller."""
    g = f + 1
    frame[g, STAGE] = stage
    frame[g, PHASE] = phase
    frame[g, KIND] = kind
    frame[g, NEXT] = 0
    frame[g, END] = 0
    frame[g, SLOT] = -1
    frame[g, LIVE] = frame[f, LIVE]
    frame[g, SELECTED] = frame[f, SELECTED]
    frame[g, ARENA_TOP] = control[ARENA_USED]
    frame[g, IDS_TOP] = control[IDS_USED]
    control[DEPTH] = g + 1


@inlined
def take_slot(stack: Stack, f: int, place: int) -> int:
    """Let the slot that frame f has, or a free one, stand for a hyperplane; returns it, or -1 if none is free."""
    frame, used = stack.frame, stack.used
    slot = frame[f, SLOT]
    if slot < 0:
        for w in range(used.shape[1]):
            if ~used[f, w] != NONE:
                slot = 64 * w + lowest_bit(~used[f, w])
                break
        if slot < 0:
            return -1
        frame[f, SLOT] = slot
        frame[f, OLD_PLACE] = stack.slot[slot, PLACE]
        frame[f, OLD_SIDE] = stack.slot[slot, SIDE]
    stack.slot[slot, PLACE] = place
    return slot
