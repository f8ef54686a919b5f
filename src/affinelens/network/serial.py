"""A network as plain data: a JSON structure that refers to named arrays. Nothing in it can run code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.network.build.shapes import require_size
from affinelens.network.canonical import Network
from affinelens.network.composed_maps import Chain, Sum
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import Dense, LinearMap, Scale, Select, Sparse
from affinelens.network.max_groups import MaxGroups
from affinelens.network.note import Note, NoteKind
from affinelens.network.piecewise_linear import PiecewiseLinear
from affinelens.network.stage import AffineSum, Stage

_MAP, _ACTIVATION = "a linear map", "an activation"
_KINDS: dict[str, dict[str, type[Any]]] = {
    _MAP: {kind.kind: kind for kind in (Dense, Sparse, Scale, Select, Convolution, Chain, Sum)},
    _ACTIVATION: {kind.kind: kind for kind in (PiecewiseLinear, MaxGroups)},
}
Arrays = dict[str, NDArray[Any]]


def network_to_data(network: Network) -> tuple[dict[str, Any], Arrays]:
    """The network's structure and its arrays."""
    arrays: Arrays = {}

    def keep(array: NDArray[Any]) -> str:
        name = f"a{len(arrays)}"
        arrays[name] = array
        return name

    def part(value: Any, sort: str) -> dict[str, Any]:
        if value.kind not in _KINDS[sort]:
            raise AffineLensError(f"{sort} of type {type(value).__name__} cannot be saved")
        return {"kind": value.kind, **{field.name: stored(getattr(value, field.name)) for field in fields(value)}}

    def stored(value: Any) -> Any:
        """What stands for a field of a part: an array's name, a list of numbers or of maps, or itself."""
        if isinstance(value, np.ndarray):
            return keep(value)
        if isinstance(value, tuple):
            return [part(entry, _MAP) if isinstance(entry, LinearMap) else entry for entry in value]
        return value

    def affine(total: AffineSum) -> dict[str, Any]:
        sources = [[k, part(linear, _MAP)] for k, linear in total.sources]
        bias = None if total.bias is None else part(total.bias, _MAP)
        return {"size": total.size, "sources": sources, "bias": bias, "operations": list(total.operations)}

    def stage(layer: Stage) -> dict[str, Any]:
        shown = {"name": layer.name, "kind": layer.kind, "shape": list(layer.shape)}
        return {**shown, "linear": affine(layer.linear), "activation": part(layer.activation, _ACTIVATION)}

    stages = [stage(layer) for layer in network.stages]
    structure = {
        "input_shape": list(network.input_shape),
        "stages": stages,
        "output": affine(network.output),
        "notes": [str(note) for note in network.notes],
        "note_parts": [[note.kind.value, note.text, note.place] for note in network.notes],
        "output_shape": list(network.output_shape),
    }
    return structure, arrays


def network_from_data(structure: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Network:
    """Rebuild a network; anything that does not fit together is an error."""

    def part(data: Mapping[str, Any], sort: str) -> Any:
        kind = _KINDS[sort].get(data["kind"])
        if kind is None:
            raise AffineLensError(f"{sort} of kind {data['kind']!r} is unknown")
        found = kind(**{field.name: read[field.type](data[field.name]) for field in fields(kind)})
        if sort == _MAP and not _is_sound(found):
            raise AffineLensError(f"the numbers of {sort} of kind {data['kind']!r} do not fit together")
        return found

    # By the types that fields of parts have.
    read: dict[Any, Callable[[Any], Any]] = {
        "Floats": lambda name: arrays[name].astype(np.float64),
        "Indices": lambda name: arrays[name].astype(np.int64),
        "Sizes": _shape,
        "tuple[LinearMap, ...]": lambda maps: tuple(part(inner, _MAP) for inner in maps),
        "int": int,
        "bool": bool,
    }

    def affine(data: Mapping[str, Any], sizes: list[int]) -> AffineSum:
        sources = tuple((int(k), part(linear, _MAP)) for k, linear in data["sources"])
        bias = None if data["bias"] is None else part(data["bias"], _MAP)
        size = int(data["size"])
        fits = all(0 <= k < len(sizes) and (m.size_in, m.size_out) == (sizes[k], size) for k, m in sources)
        if not fits or (bias is not None and (bias.size_in, bias.size_out) != (1, size)):
            raise AffineLensError("the sizes of its linear maps do not fit together")
        return AffineSum(size, sources, bias, tuple(str(label) for label in data.get("operations", ())))

    shape = _shape(structure["input_shape"])
    if min(shape, default=1) < 1:
        raise AffineLensError(f"an input of shape {shape} holds nothing")
    sizes = [prod(shape)]
    stages = []
    for data in structure["stages"]:
        kind, outputs = str(data.get("kind", "")), _shape(data.get("shape", ()))
        activation = part(data["activation"], _ACTIVATION)
        stage = Stage(str(data["name"]), affine(data["linear"], sizes), activation, kind, outputs)
        if stage.activation.size_in != stage.linear.size:
            raise AffineLensError("a stage's activation does not fit its linear map")
        sizes.append(stage.activation.size_out)
        stages.append(stage)
    output = affine(structure["output"], sizes)
    return Network(shape, tuple(stages), output, _notes(structure), _shape(structure.get("output_shape", ())))


def _is_sound(part: LinearMap) -> bool:
    """Whether a map's numbers are finite, lead to inputs that there are, and make sizes that a tensor may have."""
    require_size(max(part.size_in, part.size_out), "a linear map")
    match part:
        case Dense():
            return part.weight.ndim == 2 and bool(np.isfinite(part.weight).all())
        case Scale():
            return part.factors.ndim == 1 and part.over > 0 and bool(np.isfinite(part.factors).all())
        case Select():
            return part.indices.ndim == 1 and _are_below(part.indices, part.size_in, lowest=-1)
        case Sparse():
            counts = np.diff(part.starts, prepend=0, append=len(part.columns))
            return (
                part.starts.ndim == part.columns.ndim == part.values.ndim == 1
                and len(part.columns) == len(part.values)
                and len(part.starts) > 0
                and not (counts[0] or counts[-1] or (counts < 0).any())
                and _are_below(part.columns, part.size_in)
                and bool(np.isfinite(part.values).all())
            )
        case Chain():
            return all(first.size_out == second.size_in for first, second in pairwise(part.maps))
        case Sum():
            return len({(inner.size_in, inner.size_out) for inner in part.maps}) == 1
        case Convolution():
            return bool(np.isfinite(part.kernel).all())
    return False


def _are_below(places: NDArray[np.int64], size: int, lowest: int = 0) -> bool:
    return bool(((places >= lowest) & (places < size)).all())


def _shape(data: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in data)


def _notes(structure: Mapping[str, Any]) -> tuple[Note, ...]:
    """The notes from their parts or, in what earlier versions saved, from their sentences."""
    if "note_parts" in structure:
        return tuple(Note(NoteKind(kind), str(text), str(place)) for kind, text, place in structure["note_parts"])
    return tuple(Note.read(str(sentence)) for sentence in structure["notes"])
