"""A restricted network written as data and read back is the same one; data that is wrong is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import affinelens as al
from affinelens.domain import Domain
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network.activation import OPEN
from affinelens.restrict import RestrictedNetwork, restrict, subdivision
from affinelens.restrict.serial import restricted_from_data, restricted_to_data
from support.random_networks import dense_network, random_layers, small_box, wide_layers
from support.walks import facets_by_pattern, walk_by

Data = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def _same(network: Network, domain: Domain) -> RestrictedNetwork:
    """The restricted network that comes back, after comparing it with the one that was written."""
    restricted = restrict(network, domain.frame)
    structure, arrays = restricted_to_data(restricted)
    back = restricted_from_data(network, domain.frame, json.loads(json.dumps(structure)), arrays)
    assert len(back.subdomains) == len(restricted.subdomains)
    both = zip((restricted, *restricted.subdomains), (back, *back.subdomains), strict=True)
    for before, after in both:
        assert list(after.sides.items()) == list(before.sides.items())
        assert after.frame.rows.to_fractions() == before.frame.rows.to_fractions()
        assert after.frame.constraints == before.frame.constraints
        assert after.frame.irredundant == before.frame.irredundant
        for name in ("lower", "upper"):
            assert np.array_equal(getattr(after.frame, name), getattr(before.frame, name))
        for one, other in zip(before.bounds, after.bounds, strict=True):
            assert np.array_equal(one.signs, other.signs)
            assert np.array_equal(one.pre_activation, other.pre_activation)
            assert np.array_equal(one.output, other.output)
        assert np.array_equal(after.switching.choices, before.switching.choices)
        assert np.array_equal(after.breaks, before.breaks)
    return back


def _cut_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subdivision, "_MANY_SWITCHING", 4)


@pytest.mark.parametrize("seed", range(12))
def test_any_network_comes_back(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(300 + seed)
    inputs = int(generator.integers(1, 5))
    network, box = dense_network(generator, inputs), small_box(generator, inputs)
    _same(network, box)
    _cut_everything(monkeypatch)
    _same(network, box)


def test_what_comes_back_is_walked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    _cut_everything(monkeypatch)
    network, box = al.network(random_layers([2, 8, 8, 2], 1)), al.Box(-1, 1, dim=2)
    back, restricted = _same(network, box), restrict(network, box.frame)
    assert len(back.subdomains) > 2
    once, again = (walk_by("vertex", network, box.frame, part) for part in (restricted, back))
    assert np.array_equal(once.patterns, again.patterns)
    assert np.array_equal(once.points, again.points)
    assert facets_by_pattern(once) == facets_by_pattern(again)


def test_polytopes_slices_and_wide_networks_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    _same(al.network(wide_layers(0, 0.5)), al.Box(-0.1, 0.1, dim=2))
    _cut_everything(monkeypatch)
    triangle = al.Polytope([[1, 0], [0, 1], [-1, -1]], [1, 1, 0.5])
    assert _same(al.network(random_layers([2, 8, 8, 2], 4)), triangle).subdomains
    plane = al.Slice([0.1, 0.2, 0.3], [[1, 0, 1], [0, 1, -1]], al.Box(-1, 1, dim=2))
    assert _same(al.network(random_layers([3, 8, 8, 2], 5)), plane).subdomains
    corner = al.Polytope(np.vstack([np.eye(40), -np.ones((1, 40))]), np.append(np.zeros(40), 1.0))
    _same(al.network(random_layers([40, 4, 1], 6)), corner)  # the middle of its box is outside


def _shorter(data: Data) -> None:
    data[1]["signs1"] = data[1]["signs1"][:, :-1]


def _floats_for_signs(data: Data) -> None:
    data[1]["signs0"] = data[1]["signs0"].astype(np.float64)


def _strange_sign(data: Data) -> None:
    data[1]["signs0"][0, 0] = 3


def _not_a_number(data: Data) -> None:
    data[1]["output0"][0, 0] = np.nan


def _missing(data: Data) -> None:
    del data[1]["pre_activation0"]


def _no_sides(data: Data) -> None:
    del data[0]["sides"]


def _sides_of_text(data: Data) -> None:
    data[0]["sides"] = "text"


def _half_a_side(data: Data) -> None:
    data[0]["sides"][0][0][1] = 0.5


def _no_parts(data: Data) -> None:
    data[0]["sides"] = []


def _one_part_too_few(data: Data) -> None:
    data[0]["sides"].pop()
    for name, array in data[1].items():
        data[1][name] = array[:-1]


def _other_side(data: Data) -> None:
    data[0]["sides"][0][0][1] *= -1


def _no_such_break(data: Data) -> None:
    first = data[0]["sides"][0][0][0]
    for part in data[0]["sides"]:
        for pair in part:
            pair[0] = 10**6 if pair[0] == first else pair[0]


def _false_signs(data: Data) -> None:
    data[1]["signs0"][...] = np.where(data[1]["signs0"] == OPEN, 1, data[1]["signs0"])


def _false_sizes(data: Data) -> None:
    data[1]["pre_activation1"][...] = 1e-3


def _false_outputs(data: Data) -> None:
    data[1]["output1"][...] = 0.0


UNREADABLE = (
    _shorter, _floats_for_signs, _strange_sign, _not_a_number, _missing, _no_sides, _sides_of_text, _half_a_side
)  # fmt: skip
NO_DIVISION = (_no_parts, _one_part_too_few, _other_side, _no_such_break)
FALSE = (_false_signs, _false_sizes, _false_outputs)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        *((spoil, "does not fit the network and the domain") for spoil in UNREADABLE),
        *((spoil, "do not make up the domain") for spoil in NO_DIVISION),
        *((spoil, "bounds of the restricted network do not hold") for spoil in FALSE),
    ],
)
def test_wrong_data_is_refused(spoil: Callable[[Data], None], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _cut_everything(monkeypatch)
    network, box = al.network(random_layers([2, 8, 8, 2], 1)), al.Box(-1, 1, dim=2)
    data = restricted_to_data(restrict(network, box.frame))
    spoil(data)
    with pytest.raises(AffineLensError, match=message):
        restricted_from_data(network, box.frame, *data)


def test_a_subdomain_without_interior_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _cut_everything(monkeypatch)
    network = al.network(random_layers([2, 8, 8, 2], 1))
    data = restricted_to_data(restrict(network, al.Box(-1, 1, dim=2).frame))
    corner = al.Box(0.999, 1, dim=2)
    with pytest.raises(AffineLensError, match="empty or flat"):
        restricted_from_data(network, corner.frame, *data)
