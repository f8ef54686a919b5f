"""What bounds prove, against exact evaluation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens import Box, Network
from affinelens.arithmetic import ExactMatrix
from affinelens.domain import Frame
from affinelens.network import MaxGroups
from affinelens.network.activation import OPEN
from affinelens.network.build.builder import GraphBuilder
from affinelens.restrict import restrict
from affinelens.restrict.enclosing_box import EnclosingBox
from affinelens.restrict.stage_bounds import StageBounds, bound_by_bisection, bound_stages, merged
from support.random_networks import dense_network, pooled_network, random_layers, rational_points, small_box


def _cover(frame: Frame) -> EnclosingBox:
    return EnclosingBox(frame.lower, frame.upper)


def count_open(bounds: list[StageBounds]) -> int:
    return sum(int((stage.signs == OPEN).sum()) for stage in bounds)


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


def _bounds(network: al.Network, lower: list[float], upper: list[float]) -> list[StageBounds]:
    frame = al.Box(lower, upper).frame
    found = bound_stages(network, frame.chart, EnclosingBox(frame.lower, frame.upper))
    assert found is not None
    return found


def test_parts_leave_fewer_breaks_open_and_merge_to_what_holds_on_all() -> None:
    network = al.network(random_layers([2, 20, 20, 20, 1], seed=11, bias=1))
    whole = _bounds(network, [0, 0], [1, 1])
    left, right = _bounds(network, [0, 0], [0.5, 1]), _bounds(network, [0.5, 0], [1, 1])
    together = merged([left, right])
    assert count_open(together) <= count_open(whole)
    for stage, first, second in zip(together, left, right, strict=True):
        closed = stage.signs != OPEN
        assert np.array_equal(first.signs[closed], second.signs[closed])
        assert np.array_equal(stage.pre_activation, np.maximum(first.pre_activation, second.pre_activation))


def test_loose_bounds_are_given_up_and_the_domain_is_cut() -> None:
    network = al.network(random_layers([2, 400, 400, 400, 400, 1], seed=3, bias=1))
    frame = al.Box(-1, 1, dim=2).frame
    box = EnclosingBox(frame.lower, frame.upper)
    whole = bound_stages(network, frame.chart, box)
    assert whole is not None
    assert bound_stages(network, frame.chart, box, finish=False) is None
    cut = bound_by_bisection(network, frame.chart, box)
    assert count_open(cut) < count_open(whole)
    assert count_open(bound_by_bisection(network, frame.chart, box, most=1)) == count_open(whole)


def test_a_sign_that_differs_between_boxes_is_open() -> None:
    positive, negative = (StageBounds(np.array([1, s], dtype=np.int8), np.ones(2), np.ones(2)) for s in (1, -1))
    (both,) = merged([[positive], [negative]])
    assert both.signs.tolist() == [1, OPEN]


@pytest.mark.parametrize(("first", "winner"), [(0.0, 1), (2.0, 0)])
def test_candidates_of_overlapping_ranges_are_compared_by_their_difference(first: float, winner: int) -> None:
    """max(x + first, x + 1) on [-1, 1]: either is sometimes below and sometimes above what the other can be."""
    builder = GraphBuilder((1,))
    z = builder.add_constant(builder.matmul_right(builder.input(), np.array([[1.0, 1.0]])), np.array([first, 1.0]))
    network = builder.finish(builder.activate(z, MaxGroups(np.array([0, 2])), "max", (1,)))
    (bounds,) = _bounds(network, [-1.0], [1.0])
    assert bounds.signs.tolist() == [1 if winner == 0 else -1]
