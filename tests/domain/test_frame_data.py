"""A frame written as data and read back is the same frame; data that is wrong is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.domain import Domain
from affinelens.domain.frame_data import frame_from_data, frame_to_data
from affinelens.errors import AffineLensError

THIRD = Fraction(1, 3)
DOMAINS: list[Domain] = [
    al.Box(-1, 1, dim=3),
    al.Box([0, 0.5, -1e300], [1e-300, 0.5, 2]),
    al.Polytope([[1, 0], [0, 1], [-THIRD, -1]], [0, THIRD, 1]),
    al.Slice([0.1, 0.2, 0.3], [[1, 0, 1], [0, THIRD, -1]], al.Box(-1, 1, dim=2)),
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_frame_comes_back(domain: Domain) -> None:
    frame = domain.frame
    structure, arrays = frame_to_data(frame)
    back = frame_from_data(json.loads(json.dumps(structure)), arrays)
    for name in ("chart", "rows"):
        before, after = getattr(frame, name), getattr(back, name)
        assert before == after
        assert (before.source is None) == (after.source is None)
        assert before.to_floats().tobytes() == after.to_floats().tobytes()
    assert (back.constraints, back.irredundant) == (frame.constraints, frame.irredundant)
    assert np.array_equal(back.lower, frame.lower)
    assert np.array_equal(back.upper, frame.upper)


def _place_outside(structure: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["rows_places"][0] = 10**6


def _no_denominator(structure: dict[str, Any], arrays: dict[str, Any]) -> None:
    structure["chart"]["denominator"] = "0"


def _too_few_numerators(structure: dict[str, Any], arrays: dict[str, Any]) -> None:
    structure["rows"]["numerators"].pop()


def _no_number(structure: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["lower"][0] = np.nan


def _turned_round(structure: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["lower"], arrays["upper"] = arrays["upper"], arrays["lower"]


def _missing(structure: dict[str, Any], arrays: dict[str, Any]) -> None:
    del structure["constraints"]


@pytest.mark.parametrize(
    "spoil", [_place_outside, _no_denominator, _too_few_numerators, _no_number, _turned_round, _missing]
)
def test_wrong_data_is_refused(spoil: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    structure, arrays = frame_to_data(al.Box(-1, 1, dim=2).frame)
    arrays = {name: array.copy() for name, array in arrays.items()}
    spoil(structure, arrays)
    with pytest.raises(AffineLensError, match="the saved domain"):
        frame_from_data(structure, arrays)
