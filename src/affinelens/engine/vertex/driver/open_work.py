"""What a stopped walk has left: the children still to come of its open frames, and how much of the domain they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.state import (
    ABOVE, ARENA_TOP, ARENA_USED, BELOW, BRANCHING, CONCLUDING, COUNT, DEPTH, END, FRESH, FRESH_COUNT,
    IDS, IDS_TOP, IDS_USED, LIVE, NEXT, OLD_PLACE, OLD_SIDE, OPEN, PHASE, PLACE, SIDE, SLOT, SPLIT,
    SPLIT_BY_GROUP, UNIT, State,
)  # fmt: skip
from affinelens.engine.vertex.polytope_vertices import domain_cell
from affinelens.convex.volume import cell_volumes


def single_child(state: State, f: int, child: int) -> State:
    """A copy of the walk that has only one child of frame f left to do; some frame is above f."""
    copy = state.copied()
    frame = copy.stack.frame
    _forget_above(copy, f)
    copy.control[[DEPTH, ARENA_USED, IDS_USED]] = f + 1, frame[f + 1, ARENA_TOP], frame[f + 1, IDS_TOP]
    frame[:f, NEXT] = frame[:f, END]
    frame[f, NEXT], frame[f, END] = child, child + 1
    return copy


def half_of_section(state: State, f: int) -> State | None:
    """Take the later half of the hyperplanes that a section has still to be restricted to, or None if there are few."""
    frame = state.stack.frame
    start = frame[f, UNIT] + 1 if frame[f, PHASE] == CONCLUDING else frame[f, NEXT]
    words = state.stack.cutting[f, : frame[f, LIVE]].tolist()
    left = [u for u in range(int(start), min(int(frame[f, END]), 64 * len(words))) if words[u // 64] >> (u % 64) & 1]
    if len(left) < 2:
        return None
    middle = left[len(left) // 2]
    copy = state.copied()
    _forget_above(copy, f)
    copy.control[[DEPTH, ARENA_USED, IDS_USED]] = f + 1, copy.stack.frame[f, FRESH], copy.stack.frame[f, SPLIT]
    copy.stack.frame[:f, NEXT] = copy.stack.frame[:f, END]
    copy.stack.frame[f, [NEXT, PHASE]] = middle, OPEN
    frame[f, END] = middle
    return copy


def _forget_above(state: State, f: int) -> None:
    """Give slots back the meaning they have at frame f."""
    frame, slot = state.stack.frame, state.stack.slot
    for g in range(int(state.control[DEPTH]) - 1, f, -1):
        if frame[g, SLOT] >= 0:
            slot[frame[g, SLOT], PLACE] = frame[g, OLD_PLACE]
            slot[frame[g, SLOT], SIDE] = frame[g, OLD_SIDE]


def pending_share(compiled: Compiled, state: State) -> float:
    """An upper bound on the share of the domain's volume that a stopped walk has not been through.

    It is exact unless the walk stopped among the candidates of a group, or while counting a cell of the last stage:
    then their whole cell is taken as not done.
    """
    depth = int(state.control[DEPTH])
    frame = state.stack.frame
    pending = 0.0
    for f in range(depth):
        left = range(int(frame[f, NEXT]), int(frame[f, END]))
        whole = frame[f, PHASE] != BRANCHING and (frame[f, PHASE] != SPLIT_BY_GROUP or left)
        if whole:
            pending += _volume(state, int(frame[f, IDS]), int(frame[f, COUNT]))
            break
        for child in left:
            begin, end = _child_ids(frame[f], child)
            pending += _volume(state, begin, end - begin)
    return pending / _domain_volume(compiled) if pending else 0.0


def _child_ids(frame: NDArray[np.int64], child: int) -> tuple[int, int]:
    """Where the ids of a cut cell's part are: [below | on the hyperplane | above]."""
    begin = int(frame[SPLIT])
    middle = begin + int(frame[BELOW])
    end = middle + int(frame[FRESH_COUNT])
    return (begin, end) if child == 0 else (middle, end + int(frame[ABOVE]))


def _volume(state: State, start: int, count: int) -> float:
    """Volume of the cell with the given ids."""
    ids, dim = state.arena.ids[start : start + count], state.results.points.shape[1]
    points = np.ascontiguousarray(state.arena.x[ids, :dim])
    tight = np.ascontiguousarray(state.tight(ids))
    return float(cell_volumes(points, np.array([count]), tight, dim)[0])


def _domain_volume(compiled: Compiled) -> float:
    """Volume of the domain, in the kernels' coordinates."""
    if compiled.is_box:
        return float(np.prod(compiled.upper - compiled.lower))
    points, tight = domain_cell(compiled)
    return float(cell_volumes(points, np.array([len(points)]), tight, compiled.program.dim)[0])
