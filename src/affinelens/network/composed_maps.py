"""Linear maps made of others: whatever one does is what its parts do, one after the other or added.

Coefficients are never multiplied out, so that a model's parameters stay as they are. Composites do not nest where
:func:`chain` and :func:`add` make them.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats
from affinelens.network.coefficients import Coefficients
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import LinearMap, Select

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Composite(LinearMap):
    """A map made of others: whatever it does is what they do, joined by :meth:`through`."""

    maps: tuple[LinearMap, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_in", self.maps[0].size_in)
        object.__setattr__(self, "size_out", self.maps[-1].size_out)

    @abstractmethod
    def through(self, step: Callable[[LinearMap, Value], Value], value: Value) -> Value:
        """What the map makes of a value, given what each of its parts makes of one."""

    @cached_property
    def steps(self) -> int:
        return sum(part.steps for part in self.maps)

    @property
    def products(self) -> int:
        return sum(part.products for part in self.maps)

    def apply(self, columns: Floats) -> Floats:
        return self.through(lambda part, value: part.apply(value), columns)

    def apply_absolute(self, columns: Floats) -> Floats:
        return self.through(lambda part, value: part.apply_absolute(value), columns)

    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        return self.through(lambda part, value: part.apply_exact(value), columns)

    def propagate(self, form: Enclosure) -> Enclosure:
        return self.through(lambda part, value: part.propagate(value), form)

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        for part in self.maps:
            yield from part.parameters()


class Chain(Composite):
    """Several maps, one after the other."""

    kind = "chain"

    def through(self, step: Callable[[LinearMap, Value], Value], value: Value) -> Value:
        for part in self.maps:
            value = step(part, value)
        return value

    @property
    def roundings(self) -> int:
        return sum(part.roundings for part in self.maps)

    def coefficients(self, output: int) -> Coefficients:
        *others, last = self.maps
        found = last.coefficients(output)
        for part in reversed(others):
            found = Coefficients.combined(
                [part.coefficients(column) for column in found.columns], found.numerators, found.denominator
            )
        return found

    def transposed(self) -> Chain:
        return Chain(tuple(part.transposed() for part in reversed(self.maps)))


class Sum(Composite):
    """Several maps of the same sizes, added."""

    kind = "sum"

    def through(self, step: Callable[[LinearMap, Value], Value], value: Value) -> Value:
        return reduce(operator.add, [step(part, value) for part in self.maps])

    @property
    def roundings(self) -> int:
        return sum(part.roundings + 1 for part in self.maps)

    def coefficients(self, output: int) -> Coefficients:
        return Coefficients.combined([part.coefficients(output) for part in self.maps], [1] * len(self.maps))

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        yield "sum of", np.array([len(self.maps)])
        yield from super().parameters()

    def transposed(self) -> Sum:
        return Sum(tuple(part.transposed() for part in self.maps))


def chain(first: LinearMap, second: LinearMap) -> LinearMap:
    """``second`` after ``first``, without nesting and without idle identities; selections in a row become one."""
    working: list[LinearMap] = []
    for part in _parts([first, second], Chain):
        before = working[-1] if working else None
        if isinstance(part, Select) and isinstance(before, Select):
            working[-1] = Select(np.where(part.indices < 0, -1, before.indices[part.indices]), before.size_in)
        elif not working or not _is_identity(part):
            working.append(part)
        if len(working) > 1 and _is_identity(working[0]):
            del working[0]
    return working[0] if len(working) == 1 else Chain(tuple(working))


def add(maps: Sequence[LinearMap]) -> LinearMap:
    """The sum of one or more maps, without nesting."""
    terms = _parts(maps, Sum)
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _parts(maps: Sequence[LinearMap], composite: type[Composite]) -> list[LinearMap]:
    """What maps are made of, where they are composites of a kind."""
    return [inner for part in maps for inner in (part.maps if isinstance(part, composite) else (part,))]


def _is_identity(part: LinearMap) -> bool:
    return isinstance(part, Select) and np.array_equal(part.indices, np.arange(part.size_in))
