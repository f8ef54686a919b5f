"""How steep the network is on every region, and what it gives at the interior point.

Slopes are with respect to the domain's own coordinates: on a slice, to those of the slice.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from affinelens.arithmetic.rational import nearest
from affinelens.array_types import Floats, Indices
from affinelens.blocks import joined
from affinelens.measure.geometry.lengths import lengths
from affinelens.measure.maps.affine_maps import AffineMaps, affine_map_blocks
from affinelens.regions import Regions, kept


class Slopes(NamedTuple):
    """Columns of what the affine maps say: a row a region.

    ``gradient_norms`` has a column an output; ``spectral`` and ``row_sums`` are the norms of the whole Jacobian that go
    with distances in l2 and in l-infinity. ``outputs`` and ``classes`` are those at the interior point.
    """

    gradient_norms: Floats
    spectral: Floats
    row_sums: Floats
    outputs: Floats
    classes: Indices


@kept
def slopes(regions: Regions) -> Slopes:
    """Norms, outputs and classes of all regions, in one pass over their affine maps."""
    found = joined(Slopes, (_of_some(regions, rows, maps) for rows, maps in affine_map_blocks(regions)))
    beyond = np.flatnonzero(~np.isfinite(found.outputs).all(axis=1)).tolist()
    for index in {*regions.outcome.exact_points, *beyond}:
        found.outputs[index] = [nearest(value) for value in _exact_outputs(regions, index)]
    return found


def _of_some(regions: Regions, rows: slice, maps: AffineMaps) -> Slopes:
    points = regions.outcome.points[rows]
    with np.errstate(over="ignore"):
        row_sums = np.abs(maps.slopes).sum(axis=2).max(axis=1, initial=0.0)
    return Slopes(
        gradient_norms=lengths(maps.slopes),
        spectral=spectral_norms(maps.slopes),
        row_sums=row_sums,
        outputs=maps.at(points),
        classes=_classes(regions, rows, maps, points),
    )


def spectral_norms(matrices: Floats) -> Floats:
    """The largest singular value of each matrix."""
    if matrices.shape[1] > matrices.shape[2]:
        matrices = matrices.transpose(0, 2, 1)
    unit = np.frexp(np.abs(matrices).max(axis=(1, 2), initial=0.0))[1]
    infinite = np.asarray(~np.isfinite(matrices).all(axis=(1, 2)))
    matrices = np.where(infinite[:, None, None], 0.0, np.ldexp(matrices, -unit[:, None, None]))
    gram = np.einsum("nkd,njd->nkj", matrices, matrices)
    size = gram.shape[1]
    if size == 0:
        return np.zeros(len(gram))
    if size == 1:
        largest = gram[:, 0, 0]
    elif size == 2:
        half = (gram[:, 0, 0] - gram[:, 1, 1]) / 2
        largest = (gram[:, 0, 0] + gram[:, 1, 1]) / 2 + np.hypot(half, gram[:, 0, 1])
    else:
        largest = np.linalg.eigvalsh(gram)[:, -1]
    with np.errstate(over="ignore"):
        return np.where(infinite, np.inf, np.ldexp(np.sqrt(largest), unit))


@np.errstate(over="ignore", invalid="ignore")
def _classes(regions: Regions, rows: slice, maps: AffineMaps, points: Floats) -> Indices:
    """The largest output at each point, the first of equal ones; of a single output, whether it is positive.

    Where float64 cannot tell, or the point itself is not a float64 one, rational arithmetic does.
    """
    values = maps.at(points)
    count, outputs = values.shape
    off = maps.error_at(points)
    if outputs == 1:
        found = (values[:, 0] > 0).astype(np.int64)
        unsure = ~(np.abs(values[:, 0]) > off[:, 0])
    else:
        found = np.argmax(values, axis=1)
        own = np.arange(count), found
        margin = (values[own] - off[own])[:, None] - (values + off)
        margin[own] = np.inf
        unsure = ~(margin.min(axis=1, initial=np.inf) > 0)
    unsure |= np.isin(np.arange(rows.start, rows.stop), list(regions.outcome.exact_points))
    for i in np.flatnonzero(unsure).tolist():
        found[i] = class_of(_exact_outputs(regions, rows.start + i))
    return found


def class_of(outputs: list[Fraction]) -> int:
    """The place of the largest output, the first of equal ones; of a single output, whether it is positive."""
    if len(outputs) == 1:
        return int(outputs[0] > 0)
    return outputs.index(max(outputs)) if outputs else 0


def _exact_outputs(regions: Regions, index: int) -> list[Fraction]:
    return regions.network.evaluate_exact(regions[index].exact_point)
