"""A network as plain data: a JSON structure that refers to named arrays. Nothing in it can run code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.network.activation import Activation
from affinelens.network.canonical import AffineSum, Network, Stage
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import Chain, Dense, LinearMap, Scale, Select, Sparse, Sum
from affinelens.network.max_groups import MaxGroups
from affinelens.network.note import Note, NoteKind
from affinelens.network.piecewise_linear import PiecewiseLinear

_CONVOLUTION_SIZES = ("sizes_in", "sizes_out", "strides", "dilations", "before")
_ACTIVATIONS: dict[str, type[Activation]] = {kind.kind: kind for kind in (PiecewiseLinear, MaxGroups)}
Arrays = dict[str, NDArray[Any]]


def network_to_data(network: Network) -> tuple[dict[str, Any], Arrays]:
    """The network's structure and its arrays."""
    arrays: Arrays = {}

    def keep(array: NDArray[Any]) -> str:
        name = f"a{len(arrays)}"
        arrays[name] = array
        return name

    def linear(part: LinearMap) -> dict[str, Any]:
        match part:
            case Dense():
                return {"kind": "dense", "weight": keep(part.weight)}
            case Sparse():
                stored = {"starts": keep(part.starts), "columns": keep(part.columns), "values": keep(part.values)}
                return {"kind": "sparse", "size_in": part.size_in, **stored}
            case Scale():
                return {"kind": "scale", "factors": keep(part.factors), "over": part.over}
            case Select():
                return {"kind": "select", "indices": keep(part.indices), "size_in": part.size_in}
            case Convolution():
                sizes = {name: list(getattr(part, name)) for name in _CONVOLUTION_SIZES}
                return {"kind": "convolution", "kernel": keep(part.kernel), "adjoint": part.adjoint, **sizes}
            case Chain() | Sum():
                kind = "chain" if isinstance(part, Chain) else "sum"
                return {"kind": kind, "maps": [linear(inner) for inner in part.maps]}
        raise AffineLensError(f"a linear map of type {type(part).__name__} cannot be saved")

    def affine(total: AffineSum) -> dict[str, Any]:
        sources = [[k, linear(part)] for k, part in total.sources]
        bias = None if total.bias is None else linear(total.bias)
        return {"size": total.size, "sources": sources, "bias": bias, "operations": list(total.operations)}

    def activation(function: Activation) -> dict[str, Any]:
        if function.kind not in _ACTIVATIONS:
            raise AffineLensError(f"an activation of type {type(function).__name__} cannot be saved")
        return {"kind": function.kind, **{name: keep(array) for name, array in function.arrays().items()}}

    def stage(part: Stage) -> dict[str, Any]:
        shown = {"name": part.name, "kind": part.kind, "shape": list(part.shape)}
        return {**shown, "linear": affine(part.linear), "activation": activation(part.activation)}

    stages = [stage(part) for part in network.stages]
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

    def floats(name: str) -> NDArray[np.float64]:
        numbers = arrays[name].astype(np.float64)
        if not np.isfinite(numbers).all():
            raise AffineLensError("its network has a weight that is NaN or infinite")
        return numbers

    def indices(name: str) -> NDArray[np.int64]:
        return arrays[name].astype(np.int64)

    def linear(data: Mapping[str, Any]) -> LinearMap:
        kind = data["kind"]
        if kind == "dense":
            return Dense(floats(data["weight"]))
        if kind == "sparse":
            return Sparse(
                indices(data["starts"]), indices(data["columns"]), floats(data["values"]), int(data["size_in"])
            )
        if kind == "scale":
            return Scale(floats(data["factors"]), int(data["over"]))
        if kind == "select":
            return Select(indices(data["indices"]), int(data["size_in"]))
        if kind == "convolution":
            sizes = {name: tuple(int(size) for size in data[name]) for name in _CONVOLUTION_SIZES}
            return Convolution(floats(data["kernel"]), **sizes, adjoint=bool(data["adjoint"]))
        if kind in ("chain", "sum"):
            maps = tuple(linear(inner) for inner in data["maps"])
            return Chain(maps) if kind == "chain" else Sum(maps)
        raise AffineLensError(f"a linear map of kind {kind!r} is unknown")

    def affine(data: Mapping[str, Any], sizes: list[int]) -> AffineSum:
        sources = tuple((int(k), linear(part)) for k, part in data["sources"])
        bias = None if data["bias"] is None else linear(data["bias"])
        size = int(data["size"])
        fits = all(0 <= k < len(sizes) and (m.size_in, m.size_out) == (sizes[k], size) for k, m in sources)
        if not fits or (bias is not None and (bias.size_in, bias.size_out) != (1, size)):
            raise AffineLensError("the sizes of its linear maps do not fit together")
        return AffineSum(size, sources, bias, tuple(str(label) for label in data.get("operations", ())))

    def activation(data: Mapping[str, Any]) -> Activation:
        kind = _ACTIVATIONS.get(data["kind"])
        if kind is None:
            raise AffineLensError(f"an activation of kind {data['kind']!r} is unknown")
        return kind.from_arrays({name: arrays[stored] for name, stored in data.items() if name != "kind"})

    def shape_of(data: Sequence[Any]) -> tuple[int, ...]:
        return tuple(int(n) for n in data)

    shape = shape_of(structure["input_shape"])
    sizes = [prod(shape)]
    stages = []
    for data in structure["stages"]:
        kind, outputs = str(data.get("kind", "")), shape_of(data.get("shape", ()))
        stage = Stage(str(data["name"]), affine(data["linear"], sizes), activation(data["activation"]), kind, outputs)
        if stage.activation.size_in != stage.linear.size:
            raise AffineLensError("a stage's activation does not fit its linear map")
        sizes.append(stage.activation.size_out)
        stages.append(stage)
    output = affine(structure["output"], sizes)
    return Network(shape, tuple(stages), output, _notes(structure), shape_of(structure.get("output_shape", ())))


def _notes(structure: Mapping[str, Any]) -> tuple[Note, ...]:
    """The notes from their parts or, in what earlier versions saved, from their sentences."""
    if "note_parts" in structure:
        return tuple(Note(NoteKind(kind), str(text), str(place)) for kind, text, place in structure["note_parts"])
    return tuple(Note.read(str(sentence)) for sentence in structure["notes"])
