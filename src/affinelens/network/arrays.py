"""Plain multilayer perceptrons from arrays: W0, b0, W1, b1, ..., ReLU between, none after the last.

A weight has shape (out, in). Files are read without running anything: ``.npz`` with pickling off, safetensors, and
``.pt`` state dictionaries through torch's ``weights_only`` loader.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.files.npz import read_npz
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.values import parameter
from affinelens.network.canonical import Network
from affinelens.network.note import Note, NoteKind
from affinelens.network.piecewise_linear import PiecewiseLinear

Layer = tuple[ArrayLike, ArrayLike | None]


def network_from_layers(layers: Iterable[Layer], slope: float = 0.0) -> Network:
    """A network from (W, b) pairs; ``slope`` is the activation's slope below zero."""
    pairs = [_layer(index, layer) for index, layer in enumerate(layers)]
    if not pairs:
        raise AffineLensError("an empty list of layers is not a network; give at least one (W, b) pair")
    builder = GraphBuilder((pairs[0][0].shape[1],))
    tensor = builder.input()
    for index, (weight, bias) in enumerate(pairs):
        if tensor.size != weight.shape[1]:
            raise AffineLensError(
                f"layer {index} has a weight of shape {weight.shape} but receives {tensor.size} numbers; "
                f"weights have shape (out, in), so transpose it if it is stored as (in, out)"
            )
        builder.begin("linear")
        tensor = builder.matmul_right(tensor, weight.T)
        if bias is not None:
            tensor = builder.add_constant(tensor, bias)
        if index < len(pairs) - 1:
            activation = PiecewiseLinear.two_slopes(np.full(tensor.size, slope))
            builder.begin("leaky ReLU" if slope else "ReLU")
            tensor = builder.activate(tensor, activation, f"layer {index}")
    return builder.finish(tensor)


def _layer(index: int, layer: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    if not isinstance(layer, Sequence) or len(layer) != 2:
        raise AffineLensError(f"layer {index} is not a (W, b) pair; give a list such as [(W0, b0), (W1, b1)]")
    weight = _matrix(layer[0], f"the weight of layer {index}")
    if layer[1] is None:
        return weight, None
    bias = _numbers(layer[1], f"the bias of layer {index}").reshape(-1)
    if len(bias) != len(weight):
        raise AffineLensError(
            f"layer {index} has a weight of shape {weight.shape} and {len(bias)} biases; they must match"
        )
    return weight, bias


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise AffineLensError(f"{name} is not a rectangular array of numbers") from error
    return parameter(array, name)


def _matrix(values: Any, name: str) -> NDArray[np.float64]:
    array = _numbers(values, name)
    if array.ndim != 2 or 0 in array.shape:
        raise AffineLensError(f"{name} must be a matrix (out, in), but has shape {array.shape}")
    return array


def network_from_npz(path: Path) -> Network:
    """A network from an ``.npz`` file holding W0, b0, W1, b1, ... (by name, or else in the file's order)."""
    return network_from_named_arrays(read_npz(path), str(path))


def network_from_safetensors(path: Path) -> Network:
    """A network from a safetensors file whose tensors are the weights and biases of a plain MLP.

    The format does not keep the order of tensors, so their names must: by numbers and nothing else.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(path)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise AffineLensError(f"{path}: not a readable safetensors file of float or integer tensors") from error
    stems = {_role(name)[1] for name in arrays}
    if len(stems) > 1 and not _numbered(stems):
        shown = ", ".join(sorted(stems)[:4])
        raise AffineLensError(
            f"{path}: the names of its layers ({shown}) do not tell their order; number them (0.weight, 0.bias, ...)"
        )
    return network_from_named_arrays(arrays, str(path))


def network_from_state_dict(path: Path) -> Network:
    """A network from a ``.pt`` file that holds nothing but weights (a state dictionary of a plain MLP)."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError.for_extra("torch", "torch", f"reading {path}") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile pickle fails in many ways; none of them has run anything
        raise AffineLensError(
            f"{path}: not a file of plain weights (anything else could run code when loaded); "
            f"save model.state_dict(), or load the model yourself and pass the module"
        ) from error
    if isinstance(stored, Mapping) and isinstance(stored.get("state_dict"), Mapping):
        stored = stored["state_dict"]
    if not isinstance(stored, Mapping) or not all(isinstance(v, torch.Tensor) for v in stored.values()):
        raise AffineLensError(f"{path}: holds {type(stored).__name__}, not a state dictionary; save model.state_dict()")
    arrays = {str(name): value.detach().to(torch.float64).numpy() for name, value in stored.items()}
    return network_from_named_arrays(arrays, str(path))


def network_from_named_arrays(arrays: Mapping[str, NDArray[Any]], source: str) -> Network:
    """Pair weights with biases by name (``W0``/``b0``, ``0.weight``/``0.bias``), or else by turns.

    Layers come in the order of their numbers where their names differ in nothing else, and as stored otherwise.
    """
    if not arrays:
        raise AffineLensError(f"{source}: holds no arrays; W0, b0, W1, b1, ... are expected")
    roles = {name: _role(name) for name in arrays}
    if any(kind is None for kind, _ in roles.values()):
        return _from_turns(dict(arrays), source)
    weights = {stem: arrays[name] for name, (kind, stem) in roles.items() if kind == "weight"}
    biases = {stem: arrays[name] for name, (kind, stem) in roles.items() if kind == "bias"}
    unpaired = sorted(set(biases) - set(weights))
    if unpaired:
        raise AffineLensError(f"{source}: bias {unpaired[0]!r} has no weight of the same name; a plain MLP is expected")
    stems = sorted(weights, key=_natural) if _numbered(weights) else list(weights)
    return _from_file_layers([(weights[stem], biases.get(stem)) for stem in stems], source)


def _from_turns(arrays: dict[str, NDArray[Any]], source: str) -> Network:
    names = sorted(arrays, key=_natural) if _numbered(arrays) else list(arrays)
    if [arrays[name].ndim for name in names] != [2, 1] * (len(names) // 2):
        shown = ", ".join(f"{name}{arrays[name].shape}" for name in names[:6])
        raise AffineLensError(
            f"{source}: expected W0, b0, W1, b1, ... (matrices and vectors in turn), but found {shown}"
        )
    pairs = zip(names[::2], names[1::2], strict=True)
    return _from_file_layers([(arrays[weight], arrays[bias]) for weight, bias in pairs], source)


def _from_file_layers(layers: list[Layer], source: str) -> Network:
    try:
        network = network_from_layers(layers)
    except AffineLensError as error:
        raise error.located(source) from error
    assumed = Note(NoteKind.ASSUMED, "ReLU between the layers is assumed: a file of weights does not say")
    return replace(network, notes=(*network.notes, assumed))


def _role(name: str) -> tuple[str | None, str]:
    plain = re.fullmatch(r"([wWbB])_?(\d+)", name)
    if plain:
        return ("weight" if plain[1] in "wW" else "bias"), plain[2]
    dotted = re.fullmatch(r"(?:(.*)\.)?(weight|bias)", name)
    if dotted:
        return dotted[2], dotted[1] or ""
    return None, name


def _numbered(names: Iterable[str]) -> bool:
    """Whether names differ in their numbers only."""
    return len({re.sub(r"\d+", "#", name) for name in names}) == 1


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that reads digits as numbers, so that layer 10 follows layer 9."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]
