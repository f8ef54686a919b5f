"""Running the nodes of an ONNX graph: values by name, and what an operator sees of its node.

A value is a :class:`Tensor` where it depends on the input and a :class:`Constant` otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError, Option
from affinelens.network.build.builder import GraphBuilder, Shape, Tensor, checked_axis, parameter, require_size
from affinelens.network.onnx.onnx_file import Node, TensorProto, read_tensor

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers of the model in their own type, and where they come from."""

    values: Array
    name: str

    @property
    def shape(self) -> Shape:
        return self.values.shape

    def numbers(self) -> Floats:
        """The values as coefficients."""
        return parameter(self._plain(), self.name)

    def bounds(self) -> Floats:
        """The values as bounds, which may be infinite."""
        return self._plain().astype(np.float64)

    def _plain(self) -> Array:
        """numpy knows bfloat16 only through float32, which holds it exactly."""
        return self.values.astype(np.float32) if self.values.dtype.kind == "V" else self.values


Value = Tensor | Constant


class Replay:
    """The values computed so far; ``tail`` is the node to be left out because it only rescales the output."""

    def __init__(
        self, builder: GraphBuilder, stored: Mapping[str, TensorProto], folder: Path, opset: int, tail: Node | None
    ) -> None:
        self.builder = builder
        self.folder = folder
        self.opset = opset
        self.tail = tail
        self._stored = stored
        self._values: dict[str, Value] = {}
        self._input = ""

    def start(self, name: str, tensor: Tensor) -> None:
        """Name the network's input."""
        self._input = name
        self.define(name, tensor)

    def define(self, name: str, value: Value) -> None:
        self._values[name] = value

    def tensor(self, name: str) -> Tensor:
        """A value by name, as a tensor."""
        return self.lifted(self.named(name))

    def lifted(self, value: Value) -> Tensor:
        return value if isinstance(value, Tensor) else self.builder.constant(value.numbers())

    def named(self, name: str) -> Value:
        if name not in self._values:
            if name not in self._stored:
                raise AffineLensError(f"{name!r} is read, but no earlier node and no initializer defines it")
            label = f"initializer {name!r}"
            self.define(name, Constant(read_tensor(self._stored[name], self.folder, label), label))
        return self._values[name]

    def cut_before(self, node: Node) -> tuple[str | Option, ...]:
        """The advice to end the model before a node, where something is before it."""
        for name in node.inputs:
            if name != self._input and isinstance(self._values.get(name), Tensor):
                return "; ", Option("until", name), " cuts the model before it"
        return ()


@dataclass(frozen=True, eq=False)
class Call:
    """One node about to be run: its inputs as values, its attributes, and the builder."""

    replay: Replay
    node: Node

    @property
    def builder(self) -> GraphBuilder:
        return self.replay.builder

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def opset(self) -> int:
        return self.replay.opset

    def has(self, position: int) -> bool:
        return self.node.has(position)

    def value(self, position: int) -> Value:
        if not self.has(position):
            raise AffineLensError(f"input {position} is missing")
        return self.replay.named(self.node.inputs[position])

    def values(self) -> list[Value]:
        """All inputs of an operator that takes any number of them."""
        return [self.value(position) for position in range(max(len(self.node.inputs), 1))]

    def is_constant(self) -> bool:
        """Whether no input depends on the network's input."""
        return not any(isinstance(self.value(i), Tensor) for i in range(len(self.node.inputs)) if self.has(i))

    def tensor(self, position: int) -> Tensor:
        return self.lifted(self.value(position))

    def lifted(self, value: Value) -> Tensor:
        return self.replay.lifted(value)

    def constant(self, position: int) -> Constant:
        value = self.value(position)
        if isinstance(value, Tensor):
            raise AffineLensError(
                f"{self.node.inputs[position]!r} depends on the network's input; it must be a constant here"
            )
        return value

    def array(self, position: int) -> Floats:
        return self.constant(position).numbers()

    def integers(self, position: int) -> list[int]:
        constant = self.constant(position)
        if constant.values.dtype.kind not in "iu":
            raise AffineLensError(f"{constant.name} holds {constant.values.dtype}; integers are needed")
        return [int(entry) for entry in constant.values.ravel()]

    def reduced_axes(self, rank: int) -> list[int] | None:
        """The axes of a reduction, from an input or an attribute; None where the operator is asked to do nothing."""
        given = self.integers(1) if self.has(1) else self.node.integers("axes")
        if not given:
            return None if self.node.integer("noop_with_empty_axes", 0) else list(range(rank))
        return sorted({checked_axis(axis, rank) for axis in given})

    def result(self, values: Array) -> Constant:
        """A constant that this node has computed."""
        return Constant(np.asarray(values), f"constant {self.node.outputs[0]!r}")

    def rearranged(self, value: Value, shape: Sequence[int], move: Callable[[Array], Array]) -> Value:
        """A value whose entries are moved, as ``move`` does with an array, to a tensor of the given shape."""
        require_size(prod(shape), f"a tensor of shape {tuple(shape)}")
        if isinstance(value, Tensor):
            return self.builder.rearrange(value, move(value.positions))
        return Constant(move(value.values), value.name)

    def with_shape(self, value: Value, shape: Shape) -> Value:
        if min(shape, default=0) < 0 or prod(shape) != prod(value.shape):
            raise AffineLensError(f"a tensor of shape {value.shape} cannot be reshaped to {shape}")
        if isinstance(value, Tensor):
            return self.builder.reshape(value, shape)
        return Constant(value.values.reshape(shape), value.name)

    def refuse(self, reason: str) -> NoReturn:
        """Refuse the node, with the place where the model can be cut."""
        raise AffineLensError(reason, *self.replay.cut_before(self.node))


Operator = Callable[[Call], Value | list[Value]]
