"""What an ONNX node is read from: its inputs as values, and its attributes.

A value is a :class:`Tensor` where it depends on the input and a :class:`Constant` otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.replay import Call, Operator, Replay
from affinelens.network.build.shapes import checked_axis
from affinelens.network.build.values import Constant, Value, lifted
from affinelens.network.onnx.model_file import Node, TensorProto, read_tensor


class NodeReplay(Replay[str]):
    """The values so far, by name, and what the file stores, which is read when it is needed."""

    def __init__(
        self, builder: GraphBuilder, stored: Mapping[str, TensorProto], folder: Path | None, opset: int, kind: int
    ) -> None:
        super().__init__(builder)
        self.folder = folder
        self.opset = opset
        self.kind = kind  # the type of the network's input
        self._stored = stored

    def named(self, key: str) -> Value:
        if key not in self._values:
            if key not in self._stored:
                raise AffineLensError(f"{key!r} is read, but no earlier node and no initializer defines it")
            label = f"initializer {key!r}"
            self._values[key] = Constant(read_tensor(self._stored[key], self.folder, label), label)
        value: Value = self._values[key]
        return value


class NodeCall(Call):
    """One node about to be run; its inputs are known by their positions."""

    replay: NodeReplay
    node: Node

    @property
    def opset(self) -> int:
        return self.replay.opset

    def has(self, position: int) -> bool:
        return self.node.has(position)

    def value(self, key: int) -> Value:
        if not self.has(key):
            raise AffineLensError(f"input {key} is missing")
        return tensor_value(self.replay.named(self.node.inputs[key]), f"input {key}")

    def sequence(self, key: int) -> tuple[Value, ...]:
        """An input that is a sequence of at least one tensor."""
        held: Any = self.replay.named(self.node.inputs[key]) if self.has(key) else None
        if not isinstance(held, tuple) or not held:
            raise AffineLensError(f"input {key} must be a sequence of tensors")
        return held

    def given(self) -> list[int]:
        """The positions of the inputs that are given."""
        return [position for position in range(len(self.node.inputs)) if self.has(position)]

    def values(self) -> list[Value]:
        """All inputs of an operator that takes any number of them."""
        return [self.value(position) for position in range(max(len(self.node.inputs), 1))]

    def integers(self, position: int) -> list[int]:
        constant = self.constant(position)
        if constant.values.dtype.kind not in "iu":
            raise AffineLensError(f"{constant.name} holds {constant.values.dtype}; integers are needed")
        return [int(entry) for entry in constant.values.ravel()]

    def listed(self, position: int, attribute: str) -> list[int] | None:
        """Integers from an input, as newer operator sets have them, or from an attribute."""
        return self.integers(position) if self.has(position) else self.node.integers(attribute)

    def tensors(self) -> list[Tensor]:
        """All inputs as tensors."""
        return [lifted(self.builder, value) for value in self.values()]

    def axis(self, default: int, rank: int) -> int:
        return checked_axis(self.node.integer("axis", default), rank)

    def reduced_axes(self) -> list[int] | None:
        """The axes of a reduction; None where the operator is asked to do nothing."""
        rank = len(self.value(0).shape)
        given = self.listed(1, "axes")
        if not given:
            return None if self.node.integer("noop_with_empty_axes", 0) else list(range(rank))
        return sorted({checked_axis(axis, rank) for axis in given})

    def scores(self) -> tuple[Value, Sequence[int]]:
        value = self.value(0)
        if self.node.operator in ("Sigmoid", "Tanh"):
            return value, ()
        rank = len(value.shape)
        axis = self.axis(-1 if self.opset >= 13 else 1, rank)
        return value, range(axis, axis + 1 if self.opset >= 13 else rank)

    def why_unread(self) -> str:
        operator = self.node.operator
        if "." in operator:
            return f"belongs to the custom domain {operator.rpartition('.')[0]!r}, but only standard operators are read"
        if operator in ("If", "Loop", "Scan", "SequenceMap"):
            return "control flow is not read; export the model with the branch or the loop resolved"
        if "Quantize" in operator or "QLinear" in operator or operator.endswith("Integer"):
            return "quantised operators round and are not piecewise affine; export the model before quantisation"
        if "Sequence" in operator or operator.startswith("Optional"):
            return "sequences that are built up step by step and optional values are not read; tensors are needed"
        return super().why_unread()


def tensor_value(value: Any, what: str) -> Value:
    """A value that is a single tensor, and no sequence of them."""
    if isinstance(value, tuple):
        raise AffineLensError(f"{what} is a sequence; a tensor is needed")
    found: Value = value
    return found


def number(attribute: str, default: float) -> Operator:
    return lambda call: call.node.number(attribute, default)


def flag(attribute: str, default: int) -> Operator:
    return lambda call: bool(call.node.integer(attribute, default))
