"""Some regions of a complete set, as a set that says it is incomplete."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import affinelens as al

Indices = NDArray[np.int64]


def subset(rs: al.RegionSet, rows: Indices) -> al.RegionSet:
    """Without vertices, so that they have to be found again."""
    columns = replace(rs.outcome.table.taken(rows), vertices=None)
    outcome = replace(
        rs.outcome,
        status=al.Status.CANCELLED,
        certificate=replace(rs.certificate, complete=False),
        columns=columns,
        layer_counts=(*rs.layer_counts[:-1], len(rows)),
        share=None,
    )
    return al.RegionSet(rs.network, rs.domain, outcome, {})


def some_of(rs: al.RegionSet, seed: int) -> Indices:
    """About half of a set's regions, in no order: a cluster around one of them, and others here and there."""
    generator = np.random.default_rng(seed)
    points = rs.local.points
    near = np.linalg.norm(points - points[generator.integers(len(points))], axis=1)
    chosen = (near < np.quantile(near, 0.4)) | (generator.random(len(points)) < 0.15)
    rows: Any = generator.permutation(np.flatnonzero(chosen))
    return np.asarray(rows, dtype=np.int64)
