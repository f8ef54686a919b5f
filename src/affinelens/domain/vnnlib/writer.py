"""Properties as VNN-LIB text that the reader takes back exactly: version 1.0 or, where shapes have axes, 2.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.domain.numbers import numbers_from_json
from affinelens.errors import AffineLensError

if TYPE_CHECKING:
    from affinelens.domain.vnnlib.property import Case, Constraint, Property

# The reader's, and other tools', limit on the digits of a number.
_MOST_DIGITS = 400
_COMPARISONS = {(1, False): ">=", (1, True): ">", (-1, False): "<=", (-1, True): "<"}


def vnnlib_text(prop: Property) -> str:
    """The text of a file that asks what a property asks."""
    names = _Names(prop)
    cases = [case for case in prop.cases if case.condition]
    if not cases:
        raise AffineLensError("the property has no case whose condition can hold; there is nothing to write")
    if len(cases) == 1:
        asserted = names.parts(cases[0])
    else:
        asserted = [_every("or", [_every("and", names.parts(case)) for case in cases])]
    return "\n".join([*names.declarations, *(f"(assert {part})" for part in asserted)]) + "\n"


class _Names:
    """How a file calls inputs and outputs, and what it says with these names."""

    def __init__(self, prop: Property) -> None:
        shapes = {"X": prop.input_shape, "Y": prop.output_shape}
        self._shapes = shapes if any(len(shape) != 1 for shape in shapes.values()) else {}
        if self._shapes:
            sizes = {letter: f"[{','.join(map(str, shape))}]" for letter, shape in shapes.items()}
            self.declarations = [
                "(vnnlib-version <2.0>)",
                f"(declare-network f (declare-input X real {sizes['X']}) (declare-output Y real {sizes['Y']}))",
            ]
        else:
            counts = (("X", prop.inputs), ("Y", prop.outputs))
            self.declarations = [
                f"(declare-const {self._name(letter, i)} Real)" for letter, count in counts for i in range(count)
            ]

    def parts(self, case: Case) -> list[str]:
        """The bounds of a case's inputs, then its condition, unless that always holds."""
        rows = [_every("and", [self._constraint(part) for part in row]) for row in case.condition if row]
        always = len(rows) < len(case.condition)
        return [*self._bounds(case.domain.to_json()), *([] if always else [_every("or", rows)])]

    def _bounds(self, domain: dict[str, Any]) -> Iterator[str]:
        kind = domain["kind"]
        if kind == "polytope":
            for weights, offset in zip(numbers_from_json(domain["W"]), numbers_from_json(domain["b"]), strict=True):
                terms = [(Fraction(weight), self._name("X", i)) for i, weight in enumerate(weights) if weight]
                if terms:  # others always hold, or there would be no such polytope
                    yield _comparison(terms, Fraction(offset), strict=False)
            return
        if kind not in ("box", "point"):
            raise AffineLensError(f"a property on a {kind} cannot be written; give one on a Box or a Polytope")
        low, high = ("lower", "upper") if kind == "box" else ("values", "values")
        for sign, values in ((">=", domain[low]), ("<=", domain[high])):
            for i, value in enumerate(numbers_from_json(values)):
                yield f"({sign} {self._name('X', i)} {_number(Fraction(value))})"

    def _constraint(self, constraint: Constraint) -> str:
        terms = [
            (coefficient, self._name(letter, i))
            for letter, part in (("X", constraint.inputs), ("Y", constraint.outputs))
            for i, coefficient in part
        ]
        return _comparison(terms, constraint.constant, strict=constraint.strict)

    def _name(self, letter: str, number: int) -> str:
        if not self._shapes:
            return f"{letter}_{number}"
        return f"{letter}[{','.join(map(str, np.unravel_index(number, self._shapes[letter])))}]"


def _every(word: str, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({word} {' '.join(parts)})"


def _comparison(terms: Sequence[tuple[Fraction, str]], constant: Fraction, *, strict: bool) -> str:
    """``sum of the terms + constant >= 0``, or ``> 0``; of a single name, a bound on it."""
    if len(terms) == 1:
        ((coefficient, name),) = terms
        return f"({_COMPARISONS[1 if coefficient > 0 else -1, strict]} {name} {_number(-constant / coefficient)})"
    products = " ".join(name if c == 1 else f"(* {_number(c)} {name})" for c, name in terms)
    return f"({_COMPARISONS[1, strict]} (+ {products}) {_number(-constant)})"


def _number(value: Fraction) -> str:
    """A number exactly: a decimal where it is a short one, otherwise a quotient."""
    if not 10**20 % value.denominator:
        whole, places = value, 0
        while whole.denominator > 1:
            whole, places = whole * 10, places + 1
        digits = str(abs(whole.numerator)).rjust(places + 1, "0")
        text = f"{'-' if value < 0 else ''}{digits[: len(digits) - places]}{'.' if places else ''}"
        text += digits[len(digits) - places :] if places else ""
        parts = [text]
    else:
        parts = [str(value.numerator), str(value.denominator)]
    if any(len(part) > _MOST_DIGITS for part in parts):
        raise AffineLensError(f"a number of the property has more than {_MOST_DIGITS} digits; round it")
    return parts[0] if len(parts) == 1 else f"(/ {parts[0]} {parts[1]})"
