"""Plain multilayer perceptrons from arrays: W0, b0, W1, b1, ..., ReLU between, none after the last.

A weight has shape (out, in). Arrays with names, as files and state dictionaries have them, are brought in order by
these and by their shapes; where neither tells, the order is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.errors import AffineLensError, Words
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.values import parameter
from affinelens.network.canonical import Network
from affinelens.network.note import Note, NoteKind
from affinelens.network.piecewise_linear import PiecewiseLinear

Layer = tuple[ArrayLike, ArrayLike | None]

_STORED_AS_IN_OUT = (
    ": weights have shape (out, in), so transpose those stored as (in, out), or pass the scikit-learn model itself"
)
_OTHER_LAYERS = "; of a network with layers of other kinds, give the module itself or an ONNX file"
# So many beginnings of orders are looked at before layers count as out of order.
_MOST_TRIED = 10_000


def network_from_layers(layers: Iterable[Layer], *, told: bool = False) -> Network:
    """A network from (W, b) pairs; ``told`` says that weights are known to have shape (out, in)."""
    pairs = [_layer(index, layer) for index, layer in enumerate(layers)]
    if not pairs:
        raise AffineLensError("an empty list of layers is not a network; give at least one (W, b) pair")
    builder = GraphBuilder((pairs[0][0].shape[1],))
    if not told and all(len(w) == w.shape[1] for w, _ in pairs) and any((w != w.T).any() for w, _ in pairs):
        taken = "all weights are square, so that their shapes do not tell; they are taken as (out, in)"
        builder.note(Note(NoteKind.ASSUMED, taken))
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
            builder.begin("ReLU")
            tensor = builder.activate(tensor, PiecewiseLinear.relu(tensor.size), f"layer {index}")
    return builder.finish(tensor)


def _layer(index: int, layer: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    if not isinstance(layer, Sequence) or len(layer) != 2:
        raise AffineLensError(f"layer {index} is not a (W, b) pair; give a list such as [(W0, b0), (W1, b1)]")
    weight = _matrix(layer[0], f"the weight of layer {index}")
    if layer[1] is None:
        return weight, None
    bias = as_numbers(layer[1], f"the bias of layer {index}").reshape(-1)
    if len(bias) != len(weight):
        raise AffineLensError(
            f"layer {index} has a weight of shape {weight.shape} and {len(bias)} biases; they must match"
            + (_STORED_AS_IN_OUT if len(bias) == weight.shape[1] else "")
        )
    return weight, bias


def as_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """A parameter as float64, from whatever numpy makes an array of."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise AffineLensError(f"{name} is not a rectangular array of numbers") from None
    return parameter(array, name)


def _matrix(values: Any, name: str) -> NDArray[np.float64]:
    array = as_numbers(values, name)
    if array.ndim != 2 or 0 in array.shape:
        other = _OTHER_LAYERS if array.ndim > 2 else ""
        raise AffineLensError(f"{name} must be a matrix (out, in), but has shape {array.shape}{other}")
    return array


def network_from_named_arrays(arrays: Mapping[str, NDArray[Any]], source: str) -> Network:
    """Pair weights with biases by name (``W0``/``b0``, ``0.weight``/``0.bias``), or else by turns.

    Layers whose names differ in numbers only come in the order of these; otherwise the shapes have to tell.
    """
    if not arrays:
        raise AffineLensError(f"{source}: holds no arrays; W0, b0, W1, b1, ... are expected")
    roles = {name: _role(name) for name in arrays}
    if any(kind is None for kind, _ in roles.values()):
        layers = _taken_by_turns(dict(arrays), source)
    else:
        layers = _paired(arrays, roles, source)
    order = [next(iter(layers))] if len(layers) == 1 else _ordered(layers, source)
    try:
        network = network_from_layers(
            [layers[stem] for stem in order], told=any(name.endswith("weight") for name in arrays)
        )
    except AffineLensError as error:
        raise error.located(source) from None
    assumed = Note(NoteKind.ASSUMED, "ReLU between the layers is assumed: a file of weights does not say")
    return replace(network, notes=(*network.notes, assumed))


def _paired(
    arrays: Mapping[str, NDArray[Any]], roles: Mapping[str, tuple[str | None, str]], source: str
) -> dict[str, Layer]:
    """Layers by what the names of their weights and biases have in common."""
    weights = {stem: arrays[name] for name, (kind, stem) in roles.items() if kind == "weight"}
    biases = {stem: arrays[name] for name, (kind, stem) in roles.items() if kind == "bias"}
    unpaired = sorted(set(biases) - set(weights))
    if unpaired:
        raise AffineLensError(
            f"{source}: bias {unpaired[0]!r:.80} has no weight of the same name; a plain MLP is expected"
        )
    return {stem: (weight, biases.get(stem)) for stem, weight in weights.items()}


def _taken_by_turns(arrays: dict[str, NDArray[Any]], source: str) -> dict[str, Layer]:
    names = sorted(arrays, key=_natural) if _numbered(arrays) else list(arrays)
    if [arrays[name].ndim for name in names] != [2, 1] * (len(names) // 2):
        shown = ", ".join(f"{name:.40}{arrays[name].shape}" for name in names[:6])
        raise AffineLensError(
            f"{source}: expected W0, b0, W1, b1, ... (matrices and vectors in turn), but found {shown}{_OTHER_LAYERS}"
        )
    pairs = zip(names[::2], names[1::2], strict=True)
    return {weight: (arrays[weight], arrays[bias]) for weight, bias in pairs}


def _ordered(layers: Mapping[str, Layer], source: str) -> list[str]:
    """The only order in which layers fit together, those whose names differ in numbers only being in theirs."""
    if _numbered(layers):
        return sorted(layers, key=_natural)
    found = list(islice(_orders({name: np.shape(layer[0]) for name, layer in layers.items()}), 2))
    if len(found) == 1:
        return list(found[0])
    shown = ", ".join(f"{name:.40}{np.shape(layer[0])}" for name, layer in list(layers.items())[:4])
    fits = "several orders" if found else "no order"
    raise AffineLensError(
        f"{source}: the names of its layers ({shown}) do not tell their order, and their shapes fit in {fits}; "
        f"number them (0.weight, 0.bias, ...) or give ",
        Words("a list of (W, b) pairs in order", "the model as an ONNX file"),
    )


def _orders(shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, ...]]:
    """Orders in which layers fit together; where looking for them takes long, one that need not fit is the last."""
    families: dict[str, list[str]] = {}
    for name in sorted(shapes, key=_natural):
        families.setdefault(_without_numbers(name), []).append(name)
    waiting: list[tuple[str, ...]] = [()]
    for _ in range(_MOST_TRIED):
        if not waiting:
            return
        taken = waiting.pop()
        if len(taken) == len(shapes):
            yield taken
        used = set(taken)
        for family in families.values():
            following = next((name for name in family if name not in used), None)
            if following is not None and (not taken or shapes[following][1:] == shapes[taken[-1]][:1]):
                waiting.append((*taken, following))
    yield from ((), ())


def _role(name: str) -> tuple[str | None, str]:
    plain = re.fullmatch(r"([wWbB])_?([0-9]+)", name)
    if plain:
        return ("weight" if plain[1] in "wW" else "bias"), plain[2]
    dotted = re.fullmatch(r"(?:(.*)\.)?(weight|bias)", name, re.DOTALL)
    if dotted:
        return dotted[2], dotted[1] or ""
    return None, name


def _without_numbers(name: str) -> str:
    return re.sub(r"[0-9]+", "#", name)


def _numbered(names: Iterable[str]) -> bool:
    """Whether names differ in their numbers only."""
    return len({_without_numbers(name) for name in names}) == 1


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that reads digits as numbers, so that layer 10 follows layer 9."""
    parts = [part.lstrip("0") if part[0] in "0123456789" else part for part in re.split(r"([0-9]+)", name) if part]
    return [(len(part), part) for part in parts]
