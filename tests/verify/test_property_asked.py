"""Conditions on a model as a property, and as the file that says the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import affinelens as al
from affinelens.network.note import cut_off
from support.random_networks import random_layers

LAYERS = random_layers((2, 6, 3), seed=3, bias=1)
BOX = al.Box(-1, 1, dim=2)


@pytest.mark.parametrize(
    "asked",
    [
        {"never": (al.output(0) >= 0.3) | al.class_is(2)},
        {"always": al.class_is(0)},
        {"never": ~al.class_is(1) & (al.output(1) < -100)},
        {"always": al.inequalities([[1, -1, 0]], [1000])},
    ],
)
def test_a_file_says_what_the_conditions_say(asked: dict[str, Any], tmp_path: Path) -> None:
    prop = al.property_of(LAYERS, BOX, **asked)
    found = al.verify(LAYERS, prop.write(tmp_path / "p.vnnlib")).result
    assert found is al.verify(LAYERS, BOX, **asked).result is al.verify(LAYERS, prop).result


def test_the_class_of_a_sigmoid_model_is_written_as_a_probability(tmp_path: Path) -> None:
    layers = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])]  # the identity
    model = replace(al.network(layers), notes=(cut_off("last", "sigmoid"),))
    written = al.property_of(model, al.Box(-2, 0, dim=1), never=al.class_is(1)).write(tmp_path / "p.vnnlib")
    assert "(> Y_0 0.5)" in written.read_text()
    assert str(al.verify(model, written)) == "unsat"
    assert str(al.verify(layers, al.property_of(layers, al.Box(-2, 0, dim=1), never=al.class_is(1)))) == "unsat"


def test_what_is_no_question_about_a_domain_is_one_sentence() -> None:
    for domain, asked, words in (
        ("p.vnnlib", {"never": al.class_is(0)}, "the domain is a Box or a Polytope, but got 'p.vnnlib'"),
        (BOX, {}, "either never=... or always=..."),
        (al.Slice.axes([0, 0], (0,), -1, 1), {"never": al.class_is(0)}, "but got a Slice"),
        (BOX, {"never": al.class_is(3)}, "speaks of class 3"),
    ):
        with pytest.raises(al.AffineLensError, match=words):
            al.property_of(LAYERS, domain, **asked)
