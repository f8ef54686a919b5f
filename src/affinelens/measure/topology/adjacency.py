"""Which regions share a facet, and which hyperplane lies between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Indices
from affinelens.errors import MissingExtraError
from affinelens.regions import Regions, kept, neighbor_values
from affinelens.short_text import counted

if TYPE_CHECKING:
    import networkx
    import scipy.sparse

EXTRA = "graph"


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A sparse symmetric matrix, a row a region: compressed rows, each in the order of the region's facets.

    Region i shares a facet with each of ``neighbors[offsets[i]:offsets[i + 1]]``, and ``hyperplanes`` there says which
    hyperplane the facet lies in, by the number that :meth:`RegionSet.describe_hyperplane` takes. Of several that
    coincide it is the one that region i's facet is named after.
    """

    offsets: Indices
    neighbors: Indices
    hyperplanes: Indices

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Adjacency({counted(len(self), 'region')}, {counted(len(self.neighbors) // 2, 'pair')} of neighbors)"

    def __getitem__(self, index: int) -> Indices:
        """The neighbors of one region."""
        return self.neighbors[self.offsets[index] : self.offsets[index + 1]]

    @property
    def regions(self) -> Indices:
        """The region whose row each entry is in."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def degrees(self) -> Indices:
        """How many neighbors each region has."""
        return np.diff(self.offsets)

    @property
    def pairs(self) -> Indices:
        """Every pair of neighbors once, the smaller index first: two columns."""
        regions = self.regions
        once = regions < self.neighbors
        return np.stack([regions[once], self.neighbors[once]], axis=1)

    def components(self, joins: NDArray[np.bool_] | None = None) -> Indices:
        """Numbers from 0 that are the same for regions connected by entries that join; all do unless told otherwise."""
        used = slice(None) if joins is None else joins
        return connected(len(self), self.regions[used], self.neighbors[used])

    def to_scipy(self) -> scipy.sparse.csr_array[Any, tuple[int, int]]:
        """A ``csr_array`` of hyperplane numbers; those between regions are never 0."""
        try:
            import scipy.sparse
        except ImportError:
            raise MissingExtraError.for_extra("scipy", EXTRA, "to_scipy()") from None
        return scipy.sparse.csr_array((self.hyperplanes, self.neighbors, self.offsets), shape=(len(self), len(self)))


@kept
def adjacency(regions: Regions) -> Adjacency:
    """The neighbors of every region."""
    beyond = neighbor_values(regions)
    inner = beyond >= 0
    before = np.concatenate([[0], np.cumsum(inner)])
    return Adjacency(before[regions.facet_offsets], beyond[inner], regions.facet_values[inner])


def connected(count: int, first: Indices, second: Indices) -> Indices:
    """Numbers from 0, in order of appearance, that are the same for things connected by pairs.

    Each looks for the smallest number among those it is paired with, and what it points to is followed to the end.
    """
    label = np.arange(count)
    while True:
        lower = np.minimum(label[first], label[second])
        previous = label.copy()
        for ends in (first, second):
            np.minimum.at(label, previous[ends], lower)
        while True:
            followed = label[label]
            if np.array_equal(followed, label):
                break
            label = followed
        if np.array_equal(label, previous):
            return np.unique(label, return_inverse=True)[1].astype(np.int64)


def to_networkx(regions: Regions) -> networkx.Graph[int]:
    """A graph with a node a region and an edge a shared facet."""
    try:
        import networkx
    except ImportError:
        raise MissingExtraError.for_extra("networkx", EXTRA, "to_networkx()") from None
    found = adjacency(regions)
    own = regions.domain.has_own_coordinates
    points = (regions.local.points if own else regions.points).tolist()
    facets = np.diff(regions.facet_offsets)
    borders = np.concatenate([[0], np.cumsum(regions.hyperplanes.of_domain(regions.facet_values))])
    on_border = np.diff(borders[regions.facet_offsets]) > 0
    graph: networkx.Graph[int] = networkx.Graph()
    for index, (point, count, border) in enumerate(zip(points, facets.tolist(), on_border.tolist(), strict=True)):
        graph.add_node(index, point=tuple(point), facets=count, on_border=border)
    once = found.regions < found.neighbors
    named = {number: regions.describe_hyperplane(number) for number in np.unique(found.hyperplanes).tolist()}
    for i, j, number in zip(
        found.regions[once].tolist(), found.neighbors[once].tolist(), found.hyperplanes[once].tolist(), strict=True
    ):
        graph.add_edge(i, j, hyperplane=number, unit=named[number])
    return graph
