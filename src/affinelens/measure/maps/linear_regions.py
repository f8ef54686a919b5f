"""Linear regions: maximal connected unions of regions with the same affine map.

Maps are compared exactly, and in rational arithmetic only where it is needed. Those that float64 proves to be different
are told apart first, by their values at a few points; those whose units on flat pieces hide all that differs between
their patterns are the same without looking; what is left is computed in rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, gamma, upward
from affinelens.array_types import Floats, Indices, Patterns
from affinelens.blocks import blocks
from affinelens.measure.maps.affine_maps import AffineMaps, affine_maps
from affinelens.measure.topology.adjacency import adjacency
from affinelens.network import Network
from affinelens.progress import doing
from affinelens.regions import Regions, exact_functions, kept
from affinelens.short_text import counted

# Different maps differ at a random point almost surely; more points help where values are close there.
_PROBES = 4


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """Region i is a part of linear region ``labels[i]`` and has affine map number ``maps[i]``; both count from 0.

    Two linear regions that do not touch may have the same map. In an incomplete set they are made of the regions that
    were found.
    """

    labels: Indices
    maps: Indices

    def __len__(self) -> int:
        """The number of linear regions."""
        return _count(self.labels)

    @property
    def distinct_maps(self) -> int:
        """The number of different affine maps."""
        return _count(self.maps)

    @property
    def sizes(self) -> Indices:
        """How many regions each linear region is made of."""
        return np.bincount(self.labels)

    def __repr__(self) -> str:
        regions, maps = counted(len(self.labels), "region"), counted(self.distinct_maps, "affine map")
        return f"LinearRegions({len(self):,} of {regions}, {maps})"


@kept
def linear_regions(regions: Regions) -> LinearRegions:
    """Which regions make up a linear region together."""
    with doing("comparing affine maps"):
        maps = equal_maps(regions)
    neighbors = adjacency(regions)
    joins = maps[neighbors.regions] == maps[neighbors.neighbors]
    return LinearRegions(neighbors.components(joins), maps)


def equal_maps(regions: Regions) -> Indices:
    """Numbers from 0 that are the same for regions with the same affine map on the domain."""
    groups = _not_told_apart(regions)
    shared = np.flatnonzero(np.bincount(groups)[groups] > 1)
    exact = _ExactMaps(regions)
    keys = exact.keys(shared)
    number = np.zeros(len(groups), dtype=np.int64)
    number[shared] = keys
    return np.unique(np.stack([groups, number], axis=1), axis=0, return_inverse=True)[1].ravel().astype(np.int64)


@np.errstate(over="ignore", invalid="ignore")
def _not_told_apart(regions: Regions) -> Indices:
    """Numbers that differ only where two maps are proved to be different.

    A combination of the outputs at a point has an error of at most e, so of two maps that are the same it differs by
    at most 2 e; sorted by it, what lies further apart than that is different.
    """
    maps, frame = affine_maps(regions), regions.domain.frame
    generator = np.random.default_rng(0)
    groups = np.zeros(len(maps), dtype=np.int64)
    for _ in range(_PROBES):
        point = generator.uniform(frame.lower, frame.upper)
        weights = generator.choice([-1.0, 1.0], maps.constants.shape[1]) if maps.constants.shape[1] else np.zeros(0)
        values, error = _probed(maps, point, weights)
        order = np.lexsort((values, groups))
        apart = (np.diff(values[order]) > 2 * error) | (np.diff(groups[order]) > 0)
        groups[order] = np.concatenate([[0], np.cumsum(apart)])[: len(order)]
    return groups


def _probed(maps: AffineMaps, point: Floats, weights: Floats) -> tuple[Floats, float]:
    """A combination of each region's outputs at a point, weights being 1 or -1, and how far that may be off."""
    outputs, dim = maps.slopes.shape[1:]
    values = (maps.slopes @ point + maps.constants) @ weights
    size = (np.abs(maps.slopes) @ np.abs(point) + np.abs(maps.constants)).sum(axis=1).max(initial=0.0)
    rounding = gamma(dim + outputs + 2) * size
    error = float(upward(np.float64(maps.error.sum() + 2 * rounding)))
    return values, error if np.isfinite(values).all() else np.inf


class _ExactMaps:
    """Affine maps in rational arithmetic, each computed once for all regions of which it is surely the same."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._numbers: dict[tuple[Any, ...], int] = {}

    def keys(self, indices: Indices) -> Indices:
        """Numbers that are the same for regions with the same map, and only for those."""
        network = self._regions.network
        widest = max([network.input_size, *(stage.linear.size for stage in network.stages)])
        known: dict[bytes, int] = {}
        found = np.zeros(len(indices), dtype=np.int64)
        for some in blocks(len(indices), widest):
            patterns = self._regions.outcome.pattern(indices[some])
            masked = _without_hidden(network, patterns)
            for place, (mask, pattern) in enumerate(zip(masked, patterns, strict=True), some.start):
                key = mask.tobytes()
                if key not in known:
                    known[key] = self._number(pattern)
                found[place] = known[key]
        return found

    def _number(self, pattern: Patterns) -> int:
        key = _reduced(exact_functions(self._regions).outputs(pattern))
        return self._numbers.setdefault(key, len(self._numbers))


def _reduced(matrix: ExactMatrix) -> tuple[Any, ...]:
    """A key that equal matrices share, whatever their denominators are."""
    numerators = [int(n) for n in matrix.numerators.entries()]
    common = gcd(int(matrix.denominator), *numerators)
    return (int(matrix.denominator) // common, *(n // common for n in numerators))


def _without_hidden(network: Network, patterns: Patterns) -> Patterns:
    """The patterns, a row each, with the first piece for all choices that the outputs do not depend on.

    A unit's value reaches the outputs only through weights that are not zero and units that are not on a flat piece.
    """
    masked = patterns.copy()
    reached: list[NDArray[np.bool_] | None] = [None] * (len(network.stages) + 1)
    network.output.mark_sources(np.ones((network.output_size, len(patterns)), dtype=bool), reached)
    for index in range(len(network.stages) - 1, -1, -1):
        activation = network.stages[index].activation
        part = slice(network.choice_offsets[index], network.choice_offsets[index + 1])
        matters = reached[index + 1]
        if matters is None:
            masked[:, part] = 0
            continue
        masked[:, part][~matters.T] = 0
        chosen = patterns[:, part].T.astype(np.int64)
        lines = activation.lines(chosen)
        behind = lines.given_back(matters & (lines.slopes != 0.0), activation.size_in)
        network.stages[index].linear.mark_sources(behind, reached)
    return masked


def _count(labels: Indices) -> int:
    return int(labels.max(initial=-1)) + 1
