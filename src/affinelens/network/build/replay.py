"""Carrying out a model's operations one after the other; what every importer shares.

An importer gives nodes, which say what they read and make, a kind of call, which reads a node's inputs and attributes,
and a table of operators. An entry of the table says which function means the operator and what it is read from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError, Option
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.graph import Node, is_curved, jumps
from affinelens.network.build.values import Comparison, Constant, RefusedError, SignOf, Value, lifted
from affinelens.network.note import cut_off

Key = TypeVar("Key", bound=Hashable)
Operator = Callable[[Any], Any]


class Replay(Generic[Key]):
    """The values so far, by key: tensors where they depend on the input, else what the importer has for constants."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder = builder
        self._values: dict[Key, Any] = {}
        self._input: Key | None = None

    def start(self, key: Key, tensor: Tensor) -> None:
        """Begin with the network's input."""
        self._input = key
        self.define(key, tensor)

    def define(self, key: Key, value: Any) -> None:
        """Keep a value; a result that the model does not name is not read again."""
        if key:
            self._values[key] = value

    def named(self, key: Key) -> Any:
        return self._values[key]

    def depends(self, node: Node[Key]) -> bool:
        """Whether a node reads something that depends on the network's input."""
        return any(holds_tensor(self._values.get(key)) for key in node.inputs)

    def cut_before(self, node: Node[Key]) -> tuple[str | Option, ...]:
        """The advice to end the model before a node, where something is before it."""
        for key in node.inputs:
            value = self._values.get(key)
            if key != self._input and holds_tensor(value) and not isinstance(value, Comparison | SignOf):
                return "; ", Option("until", str(key)), " cuts the model before it"
        return ()


def holds_tensor(value: Any) -> bool:
    return isinstance(value, Tensor | Comparison | SignOf) or (
        isinstance(value, tuple | list) and any(map(holds_tensor, value))
    )


@dataclass(frozen=True, eq=False)
class Call(ABC):
    """One node about to be carried out: what the table reads an operator's arguments from.

    A key says which argument, in the importer's way: a position or a name.
    """

    replay: Any
    node: Any

    @property
    def builder(self) -> GraphBuilder:
        builder: GraphBuilder = self.replay.builder
        return builder

    @property
    def name(self) -> str:
        """What a stage that the node closes is called."""
        return str(self.node.name)

    @abstractmethod
    def value(self, key: Any) -> Any:
        """An argument as a tensor or a constant."""

    @abstractmethod
    def scores(self) -> tuple[Value, Sequence[int]]:
        """What a tail turns into probabilities, and the axes along which it makes them add up to 1."""

    def tensor(self, key: Any) -> Tensor:
        return lifted(self.builder, self.value(key))

    def constant(self, key: Any) -> Constant:
        value = self.value(key)
        if not isinstance(value, Constant):
            raise AffineLensError(f"input {key} depends on the network's input; it must be a constant here")
        return value

    def numbers(self, key: Any) -> Floats:
        return self.constant(key).numbers()

    def why_unread(self) -> str:
        """Why the operator is not in the table."""
        operator = self.node.operator
        return (
            "this operator jumps and is not continuous"
            if jumps(operator)
            else ("this operator is not piecewise affine" if is_curved(operator) else "this operator is not read")
        )


@dataclass(frozen=True)
class Operators:
    """An importer's operators by name, and how it carries out those on constants alone, None where the table does."""

    table: Mapping[str, Operator]
    fold: Callable[[Any], Any]

    def run(self, call: Call, *, tail: bool) -> Any:
        """What a node makes; ``tail`` says that it only rescales the output and is left out."""
        try:
            return _without_tail(call) if tail else self._evaluated(call)
        except RefusedError as error:
            raise AffineLensError(*error.parts, *call.replay.cut_before(call.node)).located(call.node.place) from None
        except AffineLensError as error:
            raise error.located(call.node.place) from None
        except (ValueError, TypeError, OverflowError, MemoryError, IndexError, RuntimeError) as error:
            cause = " ".join(str(error).split())
            raise AffineLensError(f"{call.node.place}: does not fit its inputs ({cause})") from None

    def _evaluated(self, call: Call) -> Any:
        folded = None if call.replay.depends(call.node) else self.fold(call)
        if folded is not None:
            return folded
        if call.node.operator not in self.table:
            raise RefusedError(call.why_unread())
        call.builder.begin(call.node.label)
        return self.table[call.node.operator](call)


def _without_tail(call: Call) -> Tensor:
    """The scores that the model's last step turns into probabilities."""
    value, axes = call.scores()
    operator = call.node.operator.strip("_")
    if axes and prod(size for axis in axes for size in value.shape[axis : axis + 1]) == 1:
        raise RefusedError(f"{operator} over axis {axes[0]} of a tensor of shape {value.shape} is constant")
    call.builder.note(cut_off(call.name, operator))
    return lifted(call.builder, value)


def does(meaning: Callable[..., Any], *readers: Operator, **attributes: Operator) -> Operator:
    """An operator's entry in a table: the function that means it, and what reads each of its arguments from a call."""

    def operator(call: Call) -> Any:
        named = {argument: read(call) for argument, read in attributes.items()}
        return meaning(call.builder, *(read(call) for read in readers), **named)

    return operator


def value(key: Any) -> Operator:
    return lambda call: call.value(key)


def tensor(key: Any) -> Operator:
    return lambda call: call.tensor(key)


def numbers(key: Any) -> Operator:
    """An argument that must be a constant."""
    return lambda call: call.numbers(key)


def name(call: Call) -> str:
    return call.name


def always(value: Any) -> Operator:
    """A reader of what no call changes."""
    return lambda call: value


def first_of(operator: Operator) -> Operator:
    """An operator of several results, of which all but the first are not read."""
    return lambda call: (operator(call),)
