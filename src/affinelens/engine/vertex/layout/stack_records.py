"""What a walk knows at one moment: the frames of its stack, the sums and slots they use, and its own counters.

A frame is a cell that is being cut. Its vertices are ``ids[ids : ids + count]`` in the arena. Once it is cut, those of
its parts are one list from ``split`` on: ``below`` of them, then ``fresh_count`` on the hyperplane, then ``above``.
"""

from __future__ import annotations


class Frame:
    """A cell that is being cut: where it stands, its vertices, its cut, and what to go back to when it is left."""

    stage: int
    phase: int
    kind: int
    # the hyperplane it is cut by, among those of its stage; the child that is walked, and those still to come
    unit: int
    taken: int
    next: int
    end: int
    # its vertices
    ids: int
    count: int
    # the vertices that the cut made, and those of both parts
    fresh: int
    fresh_count: int
    split: int
    below: int
    above: int
    # how much of the arena and its ids was used before it
    arena_top: int
    ids_top: int
    # the slot that its cut took, or -1, and what that stood for
    slot: int
    old_place: int
    old_side: int
    # the group whose candidates share it out, and the one of them that wins here
    group: int
    winner: int
    # of a section: its dimension
    dimension: int
    # how many words of its cutting hyperplanes are in use
    live: int
    # how many of the selected regions lie in it
    selected: int


class Sum:
    """A stage's functions as far as a frame has summed them up: where they are, and their squared errors."""

    level: int
    square: float
    constant_square: float


class Hyperplane:
    """The break that it is of, or -1; whether its coefficients are known as integers; how far its values may be off at
    an exactly known point, its size, the sum of its coefficients' sizes, and how far its constant may be off."""

    break_number: int
    is_whole: int
    row_base: float
    row_size: float
    constant_error: float


class Slot:
    """The hyperplane that a bit of vertices stands for, and the side of it on which the current cell lies."""

    place: int
    side: int


class Level:
    """Where the stack of a stage's sums begins, and how many it has room for."""

    start: int
    capacity: int


class Request:
    """A sign that is left to rational arithmetic: a hyperplane at a vertex, where its bit is, and the answer."""

    vertex: int
    place: int
    bit: int
    answer: int


class Step:
    """What a frame on the way to where a job stands is to do: the child to walk, and those that come after it.

    The topmost frame has none yet: there ``taken`` is -1, or -2 if one half of a last cut was written down already; and
    if it has nothing to choose from yet, ``next`` is -1.
    Of a section, children are named by the breaks they are restricted to.
    """

    taken: int
    next: int
    end: int


class Counters:
    """What a walk has used and found, and what it was asked for."""

    depth: int
    # how many frames of a job's way are to be stood on again before anything is found
    guided: int
    # whether somebody waits for the kernel to return
    hurried: int
    arena_used: int
    ids_used: int
    requests: int
    work: int
    # how many signs were found, how many of them by integers, and how many vertices were computed again
    decided: int
    by_integers: int
    refreshed: int
    # what is in the results, and how many regions may be
    emitted: int
    facets_emitted: int
    vertices_emitted: int
    room: int
    # the vertices of a region that float64 has found no point inside of
    point_ids: int
    point_count: int
    # what to write down
    facet_column: int
    vertex_column: int
    count_only: int
    sections: int
