"""Model in, canonical network out: the one entrance for every kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from affinelens.errors import AffineLensError, AffineLensWarning, Option, Words, warn_user
from affinelens.files.npz import read_npz
from affinelens.files.tensors import read_safetensors, read_state_dict, tensor_values
from affinelens.network.activation import Activation
from affinelens.network.arrays import as_numbers, network_from_layers, network_from_named_arrays
from affinelens.network.canonical import Network
from affinelens.network.max_groups import MaxGroups
from affinelens.network.nnet import network_from_nnet
from affinelens.network.piecewise_linear import PiecewiseLinear
from affinelens.network.scikit_learn import is_scikit_learn, network_from_scikit_learn
from affinelens.network.stage import AffineSum, Stage

__all__ = [
    "Activation",
    "AffineSum",
    "MaxGroups",
    "Network",
    "PiecewiseLinear",
    "Stage",
    "compile_model",
    "is_torch_module",
    "network",
]

_FILES = "an .onnx, .onnx.gz, .nnet, .npz, .safetensors or .pt file"
_ACCEPTED = (
    "a torch.nn.Module or exported program, a fitted scikit-learn perceptron or pipeline, a state dictionary, an "
    f"onnx.ModelProto, a path to {_FILES}, or a list of (W, b) pairs"
)
_TAKING_OPTIONS = Words("ONNX files and torch modules", "ONNX files")

_SQUARE = "give the scikit-learn model itself if they are its coefs_, or name them ({'0.weight': W, '0.bias': b, ...})"
_READERS = {".npz": read_npz, ".safetensors": read_safetensors, ".pt": read_state_dict, ".pth": read_state_dict}


def network(
    model: Any,
    *,
    input_shape: Sequence[int] | None = None,
    until: str | None = None,
    fixed: Mapping[str, ArrayLike] | None = None,
) -> Network:
    """Compile a model into the canonical network whose regions are enumerated.

    Parameters
    ----------
    model
        A ``torch.nn.Module``, a ``torch.export.ExportedProgram`` for batch size 1, a path to an ``.onnx``,
        ``.onnx.gz``, ``.nnet``, ``.npz``, ``.safetensors`` or ``.pt`` (state dictionary) file, an ``onnx.ModelProto``,
        a state dictionary, a fitted scikit-learn ``MLPClassifier`` or ``MLPRegressor`` (also behind scalers or PCA in a
        ``Pipeline``), a list of ``(W, b)`` pairs, W of shape (out, in), with ReLU between them, or a :class:`Network`,
        which is returned as it is.
    input_shape
        Shape of one input without the batch axis; needed only for torch modules whose first layer does not tell it and
        ONNX files that leave it open.
    until
        Where to cut the model: the name of an ONNX node or tensor, or of a torch submodule or exported operation, whose
        (first) output becomes the network's output.
    fixed
        Values for all inputs but one, by name, of a model that has several.

    Returns
    -------
    Network
        With the model's own numbers as coefficients; ``report()`` says what compiling changed, if anything.

    Raises
    ------
    AffineLensError
        If the model cannot be read or is not piecewise affine; the message names the operator.
    MissingExtraError
        If reading it needs a package that is not installed.

    Examples
    --------
    >>> import affinelens as al
    >>> net = al.network([([[1.0], [-1.0]], [0.0, 0.5]), ([[1.0, 1.0]], [0.0])])
    >>> net
    Network(1-2-1, 2 units in 1 stage)
    >>> net([2.0])
    array([2.])
    """
    return compile_model(model, input_shape, until=until, fixed=fixed)


def compile_model(
    model: Any,
    input_shape: Sequence[int] | None = None,
    *,
    until: str | None = None,
    fixed: Mapping[str, ArrayLike] | None = None,
    inputs: int | None = None,
) -> Network:
    """As :func:`network`; ``inputs`` is the number of inputs where nothing else tells the shape."""
    path = Path(model) if isinstance(model, str | Path) else None
    if path is not None:
        _require_file(path)
    in_onnx_file = path is not None and path.name.lower().endswith((".onnx", ".onnx.gz"))
    if in_onnx_file or _descends(model, "onnx.", "ModelProto"):
        from affinelens.network.onnx.importer import network_from_onnx

        return network_from_onnx(path or model, input_shape, until=until, fixed=fixed)
    if is_torch_module(model):
        from affinelens.network.torch.from_torch import network_from_module

        return network_from_module(model, input_shape, until=until, fixed=fixed, inputs=inputs)
    if _descends(model, "torch.", "ExportedProgram"):
        from affinelens.network.torch.from_torch import network_from_program

        return network_from_program(model, input_shape, until=until, fixed=fixed)
    for option, value in {"until": until, "fixed": fixed, "input_shape": input_shape}.items():
        if value is not None:
            got = type(model).__name__ if path is None else str(path)
            raise AffineLensError(Option(option), " is for ", _TAKING_OPTIONS, f" only, but got {got}; leave it out")
    if isinstance(model, Network):
        return model
    if path is not None:
        return _from_file(path)
    if isinstance(model, Sequence):
        compiled = network_from_layers(model)
        for note in compiled.notes:
            warn_user(AffineLensWarning(f"{note}; {_SQUARE}"))
        return compiled
    if is_scikit_learn(model):
        return network_from_scikit_learn(model)
    if isinstance(model, Mapping) and all(isinstance(name, str) for name in model):
        arrays = {name: _values(value, name) for name, value in model.items()}
        return network_from_named_arrays(arrays, "the state dictionary")
    raise AffineLensError(f"cannot read a network from {type(model).__name__}; give {_ACCEPTED}")


def _values(value: Any, name: str) -> NDArray[Any]:
    """An entry of a state dictionary: a torch tensor, or what numpy makes an array of."""
    if isinstance(value, Mapping):
        raise AffineLensError(
            f"the entry {name!r:.80} is a dictionary itself; if it holds the weights, give that alone"
        )
    return tensor_values(value, name) if is_torch_tensor(value) else as_numbers(value, name)


def _require_file(path: Path) -> None:
    if not path.exists():
        raise AffineLensError(f"{path}: no such file; give {_FILES}")
    if not path.is_file():
        raise AffineLensError(f"{path}: not a file; give {_FILES}")


def _from_file(path: Path) -> Network:
    suffix = path.suffix.lower()
    if suffix == ".nnet":
        return network_from_nnet(path)
    if suffix not in _READERS:
        ending = f"files ending in {suffix!r}" if suffix else "files without an ending"
        raise AffineLensError(f"{path}: {ending} are not read; give {_FILES}")
    return network_from_named_arrays(_READERS[suffix](path), str(path))


def is_torch_module(model: Any) -> bool:
    """Whether the object's class descends from torch.nn.Module, without importing torch."""
    return _descends(model, "torch.nn.modules.module", "Module")


def is_torch_tensor(value: Any) -> bool:
    """Whether the object's class descends from torch.Tensor, without importing torch."""
    return _descends(value, "torch", "Tensor")


def _descends(value: Any, package: str, name: str) -> bool:
    return any(base.__qualname__ == name and base.__module__.startswith(package) for base in type(value).__mro__)
