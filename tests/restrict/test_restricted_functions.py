"""Functions that are zero where a pattern holds: known where they are units that are off, and nowhere else."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import affinelens as al
from affinelens.network import MaxGroups, PiecewiseLinear
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.canonical import input_chart
from affinelens.restrict import ZeroFunctions, restrict, restricted_rows


def largest_of_a_relu_and_a_clipping() -> al.Network:
    builder = GraphBuilder((2,))
    z = builder.add_constant(builder.matmul_right(builder.input(), np.eye(2)), np.array([0.25, 0.0]))
    activation = PiecewiseLinear(
        np.array([[0.0, np.inf], [-1.0, 1.0]]),
        np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]),
        np.array([[0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]]),
    )
    return builder.finish(builder.activate(builder.activate(z, activation, "both"), MaxGroups(np.array([0, 2])), "max"))


@pytest.mark.parametrize("columns", [True, False])
def test_only_what_is_a_unit_that_is_off_is_zero(columns: bool) -> None:
    network = largest_of_a_relu_and_a_clipping()
    restricted = restrict(network, al.Box(-5, 5, dim=2).frame)
    assert [len(stage.units) for stage in restricted.stages] == [2, 2]
    rows = restricted_rows(restricted, input_chart(2), np.array([5.0, 5.0, 1.0]))
    for relu, clip in product(range(2), range(3)):
        pieces = np.array([relu, clip])
        functions = ZeroFunctions(restricted, rows, columns=columns)
        assert not functions.units().any()
        functions.choose(pieces[:, None] if columns else pieces)
        assert functions.units().ravel().tolist() == [relu == 0, False]  # a clipping is flat below and above, not zero
