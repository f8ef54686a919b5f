"""Running an exported torch graph: values by node, and what an operator sees of its node.

A value is a :class:`Tensor` where it depends on the input, else what torch computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch.fx.node import Node, map_arg

from affinelens.errors import AffineLensError, Option
from affinelens.network.build.builder import GraphBuilder, Shape, Tensor, parameter, require_size

Floats = NDArray[np.float64]

# The largest size whose positions float32 counts exactly.
_COUNTED_BY_FLOAT32 = 2**24


class Replay:
    """The values computed so far, and the names of the parameters among them."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder = builder
        self._values: dict[Node, Any] = {}
        self._names: dict[Node, str] = {}
        self._input: Node | None = None

    def start(self, node: Node) -> None:
        """Begin with the network's input."""
        self._input = node
        self._values[node] = self.builder.input(batched=True)

    def define(self, node: Node, value: Any, name: str = "") -> None:
        self._values[node] = value
        if name:
            self._names[node] = name

    def knows(self, node: Node) -> bool:
        return node in self._values

    def depends(self, node: Node) -> bool:
        """Whether an operation takes something that depends on the input."""
        return any(_holds_tensor(self._values[source]) for source in node.all_input_nodes)

    def resolved(self, arguments: Any) -> Any:
        """Arguments with nodes replaced by their values."""
        return map_arg(arguments, self._values.__getitem__)

    def tensor(self, node: Node) -> Tensor:
        """A node's value, the first where it has several, as a tensor."""
        value = self._values[node]
        value = value[0] if isinstance(value, tuple | list) else value
        return self.lifted(value, node, node)

    def lifted(self, value: Any, node: Node, source: Any) -> Tensor:
        return value if isinstance(value, Tensor) else self.builder.constant(self.numbers(value, node, source))

    def numbers(self, value: Any, node: Node, source: Any) -> Floats:
        """A constant as coefficients; parameters keep their numbers."""
        name = self._names.get(source, source.name) if isinstance(source, Node) else "a number in the graph"
        return parameter(plain_numbers(value, node), name)

    def cut_before(self, node: Node) -> tuple[str | Option, ...]:
        """The advice to end the module before an operation, where something is before it."""
        for source in node.all_input_nodes:
            if source is not self._input and _holds_tensor(self._values[source]):
                return "; ", Option("until", source.name), " cuts the module before it"
        return ()


@dataclass(frozen=True, eq=False)
class Call:
    """One operation about to be run: its arguments by their names in the operator's schema, and the builder."""

    replay: Replay
    node: Node

    @property
    def builder(self) -> GraphBuilder:
        return self.replay.builder

    @property
    def name(self) -> str:
        return place(self.node)

    @property
    def shape(self) -> Shape:
        """The shape that the exporter has worked out for the (first) result."""
        return tuple(result_of(self.node).shape)

    def raw(self, argument: str) -> Any:
        """An argument as it stands in the graph."""
        known = _arguments(self.node.target).get(argument)
        if known is None:
            return None
        position, default = known
        return self.node.args[position] if position < len(self.node.args) else self.node.kwargs.get(argument, default)

    def value(self, argument: str) -> Any:
        return self.replay.resolved(self.raw(argument))

    def tensor(self, argument: str) -> Tensor:
        return self.replay.lifted(self.value(argument), self.node, self.raw(argument))

    def tensors(self, argument: str) -> list[Tensor]:
        pairs = zip(self.value(argument), self.raw(argument), strict=True)
        return [self.replay.lifted(value, self.node, source) for value, source in pairs]

    def is_constant(self, argument: str) -> bool:
        return not isinstance(self.value(argument), Tensor)

    def constant(self, argument: str) -> Any:
        value = self.value(argument)
        if isinstance(value, Tensor):
            raise AffineLensError(f"argument {argument} depends on the input too; it must be a constant")
        return value

    def array(self, argument: str) -> Floats:
        return self.replay.numbers(self.constant(argument), self.node, self.raw(argument))

    def bounds(self, argument: str, default: float) -> Floats:
        """A constant that may be infinite, or left out."""
        value = self.constant(argument)
        return np.array(default) if value is None else plain_numbers(value, self.node).astype(np.float64)

    def sizes(self, argument: str, axes: int) -> tuple[int, ...]:
        """One number for every axis; a single one stands for all."""
        given = self.value(argument)
        numbers = [given] if isinstance(given, int) else list(given)
        return tuple(numbers * axes if len(numbers) == 1 else numbers)

    def axes(self, argument: str, rank: int) -> list[int]:
        """Axes counted from the front; none given means all."""
        given = self.value(argument)
        chosen = [given] if isinstance(given, int) else list(given or range(rank))
        return sorted({axis % max(rank, 1) for axis in chosen}) if rank else []

    def moved(self) -> Any:
        """What the operator makes of its tensor by moving entries, found by letting torch move their positions.

        Positions are counted from 1, so that 0 marks an entry that the operator fills with zero.
        """
        first = self.node.target._schema.arguments[0].name
        source = self.tensor(first)
        results: Any = self.node.meta["val"]
        single = isinstance(results, torch.Tensor)
        require_size(sum(prod(each.shape) for each in ([results] if single else results)), "the result")
        short = result_of(self.node).dtype == torch.float32 and source.size < _COUNTED_BY_FLOAT32
        dtype = torch.float32 if short else torch.float64
        count = torch.arange(1, source.size + 1, dtype=dtype, device=result_of(self.node).device)
        others = self.replay.resolved(tuple(self.node.args[1:]))
        found = self.node.target(count.reshape(source.shape), *others, **self.replay.resolved(dict(self.node.kwargs)))
        moved = [
            self.builder.rearrange(source, each.cpu().numpy().astype(np.int64) - 1)
            for each in ([found] if single else found)
        ]
        return moved[0] if single else tuple(moved)

    def refuse(self, reason: str) -> NoReturn:
        """Refuse the operation, with the place where the module can be cut."""
        raise AffineLensError(reason, *self.replay.cut_before(self.node))


Operator = Callable[[Call], Any]


@cache
def _arguments(target: Any) -> dict[str, tuple[int, Any]]:
    """The arguments of an operator: their positions and defaults."""
    return {
        entry.name: (position, entry.default_value if entry.has_default_value() else None)
        for position, entry in enumerate(target._schema.arguments)
    }


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, tuple | list) and any(map(_holds_tensor, value)))


def operator_name(node: Node) -> str:
    return str(getattr(node.target, "overloadpacket", node.target))


def shown_name(node: Node) -> str:
    """An operation as the user wrote it: torch's own layer that holds it, or else the function."""
    kinds = [kind for _, kind in (node.meta.get("nn_module_stack") or {}).values()]
    kind = kinds[-1] if kinds else ""
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    container = name.startswith("torch.nn.modules.container.")
    if name.startswith("torch.nn.modules.") and not container:
        return name.rpartition(".")[2]
    return operator_name(node).removeprefix("aten.").strip("_")


def place(node: Node) -> str:
    """The module that holds an operation, if it is not the whole, and the operation's name in the exported graph."""
    stack = module_paths(node)
    return f"{stack[-1]}/{node.name}" if stack and stack[-1] else node.name


def module_paths(node: Node) -> list[str]:
    """The modules that an operation is in, from the outermost."""
    return [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]


def result_of(node: Node) -> torch.Tensor:
    """What the exporter knows about a node's (first) result: shape and dtype."""
    value: Any = node.meta["val"]
    result: torch.Tensor = value if isinstance(value, torch.Tensor) else value[0]
    return result


def has_open_shape(node: Node) -> bool:
    """Whether the exporter could not tell the size of a result."""
    value: Any = node.meta["val"]
    results = value if isinstance(value, tuple | list) else [value]
    return any(
        isinstance(size, torch.SymInt)
        for each in results
        for size in (each.shape if hasattr(each, "shape") else [each])
    )


def plain_numbers(value: Any, node: Node) -> NDArray[Any]:
    """A constant as numpy has it; a single number takes part as float64 or, where the node is shorter, float32."""
    tensor = value.cpu() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64)
    if tensor.ndim == 0:
        tensor = tensor.to(torch.float64 if result_of(node).dtype == torch.float64 else torch.float32)
    wide: NDArray[Any] = (tensor.double() if tensor.is_floating_point() else tensor).numpy(force=True)
    return wide
