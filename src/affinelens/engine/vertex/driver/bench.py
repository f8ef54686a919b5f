"""One worker's place to walk: room for a walk that is used for one piece of work after another, and what was found."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats, Indices
from affinelens.engine.vertex.driver.open_work import OpenWork
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.way import FROM_THE_ROOT, Way
from affinelens.engine.vertex.exact.arbiter import Arbiter
from affinelens.engine.vertex.kernels.arrangement import walk
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.first_state import new_state, stand_at_root
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.state import State
from affinelens.errors import AffineLensError
from affinelens.kernels.aligned import doubled
from affinelens.walk import Columns, Facets, Place, Vertices

# Results that fill this much of their room are handed over as they are, with new room for the next; others are copied.
_WELL_FILLED = 0.75
# How much is open of a walk is looked at this often, but takes no more than this much of the time.
_LOOK_EVERY = 0.3
_LOOKING = 0.002


@dataclass
class Findings:
    """What was found, in numbers: regions, cells after each stage that switches, and signs: all, by integers, by
    rationals."""

    regions: int
    counts: Indices
    decided: Indices

    @classmethod
    def none(cls, stages: int) -> Findings:
        return cls(0, np.zeros(max(stages, 1), dtype=np.int64), np.zeros(3, dtype=np.int64))

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.regions + other.regions, self.counts + other.counts, self.decided + other.decided)


@dataclass(eq=False)
class Piece:
    """A piece of work that was taken up: where it begins, and how many chunks were handed over of it."""

    way: Way
    place: Place = field(init=False)
    chunks: int = 0

    def __post_init__(self) -> None:
        self.place = self.way.place


class Bench:
    """One worker's place to walk.

    Only its worker calls it, but for :meth:`hurry`, :meth:`first_open` and the numbers, which others look at.
    """

    def __init__(self, task: Task, compiled: Compiled, rows: int) -> None:
        request = task.request
        self._compiled = compiled
        self._restricted = task.restricted
        self._rows = rows
        self._wants = request
        self._arbiter = Arbiter(compiled)
        self._open = OpenWork(compiled)
        self._state: State = new_state(
            compiled, rows, facets=request.wants_facets, vertices=request.wants_vertices,
            count_only=not request.regions, sections=task.counts_sections,
        )  # fmt: skip
        self._state.control.depth = 0
        self._exact_points: dict[int, tuple[Fraction, ...]] = {}
        self._noted = 0
        self._look_at = 0.0
        self.piece = Piece(FROM_THE_ROOT)
        self.found = Findings.none(compiled.program.stages)
        # how much of the domain is open here, as when it was looked at last
        self.pending: float | None = 0.0
        # processor time in kernels and in passes over long arrays, for which the interpreter's lock is not held
        self.seconds_unlocked = 0.0

    # ------------------------------------------------------------------ work

    def take_up(self, way: Way) -> None:
        """Begin with a piece of work: the next steps go to where it is."""
        state = self._state
        stand_at_root(state, self._compiled)
        if state.control.depth > 0:
            while len(way.choices) > len(state.guide):
                state = self._state = state._replace(guide=doubled(state.guide))
            for name, column in zip(("taken", "next", "end"), zip(*way.choices, strict=True), strict=True):
                state.guide[name][: len(column)] = column
            state.control.guided = len(way.choices)
        self.piece, self.pending, self._noted = Piece(way), way.share, 0

    def walk(self, budget: int, room: int) -> int:
        """Walk on for a while, finding no more regions than there is room for; returns how that ended."""
        state = self._state
        state.control.room = state.control.emitted + room
        started = time.thread_time()
        status = walk(self._compiled.program, state, budget)
        self.seconds_unlocked += time.thread_time() - started
        state.control.hurried = 0
        if status == endings.UNDECIDED:
            self._arbiter.answer(state)
        elif endings.is_growth(status):
            self._state = state.grown(status)
        elif status == endings.ASTRAY or (state.control.guided > 0 and status in (endings.FULL, endings.NO_POINT)):
            raise AffineLensError("a piece of open work is not there: it is of another network or domain, or damaged")
        elif status == endings.NO_POINT:
            index = int(state.control.emitted) - 1
            exact = self._arbiter.interior_point(state, index)
            if exact is not None:
                self._exact_points[index] = exact
        self._note()
        return status

    def _note(self) -> None:
        """Add what was found since the last time."""
        state = self._state
        control, arbiter = state.control, self._arbiter
        if control.guided == 0:
            emitted = int(control.emitted)
            self.found.regions += emitted - self._noted
            self.found.counts += state.results.counts
            self.found.decided += [control.decided, control.by_integers, arbiter.decided]
            self._noted = emitted
            state.results.counts[:] = 0
        control.decided = control.by_integers = 0
        arbiter.decided = 0

    @property
    def has_arrived(self) -> bool:
        """Whether the walk stands where its work begins, or went on from there."""
        return bool(self._state.control.guided == 0)

    @property
    def rows_left(self) -> int:
        """How many regions there is room for before they must be handed over."""
        return self._rows - int(self._state.control.emitted)

    # ------------------------------------------------------------------ open work

    def remainder(self) -> Way | None:
        """What is left of the work, or None."""
        return self._open.remainder(self._state) if self.has_arrived else self.piece.way

    def give(self) -> Way | None:
        """Take away what would come last, or None if there is one thing left to do."""
        if not self.has_arrived:
            return None
        way = self._open.taken_from_the_end(self._state)
        if way is not None:
            self.pending = None if self.pending is None or way.share is None else self.pending - way.share
        return way

    def look(self) -> None:
        """See how much of the domain is open, if that was not looked at lately."""
        started = time.monotonic()
        if self.has_arrived and started >= self._look_at:
            self.pending = self._open.pending_share(self._state)
            ended = time.monotonic()
            self._look_at = ended + max(_LOOK_EVERY, (ended - started) / _LOOKING)

    def hurry(self) -> None:
        """Have the walk return soon."""
        self._state.control.hurried = 1

    def first_open(self) -> int:
        """The number of the first frame that has children to come: the lower it is, the more there tends to be."""
        control, frame = self._state.control, self._state.stack.frame
        depth = int(control.depth)
        is_open = frame["next"][:depth] < frame["end"][:depth]
        return int(is_open.argmax()) if self.has_arrived and is_open.any() else depth

    # ------------------------------------------------------------------ results

    def handed_over(self) -> Columns | None:
        """What was found and not handed over before, in the domain's own coordinates."""
        control, results = self._state.control, self._state.results
        n = int(control.emitted)
        if not n or not self._wants.regions or not self.has_arrived:
            return None
        started = time.thread_time()
        ends = np.concatenate([np.zeros((1, 2), dtype=np.int64), results.ends[:n]])
        shift, scale = self._compiled.shift, self._compiled.scale
        listed = results.facets[: control.facets_emitted]
        corners = int(control.vertices_emitted)
        is_full = n >= _WELL_FILLED * self._rows
        patterns, tight = results.patterns[:n], results.vertex_tight[:corners]
        points = results.points[:n] * scale
        points += shift
        if self._restricted is not None:
            patterns = self._restricted.pieces(patterns)
        elif not is_full:
            patterns = patterns.copy()
        columns = Columns(
            patterns,
            points,
            {i: _moved(point, shift, scale) for i, point in self._exact_points.items()},
            Facets(
                self._numbers(listed[:, 0]), listed[:, 1].astype(np.int8), ends[:, 0].copy(),
                listed[:, 2].astype(np.int32) if self._wants.wants_vertices else None,
            )
            if self._wants.wants_facets
            else None,
            Vertices(results.vertices[:corners] * scale + shift, tight if is_full else tight.copy(), ends[:, 1].copy())
            if self._wants.wants_vertices
            else None,
        )  # fmt: skip
        self.seconds_unlocked += time.thread_time() - started
        if is_full:
            self._make_room()
        self._exact_points = {}
        self._noted = 0
        control.emitted = control.facets_emitted = control.vertices_emitted = 0
        return columns

    def _make_room(self) -> None:
        """New room for those results that were handed over as they are."""
        results = self._state.results
        self._state = self._state._replace(
            results=results._replace(
                patterns=np.empty_like(results.patterns),
                vertex_tight=np.empty_like(results.vertex_tight),
            )
        )

    def _numbers(self, hyperplanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers that hyperplanes have in the domain and the whole network."""
        if self._restricted is None:
            return hyperplanes.copy()
        rows = self._compiled.program.domain_rows
        return np.concatenate([np.arange(rows), rows + self._restricted.breaks])[hyperplanes]


def _moved(point: tuple[Fraction, ...], shift: Floats, scale: Floats) -> tuple[Fraction, ...]:
    """A rational point in the domain's own coordinates."""
    numbers = zip(point, scale.tolist(), shift.tolist(), strict=True)
    return tuple(y * Fraction(s) + Fraction(c) for y, s, c in numbers)
