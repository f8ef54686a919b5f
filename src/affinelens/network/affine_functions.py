"""A network's functions where a pattern holds, exactly, one at a time and only what is asked for.

A unit is a sum over outputs of earlier units, and an output is a piece of its unit, or a group's winner. So a function
is found from the few that it is made of, and kept until a choice behind it changes. From one cell to the next most
choices stay, and with them most functions.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import gcd, lcm
from operator import mul
from typing import NamedTuple

from affinelens.arithmetic import ExactMatrix
from affinelens.network.canonical import Network
from affinelens.network.coefficients import Coefficients


class AffineFunction(NamedTuple):
    """``numerators . [t; 1] / denominator``, in lowest terms."""

    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def reduced(cls, numerators: Sequence[int], denominator: int) -> AffineFunction:
        divisor = gcd(denominator, *numerators)
        if divisor == 1:
            return cls(tuple(numerators), denominator)
        return cls(tuple([n // divisor for n in numerators]), denominator // divisor)

    @classmethod
    def combined(cls, weights: Sequence[int], functions: Sequence[AffineFunction], denominator: int) -> AffineFunction:
        """The sum of functions, each times its weight over the denominator."""
        common = lcm(*[function.denominator for function in functions])
        scales = [w * (common // function.denominator) for w, function in zip(weights, functions, strict=True)]
        columns = zip(*[function.numerators for function in functions], strict=True)
        return cls.reduced([sum(map(mul, scales, column)) for column in columns], denominator * common)


class UnitTerms(NamedTuple):
    """A pre-activation ``fixed + sum_i weights[i] / denominator * outputs[i]``; outputs have the numbers of choices."""

    fixed: AffineFunction
    outputs: list[int]
    weights: list[int]
    denominator: int


class Piece(NamedTuple):
    """An output ``slope * unit + offset``; the unit is -1 where the slope is 0."""

    unit: int
    slope: Fraction
    offset: Fraction


class NetworkTerms:
    """What the units of a network on a chart are made of, found when first asked for; walks may share it."""

    def __init__(self, network: Network, chart: ExactMatrix) -> None:
        self.network = network
        self.units = list(accumulate((stage.activation.size_in for stage in network.stages), initial=0))
        self._chart = chart
        self._found: dict[int, UnitTerms] = {}
        self._dependents: dict[int, list[int]] = {}
        self._pieces: dict[tuple[int, int], Piece] = {}
        self._lock = threading.Lock()

    @cached_property
    def choice_of(self) -> list[int]:
        """The choice that each unit takes part in."""
        found: list[int] = []
        for stage, first in zip(self.network.stages, self.network.choice_offsets, strict=False):
            found += (first + stage.activation.choice_of_unit).tolist()
        return found

    @cached_property
    def width(self) -> int:
        return self._chart.shape[1]

    def constant(self, value: Fraction) -> AffineFunction:
        return AffineFunction((*(0,) * (self.width - 1), value.numerator), value.denominator)

    def dependents(self, choice: int) -> list[int]:
        """The units, of those asked for so far, that an output is a term of."""
        return self._dependents.get(choice, [])

    def __getitem__(self, unit: int) -> UnitTerms:
        found = self._found.get(unit)
        if found is None:
            with self._lock:
                found = self._terms(unit)
                for source in found.outputs:
                    self._dependents.setdefault(source, []).append(unit)
                self._found[unit] = found  # only now: whoever sees it must find the unit among the dependents
        return found

    def piece(self, choice: int, piece: int) -> Piece:
        """What a choice's output is on one of its pieces."""
        found = self._pieces.get((choice, piece))
        if found is None:
            found = self._pieces[choice, piece] = self._piece(choice, piece)
        return found

    def _piece(self, choice: int, piece: int) -> Piece:
        stage = bisect_right(self.network.choice_offsets, choice) - 1
        activation, first = self.network.stages[stage].activation, self.units[stage]
        unit, slope, offset = activation.line(choice - self.network.choice_offsets[stage], piece)
        return Piece(first + unit if slope else -1, Fraction(slope), Fraction(offset))

    def _terms(self, unit: int) -> UnitTerms:
        stage = bisect_right(self.units, unit) - 1
        linear, entry = self.network.stages[stage].linear, unit - self.units[stage]
        parts, fixed = [], self.constant(Fraction(0))
        for k, part in linear.sources:
            found = part.coefficients(entry)
            if k == 0:
                fixed = self._added(fixed, self._of_inputs(found))
            else:
                first = self.network.choice_offsets[k - 1]
                parts.append(found._replace(columns=[first + column for column in found.columns]))
        if linear.bias is not None:
            found = linear.bias.coefficients(entry)
            fixed = self._added(fixed, self.constant(Fraction(sum(found.numerators), found.denominator)))
        joined = parts[0] if len(parts) == 1 else Coefficients.combined(parts, [1] * len(parts))
        return UnitTerms(fixed, joined.columns, joined.numerators, joined.denominator)

    def _of_inputs(self, coefficients: Coefficients) -> AffineFunction:
        rows = [[int(n) for n in self._chart.row(column)] for column in coefficients.columns]
        total = [sum(map(mul, coefficients.numerators, entries)) for entries in zip(*rows, strict=True)]
        denominator = coefficients.denominator * int(self._chart.denominator)
        return AffineFunction.reduced(total or (0,) * self.width, denominator)

    def _added(self, first: AffineFunction, second: AffineFunction) -> AffineFunction:
        return AffineFunction.combined((1, 1), (first, second), 1)


class AffineFunctions:
    """The units of a network where its current pattern holds."""

    def __init__(self, terms: NetworkTerms, pattern: Iterable[int]) -> None:
        self._terms = terms
        self._network = terms.network
        self._pattern = list(pattern)
        self._values: dict[int, AffineFunction] = {}
        self._outputs: dict[int, AffineFunction | None] = {}

    def change(self, pieces: Iterable[tuple[int, int]]) -> None:
        """Put choices on other pieces, and forget what was made of their outputs."""
        stale = []
        for choice, piece in pieces:
            if self._pattern[choice] != piece:
                self._pattern[choice] = piece
                if choice in self._outputs:
                    del self._outputs[choice]
                    stale.append(choice)
        while stale:
            for unit in self._terms.dependents(stale.pop()):
                if self._values.pop(unit, None) is not None:
                    choice = self._terms.choice_of[unit]
                    if choice in self._outputs and self._piece(choice).unit == unit:
                        del self._outputs[choice]
                        stale.append(choice)

    def break_row(self, stage: int, index: int) -> list[int]:
        """A break's function as integers, a positive multiple of it."""
        breaks, first = self._network.stages[stage].activation.breaks, self._terms.units[stage]
        functions = [self._value(first + int(breaks.plus[index]))]
        if breaks.minus[index] >= 0:
            functions.append(self._value(first + int(breaks.minus[index])))
        threshold = float(breaks.threshold[index])
        if threshold:
            functions.append(self._terms.constant(Fraction(threshold)))
        if len(functions) == 1:
            return list(functions[0].numerators)
        return list(AffineFunction.combined((1, -1, -1)[: len(functions)], functions, 1).numerators)

    def _value(self, unit: int) -> AffineFunction:
        """A unit's pre-activation; what it is made of is found first, the deepest before the others."""
        waiting = [unit]
        while waiting:
            top = waiting[-1]
            if top in self._values:
                waiting.pop()
                continue
            terms = self._terms[top]
            behind = [self._piece(choice).unit for choice in terms.outputs if choice not in self._outputs]
            missing = [other for other in behind if other >= 0 and other not in self._values]
            if missing:
                waiting += missing
                continue
            self._values[top] = self._sum(terms)
            waiting.pop()
        return self._values[unit]

    def _sum(self, terms: UnitTerms) -> AffineFunction:
        known = self._outputs
        weights, functions = [terms.denominator], [terms.fixed]
        for choice, weight in zip(terms.outputs, terms.weights, strict=True):
            output = known[choice] if choice in known else self._output(choice)
            if output is not None:
                weights.append(weight)
                functions.append(output)
        return AffineFunction.combined(weights, functions, terms.denominator)

    def _output(self, choice: int) -> AffineFunction | None:
        """Find a choice's output, None if it is zero; its unit is known if it matters."""
        unit, slope, offset = self._piece(choice)
        output = self._values[unit] if unit >= 0 else self._terms.constant(offset)
        if unit >= 0 and (slope != 1 or offset != 0):
            scaled = AffineFunction.combined((slope.numerator,), (output,), slope.denominator)
            output = AffineFunction.combined((1, 1), (scaled, self._terms.constant(offset)), 1)
        found = self._outputs[choice] = output if any(output.numerators) else None
        return found

    def _piece(self, choice: int) -> Piece:
        return self._terms.piece(choice, self._pattern[choice])
