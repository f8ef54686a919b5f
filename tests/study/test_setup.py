"""Choices are made by name, from Python values or from texts; what makes no sense is refused in a sentence."""

from __future__ import annotations

import pytest

import affinelens as al
from affinelens.study.activation_study import ActivationStudy
from affinelens.study.setup import Setup, changed


def test_texts_and_values_mean_the_same() -> None:
    texts = {"epochs": "1,20", "learning_rate": "0.01", "shuffle": "no", "weights": "kaiming", "samples": "50"}
    values = {"epochs": [1, 20], "learning_rate": 0.01, "shuffle": False, "weights": "kaiming", "samples": 50}
    assert changed(Setup(), texts) == changed(Setup(), values)
    assert changed(Setup(), texts).to_json() == {**Setup().to_json(), **values}


def test_a_single_value_is_a_list_of_one() -> None:
    assert changed(Setup(), {"epochs": 7}).epochs == (7,)
    assert changed(ActivationStudy(), {"activations": "relu"}).activations == ("relu",)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epohcs": 1}, "no choice called 'epohcs'; did you mean epochs"),
        ({"color": 1}, "there are epochs, samples"),
        ({"epochs": "ten"}, "epochs must be a whole number, as 5000, but got 'ten'"),
        ({"epochs": 1.5}, "epochs must be a whole number"),
        ({"epochs": ()}, "epochs must not be empty"),
        ({"epochs": (3, 2)}, "epochs must increase, but are 3,2"),
        ({"epochs": (2, 2)}, "twice"),
        ({"epochs": 0}, "at least 1"),
        ({"samples": None}, "samples must be a whole number"),
        ({"learning_rate": -1}, "learning_rate must be at least 0"),
        ({"learning_rate": "nan"}, "learning_rate must be at least 0 and finite"),
        ({"shuffle": "perhaps"}, "shuffle must be yes or no"),
        ({"weights": "xavier"}, "weights must be one of torch, kaiming, but got 'xavier'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(al.AffineLensError, match=sentence):
        changed(Setup(), options)


def test_every_choice_has_a_reason() -> None:
    assert all(why for _, _, why in ActivationStudy().reasons())
    assert ("epochs", "1,10,50,100,200,500", "as the paper has it") in ActivationStudy().reasons()
