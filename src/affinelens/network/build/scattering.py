"""Entries of one tensor put together with those of another that are brought to their places."""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Indices
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.nonlinear import group_maximum
from affinelens.network.build.shapes import require_size
from affinelens.network.build.values import RefusedError
from affinelens.network.linear_map import Sparse


def scattered(
    builder: GraphBuilder,
    target: Tensor,
    amount: Tensor,
    places: Indices,
    how: str,
    name: str,
    *,
    with_own: bool = True,
) -> Tensor:
    """The target, with the amount's entries brought to the given positions of it: their sum, mean, largest or smallest.

    Entries that nothing is brought to stay; the others take part themselves where ``with_own`` says so.
    """
    amount = builder.broadcast(amount, places.shape)
    order = np.argsort(places.ravel(), kind="stable")
    counts = np.bincount(places.ravel(), minlength=target.size)
    starts = np.cumsum([0, *counts])
    kept = np.where(with_own | (counts == 0), 1, 0)
    if how in ("amax", "amin"):
        sign = np.array(1.0 if how == "amax" else -1.0)
        most = 1 + int(counts.max(initial=0))
        require_size(target.size * most, f"up to {most} candidates for each of {target.size} entries")
        members = np.full((target.size, most), -1)
        members[kept > 0, 0] = np.flatnonzero(kept)
        rank = np.arange(len(order)) - np.repeat(starts[:-1], counts)
        members[places.ravel()[order], 1 + rank] = target.size + order
        both = builder.concatenate([builder.reshape(part, (part.size,)) for part in (target, amount)], 0)
        return builder.scale(group_maximum(builder, builder.scale(both, sign), members, target.shape, name), sign)
    if how not in ("sum", "mean"):
        raise RefusedError(f"a reduction by {how} is not read; sums, means, maxima and minima are")
    summed = builder.linear(amount, Sparse(starts, order, np.ones(len(order)), amount.size), target.shape)
    total = builder.add(builder.scale(target, kept.reshape(target.shape).astype(np.float64)), summed)
    return total if how == "sum" else builder.divide(total, (counts + kept).reshape(target.shape).astype(np.float64))
