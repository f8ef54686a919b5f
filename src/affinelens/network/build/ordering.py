"""Sorting, by a network of comparators, and running maxima.

A comparator is one maximum; the smaller of two is their sum less the larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.nonlinear import group_maximum, maximum, negated
from affinelens.network.linear_map import Sparse

# Comparators of all rows together.
_MOST_COMPARATORS = 2**13
Comparator = tuple[int, int]


def ordered(builder: GraphBuilder, tensor: Tensor, axis: int, wanted: Sequence[int], name: str) -> Tensor:
    """Along an axis the entries of the wanted ranks, of which 0 is the largest's."""
    count = tensor.shape[axis]
    rounds = _needed(_sorting_rounds(count), wanted)
    total = sum(map(len, rounds)) * (tensor.size // max(count, 1))
    if total > _MOST_COMPARATORS:
        raise AffineLensError(
            f"sorting {count} entries along axis {axis} takes {total} comparisons, more than the {_MOST_COMPARATORS} "
            f"accepted"
        )
    for comparators in rounds:
        tensor = _compared(builder, tensor, axis, comparators, name)
    return builder.rearrange(tensor, np.take(tensor.positions, wanted, axis))


def running_maximum(builder: GraphBuilder, tensor: Tensor, axis: int, name: str) -> Tensor:
    """Along an axis the largest of every entry and those before it."""
    count = tensor.shape[axis]
    if tensor.size > _MOST_COMPARATORS:
        raise AffineLensError(
            f"running maxima of {tensor.size} entries take as many comparisons, more than the {_MOST_COMPARATORS} "
            f"accepted"
        )
    entries = [builder.rearrange(tensor, np.take(tensor.positions, [place], axis)) for place in range(count)]
    for place in range(1, count):
        entries[place] = maximum(builder, [entries[place - 1], entries[place]], name)
    return builder.concatenate(entries, axis) if entries else tensor


def running_minimum(builder: GraphBuilder, tensor: Tensor, axis: int, name: str) -> Tensor:
    return negated(builder, running_maximum(builder, negated(builder, tensor), axis, name))


def _compared(builder: GraphBuilder, tensor: Tensor, axis: int, comparators: Sequence[Comparator], name: str) -> Tensor:
    """Of each pair along the axis the larger in the first place and the smaller in the second."""
    places = np.moveaxis(tensor.positions, axis, 0)
    first, second = (places[[pair[side] for pair in comparators]].ravel() for side in (0, 1))
    larger = group_maximum(builder, tensor, np.stack([first, second], axis=1), (len(first),), name)
    everything = np.arange(tensor.size)
    kept = np.ones(tensor.size, dtype=np.int64)
    kept[first], kept[second] = 0, 2
    starts = np.cumsum([0, *kept])
    columns = np.repeat(everything, kept)
    columns[starts[second]] = first
    summed = builder.linear(tensor, Sparse(starts, columns, np.ones(len(columns)), tensor.size), tensor.shape)
    winners = np.full(tensor.size, -1)
    winners[first] = winners[second] = np.arange(len(first))
    signs = np.ones(tensor.size)
    signs[second] = -1.0
    placed = builder.scale(builder.rearrange(larger, winners), signs)
    return builder.add(summed, builder.reshape(placed, tensor.shape))


def _sorting_rounds(count: int) -> list[list[Comparator]]:
    """Batcher's merge exchange (Knuth, Algorithm 5.2.2M): the comparators of a round touch different places."""
    rounds = []
    highest = 1 << max((count - 1).bit_length() - 1, 0)
    step = highest if count > 1 else 0
    while step:
        reach, rest, distance = highest, 0, step
        while True:
            rounds.append([(place, place + distance) for place in range(count - distance) if place & step == rest])
            if reach == step:
                break
            distance, reach, rest = reach - step, reach // 2, step
        step //= 2
    return rounds


def _needed(rounds: Sequence[Sequence[Comparator]], wanted: Iterable[int]) -> list[list[Comparator]]:
    """The comparators that the wanted places depend on."""
    places = set(wanted)
    kept = []
    for comparators in reversed(rounds):
        used = [pair for pair in comparators if places.intersection(pair)]
        places.update(place for pair in used for place in pair)
        kept.append(used)
    return [used for used in reversed(kept) if used]
