"""What bounds prove, against exact evaluation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from affinelens import Box, Network
from affinelens.arithmetic import ExactMatrix
from affinelens.domain import Frame
from affinelens.network.activation import OPEN
from affinelens.restrict import restrict
from affinelens.restrict.bisection import bound_by_bisection
from affinelens.restrict.break_signs import bound_stages
from affinelens.restrict.enclosing_box import EnclosingBox
from support.random_networks import dense_network, pooled_network, rational_points, small_box


def _cover(frame: Frame) -> EnclosingBox:
    return EnclosingBox(frame.lower, frame.upper)


def _pre_activations(network: Network, point: list[Fraction]) -> list[ExactMatrix]:
    one = ExactMatrix.from_floats(np.ones((1, 1)))
    values = [ExactMatrix.from_fractions([[v] for v in point])]
    found = []
    for stage in network.stages:
        found.append(stage.linear.propagate_exact(values, one))
        values.append(stage.activation.apply_exact(found[-1]))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_closed_breaks_have_their_sign_at_every_point(seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = int(generator.integers(1, 4))
    network, box = dense_network(generator, inputs), small_box(generator, inputs)
    bounds = bound_by_bisection(network, box.frame.chart, _cover(box.frame))
    for point in rational_points(generator, box, 12):
        for stage, known, z in zip(network.stages, bounds, _pre_activations(network, point), strict=True):
            values = [row[0] for row in z.to_fractions()]
            assert all(abs(v) <= Fraction(b) for v, b in zip(values, known.pre_activation, strict=True))
            breaks = stage.activation.breaks
            for index in np.flatnonzero(known.signs != OPEN).tolist():
                minus = values[breaks.minus[index]] if breaks.minus[index] >= 0 else Fraction(0)
                value = values[breaks.plus[index]] - minus - Fraction(breaks.threshold[index])
                assert (value > 0) - (value < 0) == known.signs[index]


def test_outputs_are_within_their_bounds() -> None:
    generator = np.random.default_rng(5)
    network, box = dense_network(generator, 2), small_box(generator, 2)
    bounds = bound_stages(network, box.frame.chart, _cover(box.frame))
    assert bounds is not None
    for point in rational_points(generator, box, 10):
        for stage, known, z in zip(network.stages, bounds, _pre_activations(network, point), strict=True):
            outputs = stage.activation.apply_exact(z).to_fractions()
            assert all(abs(row[0]) <= Fraction(b) for row, b in zip(outputs, known.output, strict=True))


@pytest.mark.parametrize("bias", [True, False])
def test_pooling_windows_over_a_black_image_do_not_switch(bias: bool) -> None:
    network = pooled_network(np.random.default_rng(4), bias=bias)
    lower, upper = np.zeros(36), np.zeros(36)
    upper[0] = 1.0
    restricted = restrict(network, Box(lower, upper).frame)
    pool = next(stage for stage in restricted.all_stages if stage.stage == 1)
    assert set(pool.choices.tolist()) <= {0, 9, 18}  # the first window of each channel sees the pixel
