"""A network written as data and read back is the same network; its digest changes with any of its numbers."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from affinelens import Network
from affinelens.errors import AffineLensError
from affinelens.network import AffineSum, MaxGroups, Stage
from affinelens.network.composed_maps import Chain, Sum
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import Dense, Scale, Select, Sparse
from affinelens.network.note import Note, NoteKind
from affinelens.network.serial import network_from_data, network_to_data
from support.networks import HARD_TANH, RELU, activation


def rich_network() -> Network:
    """One of everything."""
    rng = np.random.default_rng(0)
    sparse = Sparse(np.array([0, 2, 2, 3]), np.array([0, 1, 1]), rng.standard_normal(3), 2)
    padded = Chain((Select(np.array([1, -1, 0]), 2), Scale(rng.standard_normal(3), over=9)))
    first = Stage(
        "first",
        AffineSum(3, ((0, Sum((sparse, padded))),), Dense(rng.standard_normal((3, 1)))),
        activation([RELU, HARD_TANH, RELU]),
    )
    window = Convolution(rng.standard_normal((1, 1, 1, 2)), (3,), (3,), (1,), (2,), (1,), adjoint=True)
    second = Stage("second", AffineSum(3, ((0, sparse), (1, window))), MaxGroups(np.array([0, 1, 3])))
    output = AffineSum(1, ((2, Dense(rng.standard_normal((1, 2)))),), Dense(np.array([[0.5]])))
    return Network((2,), (first, second), output, (Note(NoteKind.ROUNDED, "a weight was rounded", "first"),))


def test_round_trip_keeps_everything() -> None:
    net = rich_network()
    structure, arrays = network_to_data(net)
    back = network_from_data(json.loads(json.dumps(structure)), arrays)
    assert back.digest == net.digest
    assert (back.input_shape, back.notes) == (net.input_shape, net.notes)
    assert [stage.name for stage in back.stages] == ["first", "second"]
    x = [0.3, -0.7]
    assert back.evaluate_exact(x) == net.evaluate_exact(x)


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("s: the final Softmax was cut off; the argmax along its axis is unchanged", NoteKind.CUT_OFF),
        ("n: batch norm's gain / sqrt(variance + epsilon) was rounded once to float64", NoteKind.ROUNDED),
        ("m: constants were combined by Mul in the model's own arithmetic", NoteKind.COMBINED),
        ("ReLU between the layers is assumed: a file of weights does not say", NoteKind.ASSUMED),
    ],
)
def test_notes_that_were_saved_as_sentences_are_known_by_them(sentence: str, kind: NoteKind) -> None:
    structure, arrays = network_to_data(rich_network())
    del structure["note_parts"]
    (note,) = network_from_data({**structure, "notes": [sentence]}, arrays).notes
    assert (note.kind, str(note)) == (kind, sentence)


def test_the_arrays_hold_plain_numbers() -> None:
    _, arrays = network_to_data(rich_network())
    assert all(array.dtype.kind in "fi" for array in arrays.values())


def test_the_digest_changes_with_every_number() -> None:
    structure, arrays = network_to_data(rich_network())
    seen = {rich_network().digest}
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            continue
        for position in np.ndindex(array.shape):
            changed = {key: values.copy() for key, values in arrays.items()}
            changed[name][position] = np.nextafter(array[position], np.inf)
            try:
                seen.add(network_from_data(structure, changed).digest)
            except AffineLensError:  # an activation that is no longer continuous
                continue
    finite = sum(int(np.isfinite(array).sum()) for array in arrays.values() if array.dtype.kind == "f")
    assert len(seen) > 0.7 * finite


def test_the_digest_changes_with_indices_and_denominators() -> None:
    structure, arrays = network_to_data(rich_network())
    other_columns = {**arrays, "a1": np.array([1, 0, 1])}
    other_over = copy.deepcopy(structure)
    other_over["stages"][0]["linear"]["sources"][0][1]["maps"][1]["maps"][1]["over"] = 7
    other_stride, forward = copy.deepcopy(structure), copy.deepcopy(structure)
    other_stride["stages"][1]["linear"]["sources"][1][1]["strides"] = [2]
    forward["stages"][1]["linear"]["sources"][1][1]["adjoint"] = False
    digests = {
        rich_network().digest,
        network_from_data(other_stride, arrays).digest,
        network_from_data(forward, arrays).digest,
        network_from_data(structure, other_columns).digest,
        network_from_data(other_over, arrays).digest,
    }
    assert len(digests) == 5


def drop_a_source(structure: dict[str, Any]) -> None:
    structure["stages"][1]["linear"]["sources"][1][0] = 5


def wrong_size(structure: dict[str, Any]) -> None:
    structure["output"]["size"] = 2


def unknown_map(structure: dict[str, Any]) -> None:
    structure["output"]["bias"]["kind"] = "python"


def wrong_activation(structure: dict[str, Any]) -> None:
    structure["stages"][0]["activation"] = structure["stages"][1]["activation"] | {"starts": "a1"}


@pytest.mark.parametrize("damage", [drop_a_source, wrong_size, unknown_map, wrong_activation])
def test_data_that_does_not_fit_together_is_refused(damage: Callable[[dict[str, Any]], None]) -> None:
    structure, arrays = network_to_data(rich_network())
    structure = copy.deepcopy(structure)
    damage(structure)
    with pytest.raises(AffineLensError):
        network_from_data(structure, arrays)


JUNK: list[Any] = [
    None,
    -1,
    0,
    1,
    2,
    7,
    2**63,
    1e300,
    "a0",
    "a1",
    "a2",
    [],
    {},
    [1, 2],
    True,
    "dense",
    "select",
    "chain",
]
NUMBERS = [-5.0, -1.0, 0.0, 5.0, 100.0, np.nan, np.inf]


def damaged(structure: dict[str, Any], arrays: dict[str, Any], generator: np.random.Generator) -> tuple[Any, Any]:
    """One or two entries of the structure replaced by something else, or arrays changed, cut, flattened or doubled."""
    structure, arrays = copy.deepcopy(structure), {name: array.copy() for name, array in arrays.items()}
    for _ in range(generator.integers(1, 3)):
        name = list(arrays)[generator.integers(len(arrays))]
        array = arrays[name]
        match int(generator.integers(8)):
            case 0:
                arrays[name] = array[:-1]
            case 1:
                arrays[name] = array.ravel()
            case 2:
                arrays[name] = np.concatenate([array, array])
            case 3 if array.size:
                with np.errstate(invalid="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # NaN among indices
                    array.flat[generator.integers(array.size)] = np.asarray(generator.choice(NUMBERS)).astype(
                        array.dtype
                    )
            case _:
                place: Any = structure
                while True:
                    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
                    key = keys[generator.integers(len(keys))]
                    if not isinstance(place[key], dict | list) or not place[key] or generator.random() < 0.1:
                        place[key] = copy.deepcopy(JUNK[generator.integers(len(JUNK))])
                        break
                    place = place[key]
    return structure, arrays


def test_what_loads_from_damaged_data_can_be_used() -> None:
    structure, arrays = network_to_data(rich_network())
    loaded = 0
    for seed in range(1500):
        try:
            network = network_from_data(*damaged(structure, arrays, np.random.default_rng([3, seed])))
        except (AffineLensError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue  # whoever reads a directory says in one sentence that it is damaged
        loaded += 1
        with np.errstate(all="ignore"):
            network(np.zeros(network.input_size))
        network.evaluate_exact([0.0] * network.input_size)
        assert len(network.digest) == 64
        for linear in (*(stage.linear for stage in network.stages), network.output):
            for _, part in linear.sources:
                part.transposed().apply_absolute(np.zeros((part.size_out, 1)))
                part.coefficients(0)
    assert loaded > 100
