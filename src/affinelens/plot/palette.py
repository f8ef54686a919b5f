"""Colors that color-blind readers can tell apart (after Paul Tol's schemes), and colors for neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba_array

from affinelens.array_types import Floats, Indices
from affinelens.regions import neighbor_values

if TYPE_CHECKING:
    from affinelens.regions import Regions

FILLS = ("#77aadd", "#eedd88", "#ee8866", "#44bb99", "#ffaabb", "#bbcc33", "#99ddff", "#cfc3e6")
CLASSES = (
    "#4477aa", "#ee6677", "#ccbb44", "#228833", "#aa3377", "#66ccee", "#999933", "#882255", "#44aa99", "#bbbbbb",
)  # fmt: skip
STAGES = ("#332288", "#cc3311", "#009988", "#ee7733", "#0077bb", "#aa4499", "#555555")
NUMBERS = "viridis"
INK = "#222222"
PAPER = "#f4f2ec"
# How much darker the colors are each time a list of them is used up.
_DARKER = 0.75


def colors_of(indices: Indices, colors: Sequence[str]) -> Floats:
    """The color of each index, as RGBA; beyond the end of the list it starts again, darker."""
    indices = np.asarray(indices, dtype=np.int64)
    result = to_rgba_array(list(colors))[indices % len(colors)]
    result[:, :3] *= (_DARKER ** (indices // len(colors)))[:, None]
    return result


def neighbor_colors(regions: Regions) -> Indices:
    """A color number a region, different from that of every neighbor."""
    owner = np.repeat(np.arange(len(regions)), np.diff(regions.facet_offsets))
    return distinct_colors(owner, neighbor_values(regions), len(regions))


def distinct_colors(one: Indices, other: Indices, count: int) -> Indices:
    """Color numbers for things 0 .. count - 1 so that no pair ``one[i], other[i]`` has the same; -1 is nothing.

    Things are colored in smallest-last order, for which six colors are enough in the plane. Of the colors that are
    free the one that is least used around is taken, so that like colors do not meet at corners either if that can be
    helped.
    """
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True):
        if b >= 0 and a != b:
            near[a].add(b)
            near[b].add(a)
    chosen = [-1] * count
    for thing in reversed(_smallest_last(near)):
        taken = {chosen[b] for b in near[thing]}
        around = [0] * len(FILLS)
        for b in near[thing]:
            for c in near[b]:
                if 0 <= chosen[c] < len(FILLS):
                    around[chosen[c]] += 1
        first = thing % len(FILLS)
        free = [k for k in (*range(first, len(FILLS)), *range(first)) if k not in taken]
        chosen[thing] = min(free, key=around.__getitem__) if free else max(taken) + 1
    return np.array(chosen, dtype=np.int64)


def _smallest_last(near: list[set[int]]) -> list[int]:
    """All things, each time one that has the fewest neighbors among those that are left."""
    degree = [len(others) for others in near]
    waiting: list[list[int]] = [[] for _ in range(max(degree, default=0) + 1)]
    for thing, size in enumerate(degree):
        waiting[size].append(thing)
    order: list[int] = []
    done = [False] * len(near)
    lowest = 0
    while len(order) < len(near):
        while not waiting[lowest]:
            lowest += 1
        thing = waiting[lowest].pop()
        if done[thing] or degree[thing] != lowest:
            continue
        done[thing] = True
        order.append(thing)
        for b in near[thing]:
            if not done[b]:
                degree[b] -= 1
                waiting[degree[b]].append(b)
        lowest = max(lowest - 1, 0)
    return order
