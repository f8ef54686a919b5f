"""Random points of a domain, and what the whole network makes of them."""

from __future__ import annotations

import numpy as np

from affinelens.arithmetic import gamma, upward
from affinelens.array_types import Floats, Indices
from affinelens.blocks import blocks
from affinelens.network.enclosure import Enclosure
from affinelens.regions import Regions


def drawn_points(regions: Regions, count: int, seed: int) -> Floats:
    """Points of the domain in its own coordinates.

    They are drawn from the box around it; of those that it does not contain, as many are drawn between points of
    regions instead.
    """
    generator, frame = np.random.default_rng(seed), regions.domain.frame
    points = generator.uniform(frame.lower, frame.upper, (count, frame.dim))
    outside = np.flatnonzero(~regions.domain.contains_coordinates(points))
    if len(outside) and len(regions):
        ends = regions.outcome.points[generator.integers(0, len(regions), (2, len(outside)))]
        along = generator.random((len(outside), 1))
        points[outside] = ends[0] + along * (ends[1] - ends[0])
    return points[regions.domain.contains_coordinates(points)]


def network_agrees(regions: Regions, points: Floats, places: Indices) -> bool:
    """Whether no unit of the whole network is certainly on another piece than that of the region a point is in.

    This looks at units that cannot switch on the domain as well.
    """
    network, frame = regions.network, regions.domain.frame
    widest = max([network.input_size, *(stage.linear.size for stage in network.stages)])
    affine = Enclosure.affine(frame.chart, frame.reach)
    for some in blocks(len(points), widest):
        here, whole = points[some], places[some]
        patterns = regions.outcome.pattern(whole).T.astype(np.int64)
        rows = affine.rows @ np.vstack([here.T, np.ones(len(here))])
        off = np.broadcast_to(upward(affine.error + gamma(frame.dim + 1) * affine.magnitude), rows.shape)
        values = [Enclosure(rows, off, np.ones((1, len(here))), None)]
        for index, stage in enumerate(network.stages):
            chosen = patterns[network.choice_offsets[index] : network.choice_offsets[index + 1]]
            z = stage.linear.propagate(values)
            breaks = stage.activation.breaks
            sign = z.differences(breaks.plus, breaks.minus, breaks.threshold)
            if np.any(stage.activation.signs_on(chosen) * sign.rows < -sign.error):
                return False
            values.append(stage.activation.select(z, chosen))
    return True
