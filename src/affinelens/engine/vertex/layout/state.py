"""The state of one walk: a stack of frames, an arena of vertices, the functions on the path, and what was found.

All of it is plain arrays, so that a walk can be stopped at any moment, gone on with and grown. A frame is a cell
that is being cut; its vertices are numbers into the arena, listed in ``ids``. Arena and ids grow on the way down and
shrink on the way back up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats, Indices, Words
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.records import Records
from affinelens.engine.vertex.layout.stack_records import Counters, Frame, Hyperplane, Level, Request, Slot, Step, Sum
from affinelens.kernels.aligned import aligned, doubled, resized

# What becomes longer when a walk needs more room: a part of the state, and its tables.
_GROWN = {
    endings.GROW_ARENA: ("arena", ("x", "off", "bits", "whole", "is_known")),
    endings.GROW_IDS: ("arena", ("ids", "upper", "level", "lower_bits", "edge_upper", "edge_lower")),
    endings.GROW_FRAMES: ("stack", ("frame", "cutting", "used", "sums")),
}


class Arena(NamedTuple):
    """Vertices: coordinates and how far they may be off; bits for the slots of the hyperplanes they lie on, for the
    stage's cutting hyperplanes that they lie above, and for those they lie below; exact integer coordinates, if known.
    """

    x: Floats
    off: Floats
    bits: Words
    whole: Indices
    # whether the coordinates are as good as float64 ones can be
    is_known: NDArray[np.bool_]
    ids: NDArray[np.uint32]
    # scratch, for sorting a cell's vertices by the side of a hyperplane and listing the edges that it cuts
    upper: NDArray[np.uint32]
    level: NDArray[np.uint32]
    lower_bits: Words
    edge_upper: NDArray[np.uint32]
    edge_lower: NDArray[np.uint32]
    # scratch, for computing a vertex again
    normal: Floats
    inverse: Floats
    identity: Floats
    coordinates: Floats
    point: Floats
    residual: Floats
    places: Indices
    solving: Indices


class Stack(NamedTuple):
    """Frames, the hyperplanes that cut their cell and the slots its vertices use, and the sums of all stages; the
    slots; and the selected regions in an order in which those that lie in a frame's cell come first."""

    frame: Records[Frame]
    cutting: Words
    used: Words
    sums: Records[Sum]
    slot: Records[Slot]
    selected: Indices


class Rows(NamedTuple):
    """Hyperplanes by place: the domain's, then for each stage those that cut the cell on which it was opened, then the
    sides of the unit cube. ``row`` has their coefficients, padded with zeros, and ``whole`` those of them that are
    integers. ``block`` has the domain's and each stage's again, in lanes: a block of d + 3 rows, which are the
    coefficients, the constant, ``row_base`` and ``row_size``. Also what is known of all breaks on the path: place (or
    -1), sign, and groups' winners."""

    row: Floats
    whole: Indices
    hyperplane: Records[Hyperplane]
    block: Floats
    place: Indices
    sign: NDArray[np.int8]
    winner: Indices


class HyperplaneColumns(NamedTuple):
    """Of all hyperplanes on the path, in lanes: how far their coefficients, added up, and their constant may be off;
    the sum of their coefficients' sizes, and how far their values may be; and what those who pass them add to the
    squared errors of later sums."""

    error: Floats
    constant_error: Floats
    row_size: Floats
    row_base: Floats
    square: Floats
    constant_square: Floats


class UnitColumns(NamedTuple):
    """Of all pre-activations on the path: how far their coefficients, added up, and their constant may be off."""

    error: Floats
    constant_error: Floats


class Functions(NamedTuple):
    """Functions of the stages on the path, coefficient by coefficient.

    ``levels`` has first those hyperplanes that are not just a unit's zero, then for each stage a stack of sums in the
    making, of which ``level`` says the start and the room. Also the errors of hyperplanes and of pre-activations.
    """

    levels: Floats
    level: Records[Level]
    hyperplane: HyperplaneColumns
    unit: UnitColumns
    # scratch
    passed: NDArray[np.uint32]
    shares: Floats


class Results(NamedTuple):
    """Regions found: their columns. ``ends`` says where a region's facets and vertices end."""

    counts: Indices
    patterns: NDArray[Any]
    points: Floats
    ends: Indices
    facets: Indices
    vertices: Floats
    vertex_tight: Words


class State(NamedTuple):
    """Everything that changes during a walk."""

    control: Counters
    arena: Arena
    stack: Stack
    rows: Rows
    functions: Functions
    results: Results
    requests: Records[Request]
    # the way to where a job stands
    guide: Records[Step]

    def grown(self, status: int) -> State:
        """The same walk with more room where it ran out."""
        if status in _GROWN:
            part, names = _GROWN[status]
            tables = getattr(self, part)
            longer = tables._replace(**{name: doubled(getattr(tables, name)) for name in names})
            return self._replace(**{part: longer})
        if status == endings.GROW_REQUESTS:
            return self._replace(requests=doubled(self.requests))
        return self._with_more_slots() if status == endings.GROW_SLOTS else self._with_more_levels()

    def _with_more_slots(self) -> State:
        words, facets = self.stack.used.shape[1], self.results.facets

        def widened(table: Words) -> Words:
            return np.insert(table, words, 0, axis=1)

        slot: Records[Slot] = resized(self.stack.slot, len(self.stack.slot) + 64)
        return self._replace(
            arena=self.arena._replace(bits=widened(self.arena.bits)),
            stack=self.stack._replace(used=widened(self.stack.used), slot=slot),
            results=self.results._replace(
                vertex_tight=widened(self.results.vertex_tight),
                facets=resized(facets, len(facets) + 64 if len(facets) else 0),
            ),
        )

    def _with_more_levels(self) -> State:
        level: Records[Level] = resized(self.functions.level, len(self.functions.level))
        starts = self.functions.level["start"]
        sizes = np.diff(starts)
        moved = starts[0] + np.concatenate([[0], np.cumsum(2 * sizes)])
        levels = aligned((int(moved[-1]),))
        levels[: starts[0]] = self.functions.levels[: starts[0]]
        for stage, size in enumerate(sizes.tolist()):
            levels[moved[stage] : moved[stage] + size] = self.functions.levels[starts[stage] :][:size]
        level["start"], level["capacity"] = moved, 2 * level["capacity"]
        return self._replace(functions=self.functions._replace(levels=levels, level=level))

    def tight(self, vertices: NDArray[np.integer[Any]]) -> Words:
        """Bits for the slots of the hyperplanes that vertices lie on."""
        return self.arena.bits[vertices, : self.stack.used.shape[1]]


def room_for_results(compiled: Compiled, results: int, words: int, facets: bool, vertices: bool) -> Results:
    """Room for a number of regions."""
    program = compiled.program
    d, corners = program.dim, 2**program.dim
    choices = int(program.stage[-1].choice_offset) if program.stages else 0
    return Results(
        counts=np.zeros(max(program.stages, 1), dtype=np.int64),
        patterns=np.zeros((results, choices), dtype=compiled.pattern_type),
        points=np.zeros((results, d)),
        ends=np.zeros((results, 2), dtype=np.int64),
        facets=np.zeros((4 * d * results + 64 * words if facets else 0, 3), dtype=np.int64),
        vertices=np.zeros((corners * results + 64 if vertices else 0, d)),
        vertex_tight=np.zeros((corners * results + 64 if vertices else 0, words), dtype=np.uint64),
    )
