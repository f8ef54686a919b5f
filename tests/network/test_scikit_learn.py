"""Models of scikit-learn: the network computes what they do, and says what it leaves out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.network.note import NoteKind

pytest.importorskip("sklearn")
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

GENERATOR = np.random.default_rng(7)
POINTS = GENERATOR.normal(size=(60, 4)) * [1, 5, 0.1, 30] + [3, 0, -1, 10]
TARGETS = POINTS @ [[1.0, 0.5], [-0.2, 0.1], [2.0, 1.0], [0.0, 0.1]]


def fitted(model: Any, targets: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps of training do not converge
        return model.fit(POINTS, targets)


@pytest.mark.parametrize(
    "before",
    [
        (),
        (StandardScaler(),),
        (StandardScaler(with_mean=False),),
        (StandardScaler(with_std=False),),
        (RobustScaler(),),
        (RobustScaler(with_centering=False, with_scaling=False),),
        (MaxAbsScaler(),),
        (MinMaxScaler(),),
        (MinMaxScaler((-1, 2), clip=True),),
        (PCA(3),),
        (StandardScaler(), PCA(2, whiten=True)),
        ("passthrough", make_pipeline(StandardScaler())),
    ],
    ids=str,
)
def test_a_regressor_behind_scalers_is_the_same_function(before: tuple[Any, ...]) -> None:
    net = MLPRegressor(hidden_layer_sizes=(5, 4), random_state=0, max_iter=20)
    model = fitted(make_pipeline(*before, net) if before else net, TARGETS)
    compiled = al.network(model)
    elsewhere = POINTS * 3 - 1
    np.testing.assert_allclose(compiled(elsewhere), model.predict(elsewhere), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("classes", "last"), [(2, "sigmoid"), (3, "softmax")])
def test_a_classifiers_last_function_is_cut_off_and_noted(classes: int, last: str) -> None:
    labels = np.digitize(TARGETS[:, 0], np.quantile(TARGETS[:, 0], np.arange(1, classes) / classes))
    model = fitted(
        make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(6,), random_state=0, max_iter=50)), labels
    )
    compiled = al.network(model)
    assert compiled.output_size == (1 if classes == 2 else classes)
    outputs = compiled(POINTS)
    found = outputs[:, 0] > 0 if classes == 2 else outputs.argmax(axis=1)
    assert np.array_equal(found, model.predict(POINTS))
    (note,) = [note for note in compiled.notes if note.kind.is_cut_off]
    assert f"the final {last} was cut off" in str(note)
    (rounded,) = [note for note in compiled.notes if note.kind is NoteKind.ROUNDED]
    assert "StandardScaler: 1 / scale was rounded once" in str(rounded)


def test_of_a_search_the_best_model_is_taken() -> None:
    model = MLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=2)
    search = fitted(
        GridSearchCV(make_pipeline(StandardScaler(), model), {"mlpregressor__alpha": [0.1, 1.0]}, cv=2), TARGETS
    )
    assert al.network(search).digest == al.network(search.best_estimator_).digest


def test_a_perceptron_alone_keeps_its_own_numbers() -> None:
    model = fitted(MLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=5), TARGETS)
    compiled = al.network(model)
    assert not compiled.notes
    layers = [(w.T, b) for w, b in zip(model.coefs_, model.intercepts_, strict=True)]
    point = POINTS[0].tolist()
    assert compiled.evaluate_exact(point) == al.network(layers).evaluate_exact(point)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            MLPRegressor(hidden_layer_sizes=(3,), activation="tanh", max_iter=2),
            "activation='tanh', which is not piecewise affine",
        ),
        (make_pipeline(Normalizer(), MLPRegressor(hidden_layer_sizes=(3,), max_iter=2)), "a Normalizer is not read"),
    ],
)
def test_what_is_not_piecewise_affine_is_named(model: Any, message: str) -> None:
    with pytest.raises(al.AffineLensError, match=message):
        al.network(fitted(model, TARGETS))


def test_a_model_that_is_not_fitted_is_named() -> None:
    with pytest.raises(al.AffineLensError, match="the MLPClassifier is not fitted; call fit"):
        al.network(MLPClassifier())


def test_weights_stored_as_in_out_are_named_with_the_fix() -> None:
    model = fitted(MLPRegressor(hidden_layer_sizes=(5,), random_state=0, max_iter=2), TARGETS)
    with pytest.raises(al.AffineLensError, match=r"pass the scikit-learn model itself"):
        al.network(list(zip(model.coefs_, model.intercepts_, strict=True)))


def test_square_weights_whose_shapes_tell_nothing_are_warned_of_and_noted() -> None:
    square = np.array([[1.0, 2.0], [0.0, 1.0]])
    with pytest.warns(al.AffineLensWarning, match="give the scikit-learn model itself"):
        compiled = al.network([(square, np.zeros(2)), (square, np.zeros(2))])
    assert compiled([1.0, 0.0]).tolist() == [1.0, 0.0]
    assert any("taken as (out, in)" in str(note) for note in compiled.notes)
    assert not al.network([(square + square.T, np.zeros(2))]).notes
    named = al.network({"0.weight": square, "0.bias": np.zeros(2), "1.weight": square, "1.bias": np.zeros(2)})
    assert named.digest == compiled.digest  # names of torch say it
    assert not any("square" in str(note) for note in named.notes)
