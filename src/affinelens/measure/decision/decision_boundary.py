"""Where a network's decision changes: convex pieces of dimension d - 1, the facets between cells of two classes.

The cells of :mod:`affinelens.measure.decision.class_cells` meet facet to facet, since a network is continuous. So a
piece is counted once also where the boundary runs along a facet of two regions, and touching in less than a facet makes
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import ArrayLike

from affinelens.array_types import Floats, Indices
from affinelens.convex.volume import cell_volumes
from affinelens.errors import AffineLensError
from affinelens.measure.decision.boundary_distance import BoundaryDistance, Distance, Distances, isometry
from affinelens.measure.decision.class_cells import ClassCells, class_cells
from affinelens.measure.decision.decision_stage import Decision
from affinelens.measure.geometry.facet_vertices import facet_vertices, has_bit
from affinelens.measure.geometry.lengths import lengths
from affinelens.regions import Regions, all_vertices, exact_halfspaces, given_points, kept, neighbor_values
from affinelens.walk import Vertices


class DecisionBoundary:
    """The pieces of a decision boundary as columns, and the cells of one class each that it separates.

    Piece i lies between the cells ``cell_pairs[i]``. The lower class comes first, in all columns of pairs.
    """

    def __init__(self, cells: ClassCells) -> None:
        self.cells = cells

    @cached_property
    def _pieces(self) -> _Pieces:
        return _Pieces.between(self.cells)

    def __len__(self) -> int:
        return len(self._pieces.facets)

    def __getitem__(self, index: int) -> BoundaryPiece:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no piece {index}; there are {len(self)}")
        return BoundaryPiece(self, index % len(self))

    def __iter__(self) -> Iterator[BoundaryPiece]:
        return (BoundaryPiece(self, i) for i in range(len(self)))

    @property
    def cell_pairs(self) -> Indices:
        """The two cells that each piece separates."""
        return self._pieces.pairs

    @property
    def classes(self) -> Indices:
        """The two classes that each piece separates."""
        return self.cells.classes[self.cell_pairs]

    @property
    def regions(self) -> Indices:
        """The regions on the two sides of each piece; they differ where it lies on a facet of both."""
        return self.cells.regions[self.cell_pairs]

    @property
    def local_vertex_values(self) -> Floats:
        """All pieces' vertices in the domain's own coordinates; polygons' are in order around them."""
        return self._pieces.vertices.points

    @property
    def local_segments(self) -> Floats:
        """Of a two-dimensional domain, each piece's two ends in the domain's own coordinates."""
        return self.local_vertex_values.reshape(-1, 2, 2)

    @cached_property
    def vertex_values(self) -> Floats:
        """All pieces' vertices as inputs; piece i's are from ``vertex_offsets[i]`` to ``vertex_offsets[i + 1]``."""
        return self.cells.of.domain.frame.to_inputs(self.local_vertex_values)

    @property
    def vertex_offsets(self) -> Indices:
        return self._pieces.vertices.offsets

    @cached_property
    def measures(self) -> Floats:
        """Each piece's length (in two dimensions), area (in three) or volume, in the domain's own coordinates.

        In one dimension pieces are points and measure 1.
        """
        return _measures(self._pieces.vertices)

    @cached_property
    def input_measures(self) -> Floats:
        """As :attr:`measures`, but as seen among the inputs, where a slice may be stretched or sheared."""
        vertices = self._pieces.vertices
        straight = vertices.points @ isometry(self.cells.of.domain).T
        return _measures(Vertices(straight, vertices.tight, vertices.offsets))

    @property
    def measure(self) -> float:
        """The whole boundary's length, area or volume, in the domain's own coordinates."""
        with np.errstate(over="ignore"):
            return float(self.measures.sum())

    @cached_property
    def crossed_regions(self) -> Indices:
        """The regions that the boundary passes through: those with points of several classes inside."""
        pairs = np.unique(np.stack([self.cells.regions, self.cells.classes]), axis=1)
        regions, classes = np.unique(pairs[0], return_counts=True)
        return regions[classes > 1]

    @cached_property
    def class_volumes(self) -> Floats:
        """The volume of each class, in the domain's own coordinates; ties count for the first of the classes."""
        return self._by_class(self.cells.volumes)

    @property
    def class_shares(self) -> Floats:
        """The share each class has in the volume of all regions."""
        sizes = self._by_class(self.cells.sizes)
        if not sizes.any():
            raise AffineLensError("the regions are all too thin for float64 to weigh them; ask a larger set of them")
        shares: Floats = sizes / sizes.sum()
        return shares

    def _by_class(self, sizes: Floats) -> Floats:
        count = self.cells.decision.classes(self.cells.of.network)
        return np.bincount(self.cells.classes, sizes, count).astype(np.float64)

    @property
    def tied_volume(self) -> float:
        """The volume on which several outputs are the largest, or the one looked at equals the threshold."""
        with np.errstate(over="ignore"):
            return float(self.cells.volumes[self.cells.tied].sum())

    def distance(self, x: ArrayLike, *, norm: str = "l2") -> Distance | Distances:
        """How far an input is, or several are, from the boundary.

        See :meth:`affinelens.RegionSet.distance_to_boundary`.
        """
        given = given_points(self.cells.of, x, "distance_to_boundary")
        if not given.on_flat.all():
            raise AffineLensError(
                f"point {int(np.argmin(given.on_flat))} is not on the domain's flat; give finite inputs that have the "
                f"values the domain fixes and, on a slice, lie on it"
            )
        found = self._distance.of(given.coordinates, norm)
        return found[0] if given.single else found

    @cached_property
    def _distance(self) -> BoundaryDistance:
        return BoundaryDistance(self.cells.of.domain, self.local_vertex_values, self.vertex_offsets)

    def exact_vertices(self, index: int) -> list[list[Fraction]]:
        """One piece's vertices in rationals and the domain's own coordinates: where facets of its cell meet."""
        parts, vertices = self.cells.parts, self._pieces.vertices
        cell = int(self.cell_pairs[index, 0])
        rows = exact_halfspaces(parts, cell).numerators.tolist()
        facets = parts.outcome.table.facets
        assert facets is not None
        assert facets.bits is not None
        bits = facets.bits[facets.offsets[cell] : facets.offsets[cell + 1]]
        tight = vertices.tight[vertices.offsets[index] : vertices.offsets[index + 1]]
        on = has_bit(tight[:, None, :], bits[None, :])
        return [_meeting_point([row for row, met in zip(rows, meets, strict=True) if met]) for meets in on]

    def __repr__(self) -> str:
        return f"DecisionBoundary({len(self):,} pieces of measure {self.measure:.6g}, {len(self.cells):,} cells)"


class BoundaryPiece:
    """One piece of a decision boundary: a view into a row of its columns."""

    def __init__(self, boundary: DecisionBoundary, index: int) -> None:
        self._boundary = boundary
        self.index = index

    @property
    def classes(self) -> tuple[int, int]:
        """The two classes that it separates."""
        low, high = self._boundary.classes[self.index].tolist()
        return low, high

    @property
    def regions(self) -> tuple[int, int]:
        """The regions on its two sides, in the order of the classes; the same one twice if it lies inside."""
        low, high = self._boundary.regions[self.index].tolist()
        return low, high

    @property
    def vertices(self) -> Floats:
        """Its corners as inputs, a row each."""
        return self._boundary.vertex_values[self._rows]

    @property
    def local_vertices(self) -> Floats:
        """Its corners in the domain's own coordinates."""
        return self._boundary.local_vertex_values[self._rows]

    @property
    def exact_vertices(self) -> list[list[Fraction]]:
        """Its corners in rationals and the domain's own coordinates."""
        return self._boundary.exact_vertices(self.index)

    @property
    def measure(self) -> float:
        """Its length, area or volume, in the domain's own coordinates."""
        return float(self._boundary.measures[self.index])

    @property
    def _rows(self) -> slice:
        offsets = self._boundary.vertex_offsets
        return slice(int(offsets[self.index]), int(offsets[self.index + 1]))

    def __repr__(self) -> str:
        low, high = self.classes
        return f"BoundaryPiece({self.index}, between classes {low} and {high}, measure {self.measure:.6g})"


def decision_boundary(regions: Regions, output: int | None = None, threshold: float | None = None) -> DecisionBoundary:
    """Where the decision changes within the regions of a set: one walk, which is kept with the set."""
    return _boundary(regions, Decision.of(regions.network, output, threshold))


@kept
def _boundary(regions: Regions, decision: Decision) -> DecisionBoundary:
    return DecisionBoundary(class_cells(regions, decision))


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Facets between two cells, by their numbers among all facets of the cells, with their vertices."""

    facets: Indices
    pairs: Indices
    vertices: Vertices

    @classmethod
    def between(cls, cells: ClassCells) -> _Pieces:
        """The facets between cells of different classes, each as the cell of the lower class has it."""
        parts = cells.parts
        beyond, own = neighbor_values(parts), np.repeat(np.arange(len(cells)), np.diff(parts.facet_offsets))
        facets = np.flatnonzero((beyond >= 0) & (cells.classes[own] < cells.classes[beyond]))
        pairs = np.stack([own[facets], beyond[facets]], axis=1)
        return cls(facets, pairs, _in_order(facet_vertices(all_vertices(parts), parts.facets, facets)))


def _projected(vertices: Vertices) -> Floats:
    """For each coordinate the volumes of flat pieces seen along it; a flat piece's own is the root of their squares."""
    ends, dim = vertices.offsets[1:], vertices.points.shape[1]
    seen = [
        cell_volumes(np.delete(vertices.points, k, axis=1), ends, vertices.tight, dim - 1)
        if dim > 1
        else np.ones(len(ends))
        for k in range(dim)
    ]
    return np.array(seen)


def _measures(vertices: Vertices) -> Floats:
    return lengths(_projected(vertices), axis=0)


def _in_order(vertices: Vertices) -> Vertices:
    """The same pieces, the vertices of polygons in order around them."""
    if vertices.points.shape[1] != 3 or not len(vertices.points):
        return vertices
    counts = np.diff(vertices.offsets)
    piece = np.repeat(np.arange(len(counts)), counts)
    along = np.argmax(_projected(vertices), axis=0)[piece]
    rows = np.arange(len(piece))
    flat = np.stack([vertices.points[rows, (along + 1) % 3], vertices.points[rows, (along + 2) % 3]], axis=1)
    middle = np.add.reduceat(flat, vertices.offsets[:-1], axis=0) / counts[:, None]
    around = np.arctan2(*(flat - middle[piece]).T)
    order = np.lexsort((around, piece))
    return Vertices(vertices.points[order], vertices.tight[order], vertices.offsets)


def _meeting_point(rows: list[list[fmpz]]) -> list[Fraction]:
    """The one point where all hyperplanes ``[w | b]`` meet."""
    basis, nullity = fmpz_mat(rows).nullspace()
    assert nullity == 1, "a vertex lies on too few independent facets"
    *numerators, denominator = (int(basis[i, 0]) for i in range(basis.nrows()))
    return [Fraction(n, denominator) for n in numerators]
