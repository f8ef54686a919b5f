"""Conditions on a network's outputs, written in Python: comparisons, classes, and their combinations.

A condition becomes the disjunctive normal form that properties have once the number of outputs is known. Negation is
exact: what is not ``>=`` is ``<``, and both mean what they say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from affinelens.domain.numbers import read_numbers
from affinelens.domain.vnnlib.normal_form import MOST_ALTERNATIVES, Formula, expanded, expanded_size, joined
from affinelens.domain.vnnlib.property import Constraint, sum_text
from affinelens.errors import AffineLensError
from affinelens.short_text import counted

NormalForm = tuple[tuple[Constraint, ...], ...]


class Condition(ABC):
    """A condition on outputs: ``output(0) >= 3``, ``class_is(2)``, and ``&``, ``|``, ``~`` of these.

    Examples
    --------
    >>> import affinelens as al
    >>> too_far = (al.output(0) >= 3) | (al.output(0) <= -3)
    >>> print(too_far)
    (y[0] - 3 >= 0 or -y[0] - 3 >= 0)
    >>> print(~too_far)
    (-y[0] + 3 > 0 and y[0] + 3 > 0)
    """

    def __and__(self, other: Condition) -> Condition:
        return _Joined((self, _condition(other)), every=True)

    def __or__(self, other: Condition) -> Condition:
        return _Joined((self, _condition(other)), every=False)

    def __bool__(self) -> bool:
        raise AffineLensError("a condition has no truth by itself; combine conditions by &, | and ~, not and, or, not")

    @abstractmethod
    def __invert__(self) -> Condition: ...

    @abstractmethod
    def _formula(self, outputs: int) -> Formula: ...

    def normal_form(self, outputs: int) -> NormalForm:
        """The conjunctions of which one must hold, for a network of so many outputs.

        Raises
        ------
        AffineLensError
            If it speaks of an output that there is not, or has more than 100 000 conjunctions.
        """
        formula = self._formula(outputs)
        alternatives, _ = expanded_size(formula)
        if alternatives > MOST_ALTERNATIVES:
            raise AffineLensError(
                f"the condition has {alternatives:,} alternatives written out, more than {MOST_ALTERNATIVES:,}; ask "
                f"in parts"
            )
        return tuple(expanded(formula))


@dataclass(frozen=True, eq=False)
class _Comparison(Condition):
    constraint: Constraint

    def __invert__(self) -> Condition:
        turned = tuple((index, -coefficient) for index, coefficient in self.constraint.outputs)
        return _Comparison(Constraint((), turned, -self.constraint.constant, strict=not self.constraint.strict))

    def _formula(self, outputs: int) -> Formula:
        for index, _ in self.constraint.outputs:
            _require_output(index, outputs, f"output {index}")
        return self.constraint

    def __str__(self) -> str:
        left = Output(dict(self.constraint.outputs), self.constraint.constant)
        return f"{left} {'>' if self.constraint.strict else '>='} 0"


@dataclass(frozen=True, eq=False)
class _Joined(Condition):
    parts: tuple[Condition, ...]
    every: bool

    def __invert__(self) -> Condition:
        return _Joined(tuple(~part for part in self.parts), every=not self.every)

    def _formula(self, outputs: int) -> Formula:
        return joined(self.every, [part._formula(outputs) for part in self.parts])

    def __str__(self) -> str:
        return f"({(' and ' if self.every else ' or ').join(map(str, self.parts))})"


@dataclass(frozen=True, eq=False)
class _Inequalities(_Joined):
    """A matrix's rows, which have a coefficient for each output, or not all of them if one must hold."""

    width: int

    def __invert__(self) -> Condition:
        return _Inequalities(tuple(~part for part in self.parts), every=not self.every, width=self.width)

    def _formula(self, outputs: int) -> Formula:
        if self.width != outputs:
            raise AffineLensError(
                f"the inequalities' A has {counted(self.width, 'column')}, but the network has "
                f"{counted(outputs, 'output')}; give a column an output"
            )
        return super()._formula(outputs)


@dataclass(frozen=True, eq=False)
class _ClassIs(Condition):
    label: int
    wanted: bool = True

    def __invert__(self) -> Condition:
        return _ClassIs(self.label, not self.wanted)

    def _formula(self, outputs: int) -> Formula:
        decided = self._decided(outputs)
        return (decided if self.wanted else ~decided)._formula(outputs)

    def _decided(self, outputs: int) -> Condition:
        if outputs == 1:
            if self.label not in (0, 1):
                raise AffineLensError(f"a network with one output has classes 0 and 1, but got class {self.label}")
            return _Decision(
                ClassConstraint((), ((0, Fraction(1 if self.label else -1)),), Fraction(0), strict=self.label == 1)
            )
        _require_output(self.label, outputs, f"class {self.label}", "classes")
        own = output(self.label)
        return _Joined(
            tuple(own > output(j) if j < self.label else own >= output(j) for j in range(outputs) if j != self.label),
            every=True,
        )

    def __str__(self) -> str:
        return f"class is{'' if self.wanted else ' not'} {self.label}"


@dataclass(frozen=True, slots=True)
class ClassConstraint(Constraint):
    """The class that a network's only output stands for: above 0 or not, whatever a last sigmoid makes of it."""


class _Decision(_Comparison):
    def __invert__(self) -> Condition:
        [(index, coefficient)] = self.constraint.outputs
        return _Decision(ClassConstraint((), ((index, -coefficient),), Fraction(0), strict=not self.constraint.strict))


class Output:
    """A linear combination of outputs and a constant, to be compared: ``output(0) - 2 * output(1) + 1 >= 0``.

    Examples
    --------
    >>> import affinelens as al
    >>> print(al.output(0) - 2 * al.output(1) <= 0.5)
    -y[0] + 2 y[1] + 1/2 >= 0
    """

    def __init__(self, coefficients: dict[int, Fraction], constant: Fraction = Fraction(0)) -> None:
        self._coefficients = {index: value for index, value in sorted(coefficients.items()) if value}
        self._constant = constant

    def __add__(self, other: Output | float | Rational) -> Output:
        added = _combination(other)
        total = dict(self._coefficients)
        for index, value in added._coefficients.items():
            total[index] = total.get(index, Fraction(0)) + value
        return Output(total, self._constant + added._constant)

    __radd__ = __add__

    def __eq__(self, other: object) -> NoReturn:
        raise AffineLensError(
            "outputs are compared by <=, >=, < and >, not by == and !=; of equal ones both (y <= c) & (y >= c) hold"
        )

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __mul__(self, factor: float | Rational) -> Output:
        times = _number(factor, "multiplied by")
        scaled = {index: times * value for index, value in self._coefficients.items()}
        return Output(scaled, times * self._constant)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float | Rational) -> Output:
        number = _number(divisor, "divided by")
        if not number:
            raise AffineLensError("outputs are divided by numbers other than 0")
        return self * (1 / number)

    def __neg__(self) -> Output:
        return -1 * self

    def __sub__(self, other: Output | float | Rational) -> Output:
        return self + -1 * _combination(other)

    def __rsub__(self, other: float | Rational) -> Output:
        return _combination(other) - self

    def __ge__(self, other: Output | float | Rational) -> Condition:
        return (self - other)._compared(strict=False)

    def __gt__(self, other: Output | float | Rational) -> Condition:
        return (self - other)._compared(strict=True)

    def __le__(self, other: Output | float | Rational) -> Condition:
        return (_combination(other) - self)._compared(strict=False)

    def __lt__(self, other: Output | float | Rational) -> Condition:
        return (_combination(other) - self)._compared(strict=True)

    def _compared(self, *, strict: bool) -> Condition:
        return _Comparison(Constraint((), tuple(self._coefficients.items()), self._constant, strict=strict))

    def __str__(self) -> str:
        return sum_text([(value, f"y[{index}]") for index, value in self._coefficients.items()], self._constant)


def output(index: int) -> Output:
    """One of a network's outputs, to be compared in a condition.

    Parameters
    ----------
    index
        Its number, from 0, in the flattened output.

    Returns
    -------
    Output
        Takes part in sums, differences, multiples, and ``>=``, ``<=``, ``>``, ``<``. Floats, fractions and decimals are
        taken exactly.

    Raises
    ------
    AffineLensError
        If the number is not a whole one from 0 on.

    Examples
    --------
    >>> import affinelens as al
    >>> al.verify([([[1.0]], [0.0]), ([[2.0]], [0.0])], al.Box(-1, 1, dim=1), never=al.output(0) >= 2.5).result
    <Result.UNSAT: 'unsat'>
    """
    return Output({_label(index, "an output"): Fraction(1)})


def class_is(label: int) -> Condition:
    """The network decides for a class: its output is the largest and, of equal ones, the first.

    With one output, class 1 is where it is positive, and class 0 elsewhere.

    Parameters
    ----------
    label
        The class, from 0.

    Returns
    -------
    Condition
        ``~class_is(label)`` is its exact opposite.

    Raises
    ------
    AffineLensError
        If the class is not a whole number from 0 on.

    Examples
    --------
    >>> import affinelens as al
    >>> layers = [([[1.0]], [0.0]), ([[1.0], [-1.0]], [0.0, 0.5])]
    >>> al.verify(layers, al.Box(-1, 0.25, dim=1), never=al.class_is(0)).witness
    Witness(input (0.25), output (0.25, 0.25); in rationals: .input)
    """
    return _ClassIs(_label(label, "a class"))


def inequalities(A: ArrayLike, b: ArrayLike) -> Condition:  # noqa: N803 (as it is written on paper)
    """The condition ``A y <= b`` on the outputs y.

    Parameters
    ----------
    A
        Of shape (inequalities, outputs). Fractions, decimals and integers are taken exactly.
    b
        Of shape (inequalities,), likewise.

    Returns
    -------
    Condition
        That all of them hold.

    Raises
    ------
    AffineLensError
        If the shapes do not fit, or an entry is no finite number.

    Examples
    --------
    >>> import affinelens as al
    >>> print(al.inequalities([[1, -1]], [0]))
    (-y[0] + y[1] >= 0)
    """
    weights, bounds = read_numbers(A, "the entries of A"), read_numbers(b, "the entries of b")
    rows, width = weights.nearest.shape if weights.ndim == 2 else (0, 0)
    if not rows or bounds.nearest.shape != (rows,):
        raise AffineLensError(
            f"A must be a matrix with one row an inequality, and b must hold a number a row, but they have shapes "
            f"{weights.nearest.shape} and {bounds.nearest.shape}"
        )
    numbers, limits = weights.fractions(), bounds.fractions()
    lines = [Output(dict(enumerate(numbers[i * width : (i + 1) * width]))) <= limits[i] for i in range(rows)]
    return _Inequalities(tuple(lines), every=True, width=width)


def _label(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 0:
        raise AffineLensError(f"{what} is named by a whole number from 0 on, but got {value!r:.40}")
    return int(value)


def _require_output(index: int, outputs: int, named: str, what: str = "outputs") -> None:
    if index >= outputs:
        found = f"{outputs} {what}, 0 to {outputs - 1}" if outputs > 1 else "one output, 0"
        raise AffineLensError(f"the condition speaks of {named}, but the network has {found}")


def _condition(value: Any) -> Condition:
    if not isinstance(value, Condition):
        raise AffineLensError(f"conditions are combined with conditions, but got {value!r:.40}; put each in brackets")
    return value


def _combination(value: Any) -> Output:
    return value if isinstance(value, Output) else Output({}, _number(value))


def _number(value: Any, done: str = "compared with") -> Fraction:
    try:
        return Fraction(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, OverflowError):
        got = f"an output, {value}" if isinstance(value, Output) else f"{value!r:.40}"
        raise AffineLensError(f"outputs are {done} finite numbers, but got {got}") from None
