"""All inputs that satisfy a property's condition, up to their border: disjoint polytopes, with their volumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
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
from affinelens.short_text import counted
from affinelens.verify.relaxed_cells import clauses_held, constraint_signs
from affinelens.walk import Columns, Outcome, Status, Vertices


class UnsafePart:
    """What is unsafe in the domain of one case of a property; put together when it is first looked at.

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

    def __init__(self, case: int, network: Network, domain: Domain, outcome: Outcome, clauses: Clauses) -> None:
        self.case = case
        self.is_complete = outcome.status is Status.COMPLETE
        self._network = network
        self._domain = domain
        self._outcome = outcome
        self._clauses = clauses

    @cached_property
    def regions(self) -> RegionSet:
        """Of the walk's regions those that some clause holds on; the walk kept vertices."""
        outcome = self._outcome
        held = np.asarray(clauses_held(constraint_signs(self._network, outcome), self._clauses).any(axis=1))
        columns = _picked(outcome.table, held)
        counts = (*outcome.layer_counts[:-1], len(columns))
        found = replace(outcome, columns=columns, layer_counts=counts)
        return RegionSet(self._network, self._domain, found, {"vertices": True})

    @cached_property
    def volumes(self) -> Floats:
        """The volume of each."""
        vertices = self._vertices
        return cell_volumes(vertices.points, vertices.offsets[1:], vertices.tight, self._domain.dim)

    @cached_property
    def share(self) -> float:
        """The part of the domain's volume that they fill."""
        return float(volume_shares(self._domain, self._vertices).sum())

    @property
    def _vertices(self) -> Vertices:
        vertices = self.regions.outcome.table.vertices
        assert vertices is not None
        return vertices

    def __repr__(self) -> str:
        whole = "" if self.is_complete else ", not all"
        return (
            f"UnsafePart(case {self.case + 1}: {counted(len(self), 'polytope')}{whole}, of dimension "
            f"{self._domain.dim}; .share and .volume measure them)"
        )

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
