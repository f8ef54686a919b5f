"""An activation of a class that nothing else knows is walked like any other: only its methods are asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.network import Activation, Network
from support.random_networks import dense_network, small_box


def _foreign(known: Activation) -> Activation:
    """An activation that is none of the known ones, and answers as one of them does."""

    def answer(name: str) -> Any:
        found = getattr(type(known), name)
        if callable(found):
            return lambda self, *arguments: getattr(known, name)(*arguments)
        return property(lambda self: getattr(known, name))

    answers = {name: answer(name) for name in Activation.__abstractmethods__}
    states = ("size_in", "size_out", "choices", "starts", "slopes", "offsets")
    named = {"kind": "foreign", "grouped": known.grouped, "tie_sign": known.tie_sign}
    made: Activation = type("Foreign", (Activation,), {**answers, **named})()
    for name in states:
        setattr(made, name, getattr(known, name))
    return made


def _with_foreign_activations(network: Network) -> Network:
    return replace(network, stages=tuple(replace(s, activation=_foreign(s.activation)) for s in network.stages))


@pytest.mark.parametrize("engine", ["vertex", "linear_program"])
@pytest.mark.parametrize("seed", [0, 2, 5, 12, 17])
def test_it_has_the_same_regions_neighbors_and_maps(seed: int, engine: str) -> None:
    generator = np.random.default_rng(seed)
    network, box = dense_network(generator, 2), small_box(generator, 2)
    known = al.enumerate(network, box, engine=engine)
    foreign = al.enumerate(_with_foreign_activations(network), box, engine=engine)
    assert np.array_equal(foreign.patterns, known.patterns)
    assert np.array_equal(foreign.facet_values, known.facet_values)
    assert np.array_equal(foreign.neighbor_values, known.neighbor_values)
    assert np.array_equal(foreign.locate(known.points), np.arange(len(known)))
    assert len(foreign.linear_regions()) == len(known.linear_regions())
    assert foreign.audit().passed
