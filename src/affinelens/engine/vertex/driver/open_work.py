"""What a walk has still to do: all of it, a part that can be given away, and how much of the domain that is."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from affinelens.array_types import Floats, Indices, Words
from affinelens.convex.volume import cell_volumes
from affinelens.engine.vertex.driver.way import (
    Choice, Way, choices_below, cutting_units, open_choices, range_of_breaks, together,
)  # fmt: skip
from affinelens.engine.vertex.layout import kinds, phases
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.stack_records import Frame
from affinelens.engine.vertex.layout.state import State
from affinelens.engine.vertex.polytope_vertices import domain_cell

_SHARED_OUT = (phases.BRANCHING, phases.SPLIT_BY_GROUP)
# Volumes take time in proportion to the number of vertices, and about four times as long for each dimension more: what
# is above this takes more than some tenths of a second.
_MOST_MEASURED = 2e8
# The vertices of one cell: where their ids begin, and how many there are.
_Cell = tuple[int, int]


class OpenWork:
    """Reads the open work of walks of one program.

    Shares are of the domain's volume. They are exact unless a walk is counting a cell of the last stage, of which it is
    estimated how much is counted, or stands among the candidates of a group, whose whole cell is taken as not done.
    """

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled

    def remainder(self, state: State) -> Way | None:
        """All that a walk has still to do; None if it is over."""
        choices = open_choices(self._compiled, state)
        return Way(tuple(choices), _at_most_all(self.pending_share(state))) if choices else None

    def taken_from_the_end(self, state: State) -> Way | None:
        """Take away what a walk would come to last, or None if it has one thing left to do.

        That is what its topmost open frame has still to do or, of a section, about half of the work.
        """
        frame, depth = state.stack.frame, int(state.control.depth)
        kind, phase = frame["kind"][:depth].tolist(), frame["phase"][:depth].tolist()
        following, end = frame["next"][:depth].tolist(), frame["end"][:depth].tolist()
        for f in range(depth):
            if kind[f] == kinds.SECTION:
                left = _units_left(state, f)
                is_waiting = f == depth - 1 and phase[f] == phases.OPEN
                middle = max(_middle(len(left), int(frame[f].dimension)), 1 if is_waiting else 0)
                if middle < len(left):
                    share = self._share_of_units(state, f, left[middle:])
                    first, last = range_of_breaks(self._compiled, state, f, left[middle:])
                    frame[f].end = left[middle]
                    return self._way(state, f, (-1, first, last), share)
            elif f < depth - 1 and phase[f] in _SHARED_OUT and following[f] < end[f]:
                share = self._share_of_cells(state, _children(frame[f]))
                frame[f].end = following[f]
                return self._way(state, f, (-1, following[f], end[f]), share)
        return None

    def _way(self, state: State, f: int, top: Choice, share: float | None) -> Way:
        below = ((taken, taken + 1, taken + 1) for taken, _, _ in choices_below(self._compiled, state, f))
        return Way((*below, top), _at_most_all(share))

    def pending_share(self, state: State) -> float | None:
        """How much of the domain a walk has not been through; None where that would take long to say."""
        frame = state.stack.frame
        cells: list[_Cell] = []
        for f in range(int(state.control.depth)):
            phase = int(frame[f].phase)
            if frame[f].kind == kinds.SECTION:
                of_units = self._share_of_units(state, f, _units_left(state, f))
                return together([self._share_of_cells(state, cells), of_units])
            if phase == phases.BRANCHING:
                cells += _children(frame[f])
            elif phase != phases.SPLIT_BY_GROUP or frame[f].next < frame[f].end:
                cells.append((int(frame[f].ids), int(frame[f].count)))
                break
        return self._share_of_cells(state, cells)

    def _share_of_units(self, state: State, f: int, units: list[int]) -> float | None:
        """About how much of the work of counting a cell it is to restrict it to some of its hyperplanes."""
        if not units:
            return 0.0
        frame, every = state.stack.frame[f], cutting_units(state, f)
        first, last = every.index(units[0]) / len(every), (every.index(units[-1]) + 1) / len(every)
        dimension = int(frame.dimension)
        part: float = last**dimension - first**dimension
        whole = self._share_of_cells(state, [(int(frame.ids), int(frame.count))])
        return None if whole is None else part * whole

    def _share_of_cells(self, state: State, cells: list[_Cell]) -> float | None:
        """How much of the domain some cells are, by volume."""
        if not cells:
            return 0.0
        ids = np.concatenate([state.arena.ids[start : start + count] for start, count in cells])
        points, tight = state.arena.x[ids, : self._compiled.program.dim], state.tight(ids)
        volume = volume_of_cells(points, np.cumsum([count for _, count in cells]), tight)
        return None if volume is None or self._domain_volume is None else volume / self._domain_volume

    @cached_property
    def _domain_volume(self) -> float | None:
        """Volume of the domain, in the kernels' coordinates."""
        if self._compiled.is_box:
            return float(np.prod(self._compiled.upper - self._compiled.lower))
        points, tight = domain_cell(self._compiled)
        return volume_of_cells(points, np.array([len(points)]), tight)


def volume_of_cells(points: Floats, ends: Indices, tight: Words) -> float | None:
    """The volume of some cells together; None where that would take long to say."""
    dim = points.shape[1]
    if len(points) * 4**dim > _MOST_MEASURED:
        return None
    return float(cell_volumes(np.ascontiguousarray(points), ends, np.ascontiguousarray(tight), dim).sum())


def _at_most_all(share: float | None) -> float | None:
    return None if share is None else min(1.0, share)


def _middle(count: int, dimension: int) -> int:
    """Where to divide hyperplanes of a section in two shares: the k-th is restricted to all before it."""
    return min(max(0, count - 1), round(count * 0.5 ** (1 / dimension)))


def _units_left(state: State, f: int) -> list[int]:
    """The hyperplanes that a section has still to be restricted to, but for the one it is being restricted to."""
    frame = state.stack.frame[f]
    start = frame.unit + 1 if frame.phase == phases.CONCLUDING else frame.next
    return [unit for unit in cutting_units(state, f) if start <= unit < frame.end]


def _children(cell: Frame) -> list[_Cell]:
    """Where the ids of those parts of a cell are that are still to come: [below | on the hyperplane | above]."""
    if cell.next >= cell.end:
        return []
    if cell.phase != phases.BRANCHING:
        return [(int(cell.ids), int(cell.count))]
    below, fresh, above = int(cell.below), int(cell.fresh_count), int(cell.above)
    parts = [(int(cell.split), below + fresh), (int(cell.split) + below, fresh + above)]
    return parts[int(cell.next) : int(cell.end)]
