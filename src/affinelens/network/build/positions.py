"""What an operator that moves entries does to tensors, found by letting it move numbers: the entries' positions."""

from __future__ import annotations

from math import prod

import numpy as np

from affinelens.array_types import Indices
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.values import Comparison, Value, lifted


class Positions:
    """The positions of the entries of an operator's arguments, counted from 1 through all of them.

    So 0 marks an entry that the operator fills with zero.
    """

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder
        self._values: list[Value] = []

    @property
    def count(self) -> int:
        return sum(prod(value.shape) for value in self._values)

    def of(self, value: Value) -> Indices:
        """The positions of one more argument's entries, in its shape."""
        first = 1 + self.count
        self._values.append(value)
        return np.arange(first, first + prod(value.shape)).reshape(value.shape)

    def moved(self, found: Indices) -> Value:
        """The value whose entries the operator took from these positions; comparisons stay comparisons."""
        leads = [value.lead for value in self._values if isinstance(value, Comparison)]
        compares = len(leads) == len(self._values)
        parts = leads if compares else [lifted(self._builder, value) for value in self._values]
        source = parts[0]
        if len(parts) > 1:
            source = self._builder.concatenate([self._builder.reshape(part, (part.size,)) for part in parts], 0)
        moved = self._builder.rearrange(source, found.astype(np.int64) - 1)
        return Comparison(moved) if compares else moved
