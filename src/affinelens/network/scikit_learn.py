"""Models of scikit-learn: multilayer perceptrons, alone or behind scalers and PCA in a pipeline.

Its weights have shape (in, out). An object is known by its class, so that scikit-learn itself is never imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.values import parameter
from affinelens.network.canonical import Network
from affinelens.network.note import Note, NoteKind, cut_off
from affinelens.network.piecewise_linear import PiecewiseLinear

Step = Callable[[GraphBuilder, Tensor, Any], Tensor]


def is_scikit_learn(model: Any) -> bool:
    """Whether the object's class descends from one of scikit-learn, without importing it."""
    return any(base.__module__.partition(".")[0] == "sklearn" for base in type(model).__mro__)


def network_from_scikit_learn(model: Any) -> Network:
    """Compile a fitted perceptron, or a pipeline that ends in one; a final softmax or logistic function is left out."""
    steps = _steps(model)
    if not steps:
        raise AffineLensError("the pipeline has no steps; give a fitted pipeline that ends in a perceptron")
    for step in steps:
        if _name(step) not in _STEPS:
            raise AffineLensError(
                f"a {_name(step)} is not read; give an MLPClassifier or MLPRegressor, alone or behind "
                f"{', '.join(name for name in _STEPS if not name.startswith('MLP'))} in a Pipeline"
            )
        if not hasattr(step, "n_features_in_"):
            raise AffineLensError(f"the {_name(step)} is not fitted; call fit before giving it")
    builder = GraphBuilder((int(steps[0].n_features_in_),))
    tensor = builder.input()
    for step in steps:
        if tensor.size != step.n_features_in_:
            raise AffineLensError(f"the {_name(step)} takes {step.n_features_in_} numbers but receives {tensor.size}")
        tensor = _STEPS[_name(step)](builder, tensor, step)
    return builder.finish(tensor)


def _steps(model: Any) -> list[Any]:
    """The estimators of a pipeline or of what a search found best; what passes everything through is none."""
    if hasattr(model, "best_estimator_"):
        return _steps(model.best_estimator_)
    if _name(model) != "Pipeline":
        return [model]
    return [inner for _, step in model.steps if step not in (None, "passthrough") for inner in _steps(step)]


def _name(step: Any) -> str:
    return type(step).__name__


def _perceptron(builder: GraphBuilder, tensor: Tensor, model: Any) -> Tensor:
    if model.activation not in ("relu", "identity"):
        raise AffineLensError(
            f"the {_name(model)} has activation={model.activation!r}, which is not piecewise affine; fit it with 'relu'"
        )
    for index, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        builder.begin("linear")
        tensor = builder.matmul_right(tensor, parameter(weight, f"coefs_[{index}]"))
        tensor = builder.add_constant(tensor, parameter(bias, f"intercepts_[{index}]"))
        if index < len(model.coefs_) - 1 and model.activation == "relu":
            builder.begin("ReLU")
            tensor = builder.activate(tensor, PiecewiseLinear.relu(tensor.size), f"layer {index}")
    if model.out_activation_ != "identity":
        last = {"logistic": "sigmoid"}.get(model.out_activation_, model.out_activation_)
        builder.note(cut_off(_name(model), last))
    return tensor


def _shifted_and_divided(builder: GraphBuilder, tensor: Tensor, step: Any, middle: Any, divisors: Any) -> Tensor:
    """``(x - middle) / divisors``, where either may be None; a divisor's reciprocal is rounded once."""
    if middle is not None:
        tensor = builder.add_constant(tensor, -parameter(middle, f"the middle of the {_name(step)}"))
    if divisors is None:
        return tensor
    return _divided(builder, tensor, step, parameter(divisors, f"scale_ of the {_name(step)}"))


def _divided(builder: GraphBuilder, tensor: Tensor, step: Any, divisors: Floats) -> Tensor:
    with np.errstate(divide="ignore", over="ignore"):
        factors = 1.0 / divisors
    if (np.frexp(divisors)[0] != 0.5).any():  # the reciprocal of a power of two is a float64
        builder.note(Note(NoteKind.ROUNDED, "1 / scale was rounded once to float64", _name(step)))
    return builder.scale(tensor, parameter(factors, f"1 / scale_ of the {_name(step)}"))


def _standard(builder: GraphBuilder, tensor: Tensor, step: Any) -> Tensor:
    return _shifted_and_divided(builder, tensor, step, step.mean_ if step.with_mean else None, step.scale_)


def _robust(builder: GraphBuilder, tensor: Tensor, step: Any) -> Tensor:
    middle = step.center_ if step.with_centering else None
    return _shifted_and_divided(builder, tensor, step, middle, step.scale_ if step.with_scaling else None)


def _largest_absolute(builder: GraphBuilder, tensor: Tensor, step: Any) -> Tensor:
    scaled = _shifted_and_divided(builder, tensor, step, None, step.scale_)
    return _clipped(builder, scaled, step, (-1.0, 1.0))


def _least_and_largest(builder: GraphBuilder, tensor: Tensor, step: Any) -> Tensor:
    scaled = builder.scale(tensor, parameter(step.scale_, f"scale_ of the {_name(step)}"))
    shifted = builder.add_constant(scaled, parameter(step.min_, f"min_ of the {_name(step)}"))
    return _clipped(builder, shifted, step, step.feature_range)


def _clipped(builder: GraphBuilder, tensor: Tensor, step: Any, limits: tuple[float, float]) -> Tensor:
    if not getattr(step, "clip", False):
        return tensor
    low, high = (float(limit) for limit in limits)
    builder.begin("clip")
    return builder.activate(
        tensor, PiecewiseLinear.of(tensor.size, (low, high), (0.0, 1.0, 0.0), (low, 0.0, high)), _name(step)
    )


def _principal_components(builder: GraphBuilder, tensor: Tensor, step: Any) -> Tensor:
    centered = _shifted_and_divided(builder, tensor, step, step.mean_, None)
    projected = builder.matmul_right(centered, parameter(step.components_, "components_ of the PCA").T)
    if not step.whiten:
        return projected
    spread = np.sqrt(parameter(step.explained_variance_, "explained_variance_ of the PCA"))
    return _divided(builder, projected, step, np.maximum(spread, np.finfo(step.explained_variance_.dtype).eps))


_STEPS: dict[str, Step] = {
    "MLPClassifier": _perceptron,
    "MLPRegressor": _perceptron,
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MaxAbsScaler": _largest_absolute,
    "MinMaxScaler": _least_and_largest,
    "PCA": _principal_components,
}
