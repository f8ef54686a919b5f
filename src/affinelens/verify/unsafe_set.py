"""All inputs that satisfy a property's condition, up to their border: disjoint polytopes, with their volumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats
from affinelens.convex.volume import cell_volumes
from affinelens.domain import Domain
from affinelens.measure.geometry.volumes import volume_shares
from affinelens.network import Network
from affinelens.region_set import RegionSet
from affinelens.regions import Region
from affinelens.restrict import Clauses
from affinelens.verify.relaxed_cells import clauses_held, constraint_signs
from affinelens.walk import Columns, Outcome


@dataclass(frozen=True, eq=False)
class UnsafePart:
    """What is unsafe in the domain of one case of a property.

    Attributes
    ----------
    case : int
        Which case, from 0.
    regions : RegionSet
        Those of the network with the condition's constraints as a last stage: each is a part of a region of the
        network, on one side of every constraint. They do not overlap, and all points inside satisfy the condition.
    volumes : numpy.ndarray
        Theirs, in the domain's own coordinates: float64 of shape (regions,).
    share : float
        How much of the domain's volume they fill.
    is_complete : bool
        Whether there is nothing else but points of lower dimension.
    """

    case: int
    regions: RegionSet
    volumes: Floats
    share: float
    is_complete: bool

    @property
    def volume(self) -> float:
        """Their volume together."""
        return float(self.volumes.sum())

    def __len__(self) -> int:
        return len(self.regions)

    def to_json(self) -> dict[str, Any]:
        """The polytopes as plain data; cases are numbered from 1."""
        return {
            "case": self.case + 1,
            "complete": self.is_complete,
            "volume": self.volume,
            "share": self.share,
            "polytopes": [
                _polytope(region, volume) for region, volume in zip(self.regions, self.volumes.tolist(), strict=True)
            ],
        }


def _polytope(region: Region, volume: float) -> dict[str, Any]:
    weight, offset = region.halfspaces
    return {
        "W": weight.tolist(),
        "b": offset.tolist(),
        "vertices": region.vertices.tolist(),
        "volume": volume,
    }


def unsafe_part(
    case: int, network: Network, domain: Domain, outcome: Outcome, clauses: Clauses, *, is_complete: bool
) -> UnsafePart:
    """Of a walk's regions those that some clause holds on; the walk kept vertices."""
    held = np.asarray(clauses_held(constraint_signs(network, outcome), clauses).any(axis=1))
    columns = _picked(outcome.table, held)
    counts = (*outcome.layer_counts[:-1], len(columns))
    regions = RegionSet(network, domain, replace(outcome, columns=columns, layer_counts=counts), {"vertices": True})
    vertices = columns.vertices
    assert vertices is not None
    volumes = cell_volumes(vertices.points, vertices.offsets[1:], vertices.tight, domain.dim)
    return UnsafePart(case, regions, volumes, float(volume_shares(domain, vertices).sum()), is_complete)


def _picked(columns: Columns, wanted: NDArray[np.bool_]) -> Columns:
    if wanted.all():
        return columns
    parts = [columns[run] for run in _runs(wanted)]
    return Columns.joined(parts) if parts else columns[0:0]


def _runs(wanted: NDArray[np.bool_]) -> Iterator[slice]:
    """The runs of consecutive rows that are wanted."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
    for start, stop in edges.reshape(-1, 2).tolist():
        yield slice(start, stop)
