"""What is proved of facets is true, and on generic networks all of it is proved."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.network import MaxGroups
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.nonlinear import rectify
from affinelens.regions import restricted_functions
from affinelens.regions.single_changes import SingleChanges
from support.degenerate_networks import repeated_by_the_next_layer
from support.random_networks import dense_network, random_layers, small_box


def proved_and_true(rs: al.RegionSet) -> tuple[np.ndarray, np.ndarray]:
    """For the facets across which their own choice changes, whether that is proved to be all, and whether it is."""
    frame, beyond = rs.domain.frame, rs.neighbor_values
    inner = np.flatnonzero(beyond >= 0)
    region = np.repeat(np.arange(len(rs)), np.diff(rs.facet_offsets))[inner]
    numbers = rs.facet_values[inner] - frame.rows.shape[0]
    before, after = rs.switching_patterns[region], rs.switching_patterns[beyond[inner]]
    column = np.array([choice_of(rs.network, number) for number in numbers.tolist()], dtype=np.int64)
    changed = before.copy()
    rows = np.arange(len(inner))
    changed[rows, column] = after[rows, column]
    differs = changed[rows, column] != before[rows, column]
    proved = SingleChanges(
        restricted_functions(rs), rs.outcome.switching, before[differs], changed[differs], numbers[differs]
    ).proved()
    return proved, np.asarray((changed == after).all(axis=1)[differs])


def choice_of(network: al.Network, number: int) -> int:
    stage, inner = network.locate_break(number)
    return int(network.choice_offsets[stage] + network.stages[stage].activation.breaks.choice[inner])


@pytest.mark.parametrize("sizes", [[1, 9, 9, 1], [2, 9, 9, 1], [3, 7, 6, 1], [4, 6, 4, 1], [2, 5, 5, 5, 5, 1]], ids=str)
def test_of_generic_networks_all_facets_are_proved(sizes: list[int]) -> None:
    rs = al.enumerate(random_layers(sizes, 0), al.Box(-1, 1, dim=sizes[0]))
    proved, true = proved_and_true(rs)
    assert len(true) > 10
    assert true.all()
    assert proved.all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_where_several_units_change_nothing_is_proved(seed: int, dim: int) -> None:
    rs = al.enumerate(repeated_by_the_next_layer(random_layers([dim, 6, 5, 1], seed)), al.Box(-1, 1, dim=dim))
    proved, true = proved_and_true(rs)
    assert not true.all()
    assert not np.any(proved & ~true)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_false_is_proved_of_networks_of_all_kinds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rs = al.enumerate(dense_network(generator, 2), small_box(generator, 2))
    proved, true = proved_and_true(rs)
    assert not np.any(proved & ~true)


def test_candidates_that_are_zero_on_both_sides_do_not_matter() -> None:
    """Below y = 0.5 both candidates of a group are zero, on either side of x = 0.25."""
    builder = GraphBuilder((2,))
    z = builder.matmul_right(builder.input(), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    z = rectify(builder, builder.add_constant(z, np.array([-0.25, -0.5, -0.75])), np.array(0.0), "relu")
    largest = builder.activate(z, MaxGroups(np.array([0, 1, 3])), "max", (2,))
    rs = al.enumerate(builder.finish(largest), al.Box(-1, 1, dim=2))
    assert len(rs) == 6
    proved, true = proved_and_true(rs)
    assert true.tolist() == [True] * 14
    assert np.count_nonzero(proved) == 14 - 4  # not those at y = 0.5, beyond which the candidates differ
