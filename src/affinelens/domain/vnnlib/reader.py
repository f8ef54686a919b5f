"""VNN-LIB properties: input domains and the condition on the outputs, exactly as written.

Versions 1.0 (``X_0``, ``Y_0``) and 2.0 (``X[0,0]``, declared with shapes) are read; the header decides. A file asserts
a formula of linear comparisons, and asks whether any input satisfies it. Numbers are rationals, and nothing is rounded.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path

from affinelens.domain.vnnlib.normal_form import Cases, Formula, joined
from affinelens.domain.vnnlib.property import Constraint, Property
from affinelens.domain.vnnlib.s_expressions import Form, Symbol, at_line, read_forms
from affinelens.errors import AffineLensError
from affinelens.files.given_path import given_path

_LARGEST_TEXT = 64 * 2**20
_MOST_VARIABLES = 1 << 24
_MOST_BITS = 1 << 15
_NUMBER = re.compile(
    r"[+-]?(?:\d{1,400}/0*[1-9]\d{0,400}|(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?)"
)
_VERSION_1_NAME = re.compile(r"([XY])_(0|[1-9]\d{0,8})")
_REAL_TYPES = ("real", "float16", "bfloat16", "float32", "float64")
_NO_MEANING = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")


def read_vnnlib(path: str | Path) -> Property:
    """Read a property from a VNN-LIB file, exactly as written.

    Parameters
    ----------
    path
        A ``.vnnlib`` or ``.vnnlib.gz`` file, of version 1.0 or 2.0.

    Returns
    -------
    Property
        Its input domains, each with a condition on inputs and outputs, in rationals.

    Raises
    ------
    AffineLensError
        If the file cannot be read, or holds what is not linear; the message names the line.

    Examples
    --------
    >>> import affinelens as al
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = "(declare-const X_0 Real) (declare-const Y_0 Real)"
    >>> text += "(assert (>= X_0 0)) (assert (<= X_0 0.1)) (assert (>= Y_0 1))"
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "prop.vnnlib"
    ...     size = file.write_text(text)
    ...     prop = al.read_vnnlib(file)
    >>> prop, prop.cases[0].domain
    (Property(1 input, 1 output, 1 case), Box([0], [0.1]))
    """
    file = given_path(path, "a property")
    try:
        return parse_vnnlib(_text(file))
    except AffineLensError as error:
        raise error.located(str(file)) from None


def parse_vnnlib(text: str) -> Property:
    """Read a property from text; errors name the line."""
    reader = _Reader()
    for form in read_forms(text):
        reader.read(form)
    return reader.result()


def _text(file: Path) -> str:
    if not file.is_file():
        raise AffineLensError("no such file; give a .vnnlib file")
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            data = stream.read(_LARGEST_TEXT + 1)
    except (OSError, EOFError, zlib.error):
        raise AffineLensError("cannot be read; give a .vnnlib file, or one packed by gzip as .vnnlib.gz") from None
    if len(data) > _LARGEST_TEXT:
        raise AffineLensError(f"holds more than {_LARGEST_TEXT >> 20} MiB of text; properties are smaller")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise AffineLensError("is not a text file; give a .vnnlib file") from None


@dataclass(slots=True)
class _Linear:
    """A linear expression: coefficients of inputs (numbered 0, 1, ...) and outputs (-1, -2, ...), and a constant."""

    terms: dict[int, Fraction]
    constant: Fraction

    def add(self, other: _Linear, factor: int, line: int) -> None:
        for variable, coefficient in other.terms.items():
            self.terms[variable] = _modest(self.terms.get(variable, Fraction(0)) + factor * coefficient, line)
        self.constant = _modest(self.constant + factor * other.constant, line)

    def scaled(self, factor: Fraction, line: int) -> _Linear:
        terms = {variable: _modest(coefficient * factor, line) for variable, coefficient in self.terms.items()}
        return _Linear(terms, _modest(self.constant * factor, line))


@dataclass(slots=True)
class _Tensor:
    is_input: bool
    shape: tuple[int, ...]


class _Reader:
    """The statements of one file, as they come."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._declared: dict[str, int] = {}
        self._sizes = {"X": 0, "Y": 0}
        self._tensors: dict[str, _Tensor] = {}
        self._asserted: list[Formula] = []

    def read(self, form: Form) -> None:
        head = form.items[0] if form.items else None
        if not isinstance(head, Symbol):
            raise at_line(form.line, f"found {form!s:.40} where a statement such as (assert ...) belongs")
        if self._version is None:
            self._version = 2 if head.text == "vnnlib-version" else 1
            if self._version == 2:
                _require_version(form)
                return
        statements: dict[str, Callable[[Form], None]] = {"assert": self._assert}
        if self._version == 1:
            statements["declare-const"] = self._declare_constant
            if head.text in _NO_MEANING:
                return
        else:
            statements["declare-network"] = self._declare_network
        if head.text not in statements:
            raise at_line(head.line, f"{head!s:.40} is no statement of VNN-LIB {self._version}.0 that is read; "
                          f"{_listed(statements)} are")  # fmt: skip
        statements[head.text](form)

    def _declare_constant(self, form: Form) -> None:
        names = [item.text for item in form.items[1:] if isinstance(item, Symbol) and item.index is None]
        if len(form.items) != 3 or len(names) != 2 or names[1] != "Real":
            raise at_line(form.line, f"found {form!s:.60}; variables are declared as (declare-const X_0 Real)")
        match = _VERSION_1_NAME.fullmatch(names[0])
        if match is None:
            raise at_line(
                form.line, f"the variable {names[0]:.40} is neither an input X_0, X_1, ... nor an output Y_0, ..."
            )
        if names[0] in self._declared:
            raise at_line(form.line, f"the variable {names[0]} is declared twice")
        letter, number = match[1], int(match[2])
        self._declared[names[0]] = number if letter == "X" else -1 - number
        self._sizes[letter] += 1

    def _declare_network(self, form: Form) -> None:
        if self._tensors:
            raise at_line(form.line, "a second network is declared; only properties of one network are read")
        if len(form.items) < 2 or not isinstance(form.items[1], Symbol):
            raise at_line(form.line, "a network is declared as (declare-network f (declare-input ...) ...)")
        for part in form.items[2:]:
            head = part.items[0] if isinstance(part, Form) and part.items else part
            word = head.text if isinstance(head, Symbol) else str(head)
            if not isinstance(part, Form) or word not in ("declare-input", "declare-output"):
                raise at_line(
                    part.line, f"{word:.40} is not read; a network has one declare-input and one declare-output"
                )
            self._declare_tensor(part, is_input=word == "declare-input")
        if len(self._tensors) < 2:
            raise at_line(form.line, "a network needs one declare-input and one declare-output")

    def _declare_tensor(self, form: Form, *, is_input: bool) -> None:
        word = "input" if is_input else "output"
        items = [item for item in form.items if isinstance(item, Symbol)]
        if len(form.items) != 3 or len(items) != 3 or items[1].index is not None or items[2].index is None:
            raise at_line(form.line, f"found {form!s:.60}; an {word} is declared as (declare-{word} X float32 [1,5])")
        name, kind = items[1].text, items[2]
        if kind.text.lower() not in _REAL_TYPES:
            raise at_line(form.line, f"the {word} {name:.40} has type {kind.text:.40}; {_listed(_REAL_TYPES)} are read")
        if name in self._tensors or any(tensor.is_input == is_input for tensor in self._tensors.values()):
            raise at_line(
                form.line, f"a second {word} is declared; only networks with one input and one output are read"
            )
        shape = kind.index or ()
        if not 0 < prod(shape) <= _MOST_VARIABLES:
            raise at_line(
                form.line, f"the {word} {name:.40} has {prod(shape)} numbers; 1 to {_MOST_VARIABLES:,} are read"
            )
        self._tensors[name] = _Tensor(is_input, shape)

    def _assert(self, form: Form) -> None:
        if len(form.items) != 2:
            raise at_line(form.line, "assert takes one formula")
        if self._version == 2 and not self._tensors:
            raise at_line(form.line, "nothing is declared yet; declare-network comes first")
        self._asserted.append(self._formula(form.items[1]))

    def _formula(self, item: Symbol | Form) -> Formula:
        head = item.items[0] if isinstance(item, Form) and item.items else None
        if not isinstance(item, Form) or not isinstance(head, Symbol):
            raise at_line(item.line, f"found {item!s:.40} where a comparison, and, or or belongs")
        if head.text in ("and", "or"):
            if len(item.items) == 1:
                raise at_line(item.line, f"{head.text} needs at least one formula")
            return joined(head.text == "and", [self._formula(part) for part in item.items[1:]])
        if head.text not in _COMPARISONS:
            raise at_line(head.line, f"{head!s:.40} is not read; and, or, {_listed(_COMPARISONS)} are")
        if len(item.items) != 3:
            raise at_line(item.line, f"{head.text} compares two expressions, but got {len(item.items) - 1}")
        difference = self._linear(item.items[1])
        difference.add(self._linear(item.items[2]), -1, item.line)
        every, sides = _COMPARISONS[head.text]
        return joined(every, [_constraint(difference, sign, strict) for sign, strict in sides])

    def _linear(self, item: Symbol | Form) -> _Linear:
        if isinstance(item, Symbol):
            return self._atom(item)
        head = item.items[0] if item.items else None
        if not isinstance(head, Symbol) or head.text not in ("+", "-", "*", "/") or len(item.items) == 1:
            raise at_line(item.line, f"found {item!s:.40} where a linear expression belongs; numbers, variables, +, - "
                          f"and * by numbers are read")  # fmt: skip
        first, *others = (self._linear(part) for part in item.items[1:])
        if head.text == "-" and not others:
            return first.scaled(Fraction(-1), item.line)
        for other in others:
            if head.text in "+-":
                first.add(other, 1 if head.text == "+" else -1, item.line)
            else:
                first = _product(first, other, head.text, item)
        return first

    def _atom(self, symbol: Symbol) -> _Linear:
        if symbol.index is None and _NUMBER.fullmatch(symbol.text):
            return _Linear({}, Fraction(symbol.text))
        return _Linear({self._variable(symbol): Fraction(1)}, Fraction(0))

    def _variable(self, symbol: Symbol) -> int:
        if self._version == 1:
            number = self._declared.get(symbol.text) if symbol.index is None else None
            if number is None:
                raise at_line(symbol.line, f"{symbol!s:.40} is not declared and not a number; declare it by "
                              f"(declare-const {symbol!s:.40} Real)")  # fmt: skip
            return number
        tensor = self._tensors.get(symbol.text)
        if tensor is None:
            raise at_line(symbol.line, f"{symbol!s:.40} is not declared and not a number; "
                          f"{_listed(self._tensors)} are declared")  # fmt: skip
        index = symbol.index or ()
        if len(index) != len(tensor.shape) or any(i >= n for i, n in zip(index, tensor.shape, strict=True)):
            raise at_line(
                symbol.line, f"{symbol!s:.40} does not lie in the shape {list(tensor.shape)} of {symbol.text:.40}"
            )
        flat = 0
        for i, n in zip(index, tensor.shape, strict=True):
            flat = flat * n + i
        return flat if tensor.is_input else -1 - flat

    def result(self) -> Property:
        """The property, once all statements are read."""
        if self._version is None:
            raise AffineLensError("holds no statements; give a .vnnlib file")
        if self._version == 1:
            shapes: list[tuple[int, ...]] = [(self._contiguous(letter),) for letter in "XY"]
        else:
            if not self._tensors:
                raise AffineLensError("declares no network; VNN-LIB 2.0 needs declare-network")
            tensors = sorted(self._tensors.values(), key=lambda tensor: not tensor.is_input)
            shapes = [tensor.shape for tensor in tensors]
        cases = Cases(prod(shapes[0]), self._input_name)
        cases.add_all(self._asserted)
        return Property(shapes[0], shapes[1], tuple(cases.found()), tuple(cases.notes))

    def _contiguous(self, letter: str) -> int:
        count = self._sizes[letter]
        if not count:
            raise AffineLensError(
                f"declares no variable {letter}_0; inputs are X_0, X_1, ... and outputs Y_0, Y_1, ..."
            )
        for number in range(count):
            if f"{letter}_{number}" not in self._declared:
                raise AffineLensError(f"declares {count} variables {letter}_... but not {letter}_{number}; declare it")
        return count

    def _input_name(self, number: int) -> str:
        if self._version == 1:
            return f"X_{number}"
        name, tensor = next((name, tensor) for name, tensor in self._tensors.items() if tensor.is_input)
        index = []
        for size in reversed(tensor.shape):
            number, place = divmod(number, size)
            index.append(place)
        return f"{name}[{','.join(map(str, reversed(index)))}]"


# For every comparison of a and b: whether all or any of these hold, each a sign s and whether s (a - b) >= 0 is strict.
_COMPARISONS: dict[str, tuple[bool, tuple[tuple[int, bool], ...]]] = {
    "<=": (True, ((-1, False),)),
    ">=": (True, ((1, False),)),
    "<": (True, ((-1, True),)),
    ">": (True, ((1, True),)),
    "==": (True, ((1, False), (-1, False))),
    "=": (True, ((1, False), (-1, False))),
    "!=": (False, ((1, True), (-1, True))),
}


def _require_version(form: Form) -> None:
    version = str(form.items[1]) if len(form.items) == 2 else "nothing"
    if not re.fullmatch(r"<2\.\d{1,3}>", version):
        raise at_line(form.line, f"the version is {version:.40}; 1.0 (without a version statement) and <2.0> are read")


def _modest(value: Fraction, line: int) -> Fraction:
    if value.denominator.bit_length() > _MOST_BITS or value.numerator.bit_length() > _MOST_BITS:
        raise at_line(line, "the numbers of one expression multiply to thousands of digits; shorten them")
    return value


def _product(first: _Linear, second: _Linear, operator: str, item: Form) -> _Linear:
    if operator == "/":
        if second.terms or not second.constant:
            raise at_line(item.line, f"{item!s:.60} divides by {'a variable' if second.terms else 'zero'}; only linear "
                          f"constraints are read")  # fmt: skip
        return first.scaled(1 / second.constant, item.line)
    if first.terms and second.terms:
        raise at_line(item.line, f"{item!s:.60} multiplies two variables; only linear constraints are read")
    return second.scaled(first.constant, item.line) if second.terms else first.scaled(second.constant, item.line)


def _constraint(difference: _Linear, sign: int, strict: bool) -> Formula:
    """``sign * difference >= 0``, or a truth value if no variable is left in it."""
    terms = sorted((variable, sign * c) for variable, c in difference.terms.items() if c)
    constant = sign * difference.constant
    if not terms:
        return constant > 0 or (constant == 0 and not strict)
    inputs = tuple((v, c) for v, c in terms if v >= 0)
    outputs = tuple((-1 - v, c) for v, c in reversed(terms) if v < 0)
    return Constraint(inputs, outputs, constant, strict)


def _listed(words: Iterable[str]) -> str:
    names = list(words)
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
