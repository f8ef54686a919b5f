"""A node of an exported torch graph: its operator, what it reads, and how people know it."""

from __future__ import annotations

import operator as python
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.fx.node import Node


@dataclass(frozen=True, eq=False)
class ExportedNode:
    """An operation of the graph; operators of ATen go without their library's name."""

    node: Node

    @cached_property
    def operator(self) -> str:
        if self.node.target is python.getitem:
            return "getitem"
        return str(getattr(self.node.target, "overloadpacket", self.node.target)).removeprefix("aten.")

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(self.node.all_input_nodes)

    @cached_property
    def outputs(self) -> tuple[Node, ...]:
        return (self.node,)

    @cached_property
    def name(self) -> str:
        """The module that holds an operation, if it is not the whole, and the operation's name in the graph."""
        stack = self.module_paths
        return f"{stack[-1]}/{self.node.name}" if stack and stack[-1] else self.node.name

    @property
    def place(self) -> str:
        return f"{self.name} ({'getitem' if self.operator == 'getitem' else self.node.target})"

    @cached_property
    def label(self) -> str:
        """An operation as the user wrote it: torch's own layer that holds it, or else the function."""
        kinds = [kind for _, kind in (self.node.meta.get("nn_module_stack") or {}).values()]
        kind = kinds[-1] if kinds else ""
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        container = name.startswith("torch.nn.modules.container.")
        if name.startswith("torch.nn.modules.") and not container:
            return name.rpartition(".")[2]
        return self.operator.strip("_")

    @property
    def module_paths(self) -> list[str]:
        """The modules that an operation is in, from the outermost."""
        return [path for path, _ in (self.node.meta.get("nn_module_stack") or {}).values()]

    @property
    def result(self) -> torch.Tensor:
        """What the exporter knows about the (first) result: shape and dtype."""
        value: Any = self.node.meta["val"]
        result: torch.Tensor = value if isinstance(value, torch.Tensor) else value[0]
        return result

    @property
    def number_type(self) -> torch.dtype:
        """The type that the operation computes in: its result's or, where that holds no numbers, its first input's."""
        if self.result.is_floating_point() or not self.inputs:
            return self.result.dtype
        return ExportedNode(self.inputs[0]).result.dtype

    @property
    def has_open_shape(self) -> bool:
        """Whether the exporter could not tell the size of a result."""
        value: Any = self.node.meta["val"]
        results = value if isinstance(value, tuple | list) else [value]
        return any(
            isinstance(size, torch.SymInt)
            for each in results
            for size in (each.shape if hasattr(each, "shape") else [each])
        )
