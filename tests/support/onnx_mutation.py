"""Damaged ONNX files: small valid models with bytes or protobuf fields changed, from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network import network
from affinelens.network.onnx.node_table import OPERATORS
from support.onnx_draws import DRAWS, drawn_model
from support.onnx_models import model, node, weights

_INTEGERS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 8, 13, 1000, 2**26, 2**31, 2**40, 2**63 - 1)
_FLOATS = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 1e-45, 3e38)
_TEXTS = ("", "x", "y", "h", "w", "b", "SAME_LOWER", "VALID", "Relu", "Conv", "Reshape", "Pad", "Cast", "vendor")


def valid_models() -> list[Any]:
    """Models that between them use every kind of node."""
    whole = np.array([1, 2, 2, 3], dtype=np.int64)
    pads = np.array([0, 0, 1, 0, 0, 0, 0, 1], dtype=np.int64)
    kernel = weights(2, 2, 2, 2).astype(np.float32)
    image = [1, 2, 4, 4]
    dense = [node("Gemm", "x w b", "h", transB=1), node("LeakyRelu", "h", "y", alpha=0.1)]
    pooled = [
        node("Conv", "x w", "h", pads=[1, 0, 0, 1], strides=[2, 1]),
        node("MaxPool", "h", "p", kernel_shape=[2, 2], ceil_mode=1),
        node("GlobalAveragePool", "p", "g"),
        node("Flatten", "g", "y"),
    ]
    moved = [
        node("ConvTranspose", "x w", "h", strides=[2, 2], output_padding=[1, 0]),
        node("Pad", "h pads", "q"),
        node("Slice", "q s e a", "z"),
        node("Concat", "z z", "c", axis=1),
        node("ReduceMax", "c", "m", axes=[1], keepdims=1),
        node("Tile", "m ones", "t"),
        node("Clip", "t low high", "y"),
    ]
    shaped = [
        node("Shape", "x", "n"),
        node("ReduceProd", "n", "count", keepdims=1),
        node("Cast", "count", "f", to=1),
        node("Cast", "f", "rows", to=7),
        node("Reshape", "x rows", "h"),
        node("Gather", "h i", "g"),
        node("Softmax", "g", "y"),
    ]
    resized = [
        node("Resize", "x - scales", "h", mode="linear"),
        node("AveragePool", "h", "a", kernel_shape=[2, 2], count_include_pad=1, pads=[1, 1, 0, 0]),
        node("Split", "a", "l y", axis=1),
    ]
    normed = [
        node("BatchNormalization", "x g s m v", "h"),
        node("PRelu", "h g", "p"),
        node("Transpose", "p", "t", perm=[0, 2, 1]),
        node("Where", "mask t p", "y"),
    ]
    placed = [
        node("GatherND", "x i", "h"),
        node("ScatterElements", "h j x", "p", axis=1),
        node("Trilu", "p k", "t"),
        node("Expand", "t n", "e"),
        node("Compress", "e c", "r", axis=2),
        node("ReverseSequence", "r l", "q", batch_axis=1, time_axis=0),
        node("CumSum", "q k", "y"),
    ]
    ones = np.ones(2, dtype=np.float32)
    options: dict[str, Any] = {"kind": 1}
    return [
        model(dense, {"w": weights(3, 2).astype(np.float32), "b": np.ones(3, np.float32)}, [1, 2], **options),
        model(pooled, {"w": kernel}, image, **options),
        model(
            moved,
            {
                "w": kernel, "pads": pads, "s": whole[:2], "e": whole[2:] * 4, "a": whole[2:], "ones": whole // 2 + 1,
                "low": np.float32(-1), "high": np.float32(1),
            },
            image, **options,
        ),
        model(shaped, {"i": whole}, [1, 2, 3], **options),
        model(resized, {"scales": np.array([1, 1, 2, 1.5], dtype=np.float32)}, image, **options),
        model(
            placed,
            {
                "i": np.zeros((1, 1), np.int64), "j": np.zeros((1, 2, 2), np.int64), "k": np.array(1),
                "n": whole[:3], "c": np.array([True, False]), "l": whole[:2],
            },
            [1, 2, 2], **options,
        ),
        model(normed, {**dict.fromkeys("gsmv", ones), "mask": np.eye(2, dtype=bool)}, [1, 2, 2], **options),
    ]  # fmt: skip


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Contents of damaged files: a sixth by bytes, the rest by fields, most of them in the nodes and constants."""
    models = valid_models()
    draws = list(DRAWS.values())
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        if rng.random() < 0.5:
            proto = drawn_model(draws[int(rng.integers(len(draws)))](rng))
        else:
            proto = type(models[0])()
            proto.CopyFrom(models[int(rng.integers(len(models)))])
        way = rng.random()
        if way < 1 / 6:
            yield _changed_bytes(proto.SerializeToString(), rng)
            continue
        for _ in range(int(rng.integers(1, 4))):
            _change_inside(proto, rng) if way < 5 / 6 else _change_field(proto, rng)
        yield proto.SerializeToString()


def _change_inside(proto: Any, rng: np.random.Generator) -> None:
    """Change a node, its operator or one of its attributes, a constant or the input's shape, and not their frame."""
    graph = proto.graph
    nodes = list(graph.node)
    if not nodes:
        return
    node = nodes[int(rng.integers(len(nodes)))]
    match int(rng.integers(6)):
        case 0:
            node.op_type = str(rng.choice(sorted(OPERATORS.table)))
        case 1 if graph.initializer:
            _change_constant(graph.initializer[int(rng.integers(len(graph.initializer)))], rng)
        case 2:
            dims = graph.input[0].type.tensor_type.shape.dim
            if dims:
                dims[int(rng.integers(len(dims)))].dim_value = int(rng.choice([0, 1, 2, 3, 5, 100, 2**20, 2**31, -1]))
        case 3:
            proto.opset_import[0].version = int(rng.integers(7, 24))
        case 4 if node.attribute:
            _change_field(node.attribute[int(rng.integers(len(node.attribute)))], rng)
        case _:
            _change_field(node, rng)


def _change_constant(tensor: Any, rng: np.random.Generator) -> None:
    """Give a constant other values, or another kind or shape."""
    if tensor.raw_data and rng.random() < 0.6:
        data = bytearray(tensor.raw_data)
        width = 8 if tensor.data_type in (7, 11) else 4
        place = int(rng.integers(max(len(data) // width, 1))) * width
        value = np.array(rng.choice(np.array(_INTEGERS, dtype=np.int64)))
        if tensor.data_type in (1, 11):
            value = np.array(rng.choice(_FLOATS), dtype=np.float32 if tensor.data_type == 1 else np.float64)
        data[place : place + width] = value.tobytes()[:width]
        tensor.raw_data = bytes(data)
    elif rng.random() < 0.5:
        tensor.data_type = int(rng.integers(0, 24))
    else:
        del tensor.dims[:]
        tensor.dims.extend(rng.choice([0, 1, 2, 3, 4, 6, 2**20, 2**40, -1], size=int(rng.integers(5))).tolist())


def _changed_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(changed)))
        way = rng.integers(4)
        if way == 0:
            changed[place] = int(rng.integers(256))
        elif way == 1:
            changed[place] ^= 1 << int(rng.integers(8))
        elif way == 2:
            del changed[place : place + int(rng.integers(1, 9))]
        else:
            other = int(rng.integers(len(changed)))
            changed[place:place] = changed[other : other + int(rng.integers(1, 17))]
        changed = changed or bytearray(b"\0")
    return bytes(changed)


def _change_field(message: Any, rng: np.random.Generator) -> None:
    """Walk down to a random field and give it another value of its kind, or take it away."""
    while True:
        fields = [(field, value) for field, value in message.ListFields()]
        if not fields:
            return
        field, value = fields[int(rng.integers(len(fields)))]
        several = field.is_repeated
        inner = value[int(rng.integers(len(value)))] if several else value
        if field.message_type is None or rng.random() < 0.05:
            break
        message = inner
    if rng.random() < 0.15 or field.message_type is not None:
        message.ClearField(field.name)
        return
    new = _other_value(inner, rng)
    try:
        if not several:
            setattr(message, field.name, new)
        elif rng.random() < 0.3:
            value.append(new)
        else:
            value[int(rng.integers(len(value)))] = new
    except (ValueError, TypeError):  # an enumeration or a shorter integer, which does not take it
        message.ClearField(field.name)


def _other_value(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, bytes):
        return bytes(rng.integers(256, size=int(rng.integers(17))).tolist())
    choices: tuple[Any, ...] = _INTEGERS
    if isinstance(value, str):
        choices = _TEXTS
    elif isinstance(value, float):
        choices = _FLOATS
    return choices[int(rng.integers(len(choices)))]


def onnx_escapes(
    count: int,
    seed: int,
    folder: Path,
    watch: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[tuple[int, bytes, Exception]]:
    """The mutants that end in anything but a network or a sentence: number, bytes and error."""
    path = folder / "mutant.onnx"
    for number, content in enumerate(mutants(count, seed)):
        path.write_bytes(content)
        try:
            with watch():
                net = network(path)
                if net.input_size < 2**20:
                    net(np.zeros(net.input_shape))
        except AffineLensError:
            continue
        except Exception as error:
            yield number, content, error
