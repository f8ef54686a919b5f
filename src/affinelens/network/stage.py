"""A stage of a network: an affine sum over what earlier stages compute, and the activation behind it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Bools, Floats
from affinelens.network.activation import Activation
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import LinearMap, Select

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class AffineSum:
    """``sum_k A_k x_k + b``: the sources' numbers k with their maps, and the bias as a map of the constant 1.

    ``operations`` are the model's own names for what it does, in order; for display only.
    """

    size: int
    sources: tuple[tuple[int, LinearMap], ...]
    bias: LinearMap | None = None
    operations: tuple[str, ...] = ()

    def total(self, step: Callable[[LinearMap, Value], Value], sources: Sequence[Value], one: Value) -> Value:
        """The sum of what each map makes of its source; ``one`` stands for the constant 1."""
        terms = [step(linear, sources[k]) for k, linear in self.sources]
        if self.bias is not None:
            terms.append(step(self.bias, one))
        elif not terms:
            terms.append(step(Select(np.full(self.size, -1), 1), one))
        return reduce(operator.add, terms)

    def apply(self, values: Sequence[Floats]) -> Floats:
        """Value given the columns of every source."""
        total = self.total(lambda part, value: part.apply(value), values, np.ones((1, 1)))
        return np.zeros((self.size, values[0].shape[1])) + total

    def propagate(self, forms: Sequence[Enclosure]) -> Enclosure:
        """Enclosure of the sum given the sources' enclosures."""
        return self.total(lambda part, form: part.propagate(form), forms, forms[0].constant)

    def propagate_exact(self, forms: Sequence[ExactMatrix], one: ExactMatrix) -> ExactMatrix:
        """The sum of exact matrices; ``one`` is the row that stands for the constant 1."""
        return self.total(lambda part, form: part.apply_exact(form), forms, one)

    def mark_sources(self, entries: Bools, reached: list[Bools | None]) -> None:
        """Mark what some entries of the sum, in one or several columns, are computed from, up to the input itself."""
        for k, linear in self.sources:
            if k == 0:
                continue
            behind = linear.transposed().apply_absolute(entries.astype(np.float64)) > 0
            present = reached[k]
            reached[k] = behind if present is None else present | behind

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        for k, linear in self.sources:
            yield f"from {k}", np.array([linear.size_out, linear.size_in])
            yield from linear.parameters()
        if self.bias is not None:
            yield "bias", np.array([self.size])
            yield from self.bias.parameters()


@dataclass(frozen=True, eq=False)
class Stage:
    """Units that are decided together: their pre-activations are affine once earlier stages are fixed.

    ``kind`` is the model's own name for the activation and ``shape`` the shape of its outputs there; for display only.
    """

    name: str
    linear: AffineSum
    activation: Activation
    kind: str = ""
    shape: tuple[int, ...] = ()
