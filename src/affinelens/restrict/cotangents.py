"""Carrying cotangents of pre-activations back to the input, with an error that does not pile up.

If the cotangent behind a map A is computed as ``A^T c + r``, the function it stands for is off by ``r . v`` on the true
values v that A is applied to; summed over all maps this is the whole error. What is known of the domain bounds |v|, so
every rounding leaves its bound behind as it happens, and no product of norms over layers appears.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import upward
from affinelens.array_types import Floats, Pattern
from affinelens.network.composed_maps import Chain, Sum
from affinelens.network.linear_map import LinearMap
from affinelens.network.stage import AffineSum
from affinelens.restrict.affine_forms import Extended, applied
from affinelens.restrict.restricted_network import RestrictedNetwork

Columns = NDArray[Any]


class Carried:
    """What is on its way back: a column a function, by source; and the constants and errors left behind so far."""

    def __init__(self, count: int, sources: int, kind: type, roundoff: float) -> None:
        self.cotangents: list[Columns | None] = [None] * sources
        self.constant: Columns = np.zeros(count, dtype=kind)
        self.error = np.zeros(count)
        self.roundoff = roundoff

    def add(self, source: int, cotangent: Columns, largest: Floats) -> None:
        """Add the cotangent of a source whose values are at most so large."""
        present = self.cotangents[source]
        if present is not None:
            cotangent = present + cotangent
            self.error += self.roundoff * weighed(cotangent, largest)
        self.cotangents[source] = cotangent

    def add_constant(self, cotangent: Columns, values: Extended, errors: Floats) -> None:
        """Add the cotangent's product with constants, which have errors of their own."""
        near = values.astype(self.constant.dtype)
        size = np.abs(near).astype(np.float64)
        self.error += weighed(cotangent, errors + (len(values) + 4) * self.roundoff * size)
        self.constant = self.constant + cotangent.T @ near
        self.error += self.roundoff * np.abs(self.constant).astype(np.float64)


class Cotangents(ABC):
    """Cotangents of a network's stages, in some arithmetic, on the domain of a restricted network."""

    kind: type
    roundoff: float

    def __init__(self, restricted: RestrictedNetwork, inputs: Floats) -> None:
        self.network = restricted.network
        self.bounds = restricted.bounds
        self.largest = [inputs, *(bounds.output for bounds in restricted.bounds)]
        self._transposed: dict[int, LinearMap] = {}
        self._sizes: dict[tuple[int, int], list[Floats]] = {}
        self._biases: dict[int, tuple[Extended, Floats]] = {}

    @abstractmethod
    def apply_transposed(
        self, part: LinearMap, transposed: LinearMap, cotangent: Columns, largest: Floats
    ) -> tuple[Columns, Floats]:
        """``transposed`` of a cotangent, and the error of each column if ``part`` acts on values of such sizes."""

    def carried(self, count: int, sources: int) -> Carried:
        return Carried(count, sources, self.kind, self.roundoff)

    def pull(self, linear: AffineSum, cotangent: Columns, carried: Carried) -> None:
        """Carry a cotangent of an affine sum back to its sources."""
        for k, part in linear.sources:
            carried.add(k, self._behind(part, cotangent, self.largest[k], carried), self.largest[k])
        if linear.bias is not None:
            if id(linear.bias) not in self._biases:
                one = np.ones((1, 1), dtype=np.longdouble)
                values, rounding = applied(linear.bias, one)
                self._biases[id(linear.bias)] = values[:, 0], rounding
            carried.add_constant(cotangent, *self._biases[id(linear.bias)])

    def _behind(self, part: LinearMap, cotangent: Columns, largest: Floats, carried: Carried) -> Columns:
        """The cotangent behind a map that is applied to values of at most the given sizes, an array that lives on."""
        if isinstance(part, Sum):
            total = self._behind(part.maps[0], cotangent, largest, carried)
            for other in part.maps[1:]:
                total = total + self._behind(other, cotangent, largest, carried)
                carried.error += self.roundoff * weighed(total, largest)
            return total
        if isinstance(part, Chain):
            place = id(part), id(largest)  # a map may be applied at several places
            if place not in self._sizes:
                self._sizes[place] = list(accumulate(part.maps[:-1], _largest_behind, initial=largest))
            for step, size in zip(reversed(part.maps), reversed(self._sizes[place]), strict=True):
                cotangent = self._behind(step, cotangent, size, carried)
            return cotangent
        if id(part) not in self._transposed:
            self._transposed[id(part)] = part.transposed()
        behind, error = self.apply_transposed(part, self._transposed[id(part)], cotangent, largest)
        carried.error += error
        return behind

    def through(self, index: int, arrived: Columns, pattern: Pattern, carried: Carried) -> Columns:
        """The cotangent of a stage's pre-activations, given that of its outputs and its pattern."""
        activation = self.network.stages[index].activation
        lines = activation.lines(pattern)
        if lines.offsets.any():
            carried.add_constant(arrived, lines.offsets.astype(np.longdouble), np.zeros(activation.size_out))
        rounded = ~np.isin(lines.slopes, (-1.0, 0.0, 1.0))
        if rounded.any():
            size = np.abs(lines.slopes) * lines.taken(self.bounds[index].pre_activation)
            carried.error += self.roundoff * weighed(arrived[rounded], size[rounded])
        return lines.given_back(lines.slopes[:, None] * arrived, activation.size_in)


def _largest_behind(sizes: Floats, linear: LinearMap) -> Floats:
    """Bounds on what a map makes of values that are at most so large."""
    return upward(linear.apply_absolute(sizes[:, None])[:, 0])


def weighed(cotangent: Columns, sizes: Floats) -> Floats:
    """For each column the largest value of its product with values of at most the given sizes."""
    total: Floats = np.abs(cotangent).astype(np.float64).T @ sizes
    return total
