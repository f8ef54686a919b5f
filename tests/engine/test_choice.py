"""Which engine a request stands for; what is said where none can do what is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import affinelens as al
from affinelens.cli.model_options import on_command_line
from affinelens.engine import choose
from affinelens.walk import Request
from support.random_networks import random_layers


@pytest.mark.parametrize("measured", [al.RegionSet.volumes, al.RegionSet.vertices, al.RegionSet.decision_boundary])
def test_what_cannot_be_measured_is_said_with_what_to_do(measured: Callable[[al.RegionSet], object]) -> None:
    regions = al.enumerate(random_layers([12, 2, 1], 0), al.Box(-1, 1, dim=12))
    assert regions.engine == "linear_program"
    with pytest.raises(al.AffineLensError) as refused:
        measured(regions[:2])
    assert str(refused.value) == (
        "vertices and what is measured with them (volumes, decision boundaries) cannot be found here: dimension 12 is "
        "above 10, where cells have too many vertices; enumerate with engine='vertex', which may take long, or on a "
        "Slice"
    )
    assert "enumerate with --engine vertex, which may take long, or on a slice (--slice-axes" in (
        refused.value.worded(on_command_line)
    )


def test_where_no_engine_can_fewer_dimensions_are_the_advice() -> None:
    request = Request(al.network(random_layers([15, 2, 1], 0)), al.Box(-1, 1, dim=15).frame, vertices=True)
    with pytest.raises(al.AffineLensError, match=r"above 10, .*; enumerate on a Slice, which has fewer dimensions"):
        choose(request)


@pytest.mark.parametrize(
    ("vertices", "advice"),
    [(False, "use --engine linear_program"), (True, "ask for it on a slice (--slice-axes or --through), which has")],
)
def test_an_engine_out_of_its_reach_names_one_that_is_not(vertices: bool, advice: str) -> None:
    network, domain = al.network(random_layers([15, 2, 1], 0)), al.Box(-1, 1, dim=15)
    with pytest.raises(al.AffineLensError, match="the vertex engine cannot be used here") as refused:
        choose(Request(network, domain.frame, "vertex", vertices=vertices))
    assert advice in refused.value.worded(on_command_line)


def test_what_an_engine_found_beyond_where_it_is_chosen_it_measures_too() -> None:
    regions = al.enumerate(random_layers([11, 1, 1], 0), al.Box(-1, 1, dim=11), engine="vertex")
    assert regions.vertices().shape[1] == 11
