"""Points: floats stand for their exact values, whatever else is said of them; what is no list of numbers is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import affinelens as al
from affinelens.domain import domain_from_json
from affinelens.errors import AffineLensError


@pytest.mark.parametrize("values", [[0.1, 2], [Fraction(0.1), 2.0], [Fraction(1, 3), Fraction(2)]])
def test_a_point_holds_fractions_equal_to_what_was_given(values: list[Any]) -> None:
    point = al.Point(values)
    assert all(type(value) is Fraction for value in point.exact)
    assert list(point.exact) == values
    assert point.values.tolist() == [float(value) for value in values]
    again = domain_from_json(json.loads(json.dumps(point.to_json())))
    assert isinstance(again, al.Point)
    assert again.exact == point.exact


def test_a_witness_at_a_point_of_floats_is_exact() -> None:
    layers = [([[1.0]], [0.0]), ([[2.0]], [0.0])]
    witness = al.verify(layers, al.Point([0.1]), never=al.output(0) >= 0.2).witness
    assert witness is not None
    assert witness.to_json()["exact_input"] == ["3602879701896397/36028797018963968"]
    assert witness.output == (2 * witness.input[0],)


@pytest.mark.parametrize("values", [[float("nan")], [float("inf"), 0.0], [[1.0, 2.0]], 3.0, ["a"]])
def test_what_is_no_list_of_finite_numbers_is_refused(values: Any) -> None:
    with pytest.raises(AffineLensError, match=r"but got"):
        al.Point(values)
