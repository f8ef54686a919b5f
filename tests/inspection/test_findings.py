"""What is known of a walk before it begins."""

from __future__ import annotations

from math import log10
from typing import Any

import pytest

import affinelens as al
from support.random_networks import random_layers


@pytest.mark.parametrize(("sizes", "seed"), [((2, 32, 32, 1), 0), ((3, 24, 24, 2), 1), ((4, 20, 1), 2)])
def test_the_expected_number_is_of_the_right_order(sizes: tuple[int, ...], seed: int) -> None:
    layers, box = random_layers(sizes, seed), al.Box(-1, 1, dim=sizes[0])
    found = al.inspect(layers, box)
    assert found.regions_log10 == pytest.approx(log10(al.count(layers, box)), abs=1.0)
    assert found.switching is not None
    assert found.engine == "vertex"


def test_without_a_domain_the_network_alone_is_shown() -> None:
    found = al.inspect(random_layers((3, 5, 4, 2), seed=0))
    assert (found.engine, found.switching, found.regions_log10) == (None, None, None)
    assert str(found).splitlines()[0] == "input 3, 9 units in 2 stages"
    assert "give one" in str(found)
    assert repr(found) == "Inspection(Network(3-5-4-2, 9 units in 2 stages))"
    assert found._repr_html_().startswith("<pre>input 3")


@pytest.mark.parametrize("options", [{"engine": "fast"}, {"workers": 0}, {"domain": [0, 1]}])
def test_what_cannot_be_taken_is_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(al.AffineLensError):
        al.inspect(random_layers((1, 2, 1), seed=0), **options)
