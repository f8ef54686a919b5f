"""What an operation of an exported torch graph is read from: its arguments, by their names in the operator's schema.

A value is a :class:`Tensor` where it depends on the input, else what torch computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import torch
from torch.fx.node import Node, map_arg
from torch.utils._pytree import tree_map

from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.positions import Positions
from affinelens.network.build.replay import Call, Operator, Replay, holds_tensor
from affinelens.network.build.shapes import Shape, require_size
from affinelens.network.build.values import Comparison, Constant, RefusedError, SignOf, Value, lifted
from affinelens.network.linear_map import Sparse
from affinelens.network.note import evaluated
from affinelens.network.torch.exported_node import ExportedNode

# The largest size whose positions float32 counts exactly.
_COUNTED_BY_FLOAT32 = 2**24
# Arguments that say where entries are, and not what they are.
_PLACES = {"index", "indices", "mask", "repeats"}
# Arguments in which operators whose coefficients torch computes are linear.
_LINEAR_IN = {"B", "i1", "i2", "i3", "input", "self"}
_OPEN = "the shape of the result depends on values, as with a boolean mask; index by integer positions"


class AtenReplay(Replay[Node]):
    """The values so far, by node, and the names of the parameters among them."""

    def __init__(self, builder: GraphBuilder) -> None:
        super().__init__(builder)
        self._names: dict[Node, str] = {}

    def bind(self, node: Node, value: Any, name: str) -> None:
        """Define a parameter, a buffer or a fixed input."""
        self.define(node, value)
        self._names[node] = name

    def resolved(self, arguments: Any) -> Any:
        """Arguments with nodes replaced by their values."""
        return map_arg(arguments, self._values.__getitem__)

    def value(self, source: Any, reader: ExportedNode) -> Value:
        """An argument of an operation: a node's value, the first where it has several, or a number in the graph."""
        value = self.resolved(source)
        value = value[0] if isinstance(value, tuple | list) else value
        if isinstance(value, Tensor | Comparison | SignOf):
            return value
        return constant(value, reader, self._names.get(source, source.name) if isinstance(source, Node) else "")


def constant(value: Any, reader: ExportedNode, name: str = "") -> Constant:
    """A constant as numpy has it; a single number takes part as float64 or, where the reader is shorter, float32."""
    tensor = value.cpu() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64)
    if tensor.ndim == 0:
        tensor = tensor.to(torch.float64 if reader.number_type == torch.float64 else torch.float32)
    wide = tensor.double() if tensor.is_floating_point() else tensor
    return Constant(wide.numpy(force=True), name or "a number in the graph")


class AtenCall(Call):
    """One operation about to be run; its arguments are known by their names."""

    replay: AtenReplay
    node: ExportedNode

    @property
    def shape(self) -> Shape:
        """The shape that the exporter has worked out for the (first) result."""
        return tuple(self.node.result.shape)

    def _raw(self, argument: str) -> Any:
        """An argument as it stands in the graph; None for one that the operator does not have."""
        node = self.node.node
        position, default = _arguments(node.target).get(argument, (len(node.args), None))
        return node.args[position] if position < len(node.args) else node.kwargs.get(argument, default)

    def given(self, argument: str) -> Any:
        return self.replay.resolved(self._raw(argument))

    def value(self, key: str) -> Any:
        """An argument as a tensor or a constant; None where it is left out."""
        return None if self.given(key) is None else self.replay.value(self._raw(key), self.node)

    def first(self) -> Tensor:
        """The operator's first argument, whatever its name."""
        return self.tensor(next(iter(_arguments(self.node.node.target))))

    def tensors(self) -> list[Tensor]:
        return [lifted(self.builder, self.replay.value(source, self.node)) for source in self._raw("tensors")]

    def sizes(self, argument: str, axes: int) -> tuple[int, ...]:
        """One number for every axis; a single one stands for all, and none at all stays none."""
        given = self.given(argument)
        numbers = [given] if isinstance(given, int) else list(given or ())
        return tuple(numbers * axes if len(numbers) == 1 else numbers)

    def reduced_axes(self) -> list[int]:
        """Axes counted from the front; none given means all."""
        given, rank = self.given("dim"), len(self.first().shape)
        chosen = [given] if isinstance(given, int) else list(given or range(rank))
        return sorted({axis % max(rank, 1) for axis in chosen}) if rank else []

    def axis(self) -> int:
        """The axis that ``dim`` names, counted from the front."""
        return int(self.given("dim")) % max(len(self.first().shape), 1)

    def scores(self) -> tuple[Value, Sequence[int]]:
        tensor = self.first()
        return tensor, () if self.node.operator in ("sigmoid", "tanh") else (
            self.given("dim") % max(len(tensor.shape), 1),
        )

    def why_unread(self) -> str:
        return _OPEN if self.node.has_open_shape else super().why_unread()

    def moved(self) -> Any:
        """What the operator makes of its tensors by moving entries, found by letting torch move their positions."""
        if self.node.has_open_shape:
            raise RefusedError(_OPEN)
        node = self.node.node
        results: Any = node.meta["val"]
        single = isinstance(results, torch.Tensor)
        require_size(sum(prod(each.shape) for each in ([results] if single else results)), "the result")
        positions = Positions(self.builder)
        names = list(_arguments(node.target))
        given = dict(self.replay.resolved({**dict(zip(names, node.args, strict=False)), **node.kwargs}))
        for argument, value in given.items():
            if argument in _PLACES and holds_tensor(value):
                raise RefusedError(
                    f"{argument} depends on the network's input; which entries are taken must be constant"
                )
            if argument not in _PLACES:
                given[argument] = tree_map(lambda leaf: self._counted(leaf, positions), value)
        count = len(node.args)
        found = node.target(*list(given.values())[:count], **{key: given[key] for key in names[count:] if key in given})
        moved = [positions.moved(each.cpu().numpy()) for each in ([found] if single else found)]
        return moved[0] if single else tuple(moved)

    def linear_in_one(self) -> Any:
        """The (first) result of an operator that is linear in each of its tensors, all but one of them constants.

        Its coefficients are what torch makes of unit vectors, in float64.
        """
        node = self.node.node
        names = list(_arguments(node.target))
        given = dict(self.replay.resolved({**dict(zip(names, node.args, strict=False)), **node.kwargs}))
        varying = [argument for argument, value in given.items() if holds_tensor(value)]
        if len(varying) != 1 or varying[0] not in _LINEAR_IN:
            read = " or ".join(sorted(_LINEAR_IN & set(names)))
            raise RefusedError(f"only {read} may depend on the network's input; what stands beside it must be constant")
        source = self.tensor(varying[0])
        require_size(source.size * prod(self.shape), "the matrix of a linear operator")
        count, columns = len(node.args), []
        wide = {argument: _in_float64(value) for argument, value in given.items()}
        for unit in torch.eye(source.size, dtype=torch.float64):
            wide[varying[0]] = unit.reshape(source.shape)
            found = node.target(
                *list(wide.values())[:count], **{key: wide[key] for key in names[count:] if key in wide}
            )
            columns.append((found if isinstance(found, torch.Tensor) else found[0]).flatten())
        matrix = torch.stack(columns, 1).numpy()
        self.builder.note(evaluated(self.name, self.node.operator.strip("_")))
        rows, used = np.nonzero(matrix)
        starts = np.cumsum([0, *np.bincount(rows, minlength=len(matrix))])
        result = self.builder.linear(source, Sparse(starts, used, matrix[rows, used], source.size), self.shape)
        return result if isinstance(node.meta["val"], torch.Tensor) else (result,)

    def _counted(self, leaf: Any, positions: Positions) -> Any:
        """The positions of a tensor's entries, in a type that the operator takes; what holds no entries stays."""
        if isinstance(leaf, torch.Tensor):
            leaf = constant(leaf, self.node)
        if not isinstance(leaf, Tensor | Constant | Comparison | SignOf):
            return leaf
        counted = torch.from_numpy(positions.of(leaf))
        short = self.node.result.dtype == torch.float32 and positions.count < _COUNTED_BY_FLOAT32
        return counted.to(torch.float32 if short else torch.float64).to(self.node.result.device)


@cache
def _arguments(target: Any) -> dict[str, tuple[int, Any]]:
    """The arguments of an operator: their positions and defaults."""
    return {
        entry.name: (position, entry.default_value if entry.has_default_value() else None)
        for position, entry in enumerate(target._schema.arguments)
    }


def _in_float64(value: Any) -> Any:
    """Real tensors in float64, on the processor; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.cpu().double() if value.is_floating_point() else value.cpu()


def flag(argument: str) -> Operator:
    return lambda call: bool(call.given(argument))
