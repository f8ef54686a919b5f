"""What a stopped walk has left: the children still to come of its open frames, and how much of the domain they are."""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.layout import phases
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.stack_records import Frame
from affinelens.engine.vertex.layout.state import State
from affinelens.engine.vertex.polytope_vertices import domain_cell
from affinelens.convex.volume import cell_volumes


def single_child(state: State, f: int, child: int) -> State:
    """A copy of the walk that has only one child of frame f left to do; some frame is above f."""
    copy = state.copied()
    frame = copy.stack.frame
    _stand_at(copy, f, frame[f + 1].arena_top, frame[f + 1].ids_top)
    frame[f].next, frame[f].end = child, child + 1
    return copy


def half_of_section(state: State, f: int) -> State | None:
    """Take the later half of the hyperplanes that a section has still to be restricted to, or None if there are few."""
    frame = state.stack.frame
    start = frame[f].unit + 1 if frame[f].phase == phases.CONCLUDING else frame[f].next
    words = state.stack.cutting[f, : frame[f].live].tolist()
    left = [u for u in range(int(start), min(int(frame[f].end), 64 * len(words))) if words[u // 64] >> (u % 64) & 1]
    if len(left) < 2:
        return None
    middle = left[len(left) // 2]
    copy = state.copied()
    cell = copy.stack.frame[f]
    _stand_at(copy, f, cell.fresh, cell.split)
    cell.next, cell.phase = middle, phases.OPEN
    frame[f].end = middle
    return copy


def _stand_at(state: State, f: int, arena_used: int, ids_used: int) -> None:
    """Make frame f the topmost, and the only one that has children to come; slots mean what they mean there."""
    frame, slot = state.stack.frame, state.stack.slot
    for g in range(int(state.control.depth) - 1, f, -1):
        if frame[g].slot >= 0:
            slot[frame[g].slot].place = frame[g].old_place
            slot[frame[g].slot].side = frame[g].old_side
    control = state.control
    control.depth, control.arena_used, control.ids_used = f + 1, arena_used, ids_used
    frame["next"][:f] = frame["end"][:f]


def pending_share(compiled: Compiled, state: State) -> float:
    """An upper bound on the share of the domain's volume that a stopped walk has not been through.

    It is exact unless the walk stopped among the candidates of a group, or while counting a cell of the last stage:
    then their whole cell is taken as not done.
    """
    depth = int(state.control.depth)
    frame = state.stack.frame
    pending = 0.0
    for f in range(depth):
        left = range(int(frame[f].next), int(frame[f].end))
        whole = frame[f].phase != phases.BRANCHING and (frame[f].phase != phases.SPLIT_BY_GROUP or left)
        if whole:
            pending += _volume(state, int(frame[f].ids), int(frame[f].count))
            break
        for child in left:
            begin, end = _child_ids(frame[f], child)
            pending += _volume(state, begin, end - begin)
    return pending / _domain_volume(compiled) if pending else 0.0


def _child_ids(cell: Frame, child: int) -> tuple[int, int]:
    """Where the ids of a cut cell's part are: [below | on the hyperplane | above]."""
    begin = cell.split
    middle = begin + cell.below
    end = middle + cell.fresh_count
    return (begin, end) if child == 0 else (middle, end + cell.above)


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
