"""Questions about a network: input domains, each with a condition on inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from pathlib import Path

from affinelens.domain.domain import Domain
from affinelens.domain.vnnlib.writer import vnnlib_text
from affinelens.errors import AffineLensError
from affinelens.files.given_path import given_path
from affinelens.files.output_file import cannot_be_written
from affinelens.short_text import counted


@dataclass(frozen=True, slots=True)
class Constraint:
    """``sum a_i x_i + sum c_j y_j + constant >= 0``, or ``> 0`` if strict; coefficients of 0 are not listed.

    Attributes
    ----------
    inputs, outputs
        Pairs of an index i or j (from 0, in the flattened tensor) and its coefficient.
    constant
        As written in the file, exactly.
    strict
        Whether equality is left out.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from affinelens.domain import Constraint
    >>> constraint = Constraint((), ((0, Fraction(1)),), Fraction(-1, 2))
    >>> print(constraint)
    Y_0 - 1/2 >= 0
    >>> constraint.value([], [Fraction(2)]), constraint.holds([], [Fraction(0)])
    (Fraction(3, 2), False)
    """

    inputs: tuple[tuple[int, Fraction], ...]
    outputs: tuple[tuple[int, Fraction], ...]
    constant: Fraction
    strict: bool = False

    def value(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
        """The left-hand side at an input and its output.

        Parameters
        ----------
        x, y
            The input and its output, a number an entry; fractions give exact results.

        Examples
        --------
        >>> from affinelens.domain import Constraint
        >>> from fractions import Fraction
        >>> Constraint(((0, Fraction(1)),), ((0, Fraction(-2)),), Fraction(3)).value([Fraction(1, 2)], [Fraction(1)])
        Fraction(3, 2)
        """
        total = self.constant
        for terms, values in ((self.inputs, x), (self.outputs, y)):
            for index, coefficient in terms:
                total += coefficient * values[index]
        return total

    def holds(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        """Whether it holds at an input and its output, exactly.

        Parameters
        ----------
        x, y
            The input and its output, a number an entry; fractions give exact results.

        Examples
        --------
        >>> from affinelens.domain import Constraint
        >>> from fractions import Fraction
        >>> positive = Constraint((), ((0, Fraction(1)),), Fraction(0), strict=True)  # Y_0 > 0
        >>> positive.holds([], [Fraction(0)]), positive.holds([], [Fraction(1, 3)])
        (False, True)
        """
        value = self.value(x, y)
        return value > 0 if self.strict else value >= 0

    def __str__(self) -> str:
        terms = [(c, f"{name}_{i}") for name, part in (("X", self.inputs), ("Y", self.outputs)) for i, c in part]
        return f"{sum_text(terms, self.constant)} {'>' if self.strict else '>='} 0"


def sum_text(terms: Sequence[tuple[Fraction, str]], constant: Fraction) -> str:
    """A sum of multiples of what is named and a constant, as one writes it.

    >>> sum_text([(Fraction(-1), "y"), (Fraction(2), "z")], Fraction(-1, 2))
    '-y + 2 z - 1/2'
    """
    text = ""
    for value, name in [*terms, (constant, "")] if constant or not terms else terms:
        size = "" if abs(value) == 1 and name else f"{abs(value)}{' ' if name else ''}"
        sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
        text += f"{sign}{size}{name}"
    return text


@dataclass(frozen=True, eq=False)
class Case:
    """A domain, and a condition in disjunctive normal form: it holds if all of any one of the conjunctions do.

    Attributes
    ----------
    domain
        A :class:`Box`, :class:`Polytope` or :class:`Point` of the network's inputs.
    condition
        The conjunctions, each a tuple of :class:`Constraint`.

    Examples
    --------
    >>> import affinelens as al
    >>> case = al.Case(al.Box(-1, 1, dim=1), (al.output(0) >= 0.5).normal_form(1))
    >>> case.holds([0], [1]), case.holds([0], [0])
    (True, False)
    """

    domain: Domain
    condition: tuple[tuple[Constraint, ...], ...]

    def holds(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        """Whether the condition holds at an input of the domain and its output, exactly.

        Parameters
        ----------
        x, y
            The input and its output, a number an entry; fractions give exact results.

        Examples
        --------
        >>> import affinelens as al
        >>> far = (al.output(0) >= 3) | (al.output(0) <= -3)
        >>> case = al.Case(al.Box(-1, 1, dim=1), far.normal_form(1))
        >>> case.holds([1], [-4]), case.holds([1], [2])
        (True, False)
        """
        return any(all(constraint.holds(x, y) for constraint in conjunction) for conjunction in self.condition)


@dataclass(frozen=True, eq=False)
class Property:
    """What a VNN-LIB file asks: does any of its cases have an input whose output meets the case's condition?

    Attributes
    ----------
    input_shape, output_shape : tuple of int
        As the file declares them; one axis in version 1.0.
    cases : tuple of Case
        An input domain and a condition each; ``case.domain`` is what :func:`affinelens.enumerate` takes.
    notes : tuple of str
        Which alternatives of the file were dropped because no input satisfies them.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import affinelens as al
    >>> from affinelens.domain import Case, Constraint
    >>> above_half = Constraint((), ((0, Fraction(1)),), Fraction(-1, 2))
    >>> prop = al.Property((1,), (1,), (Case(al.Box(-1, 1, dim=1), ((above_half,),)),))
    >>> prop
    Property(1 input, 1 output, 1 case)
    >>> al.verify([([[1.0]], [0.0]), ([[0.25]], [0.0])], prop).result
    <Result.UNSAT: 'unsat'>
    """

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def inputs(self) -> int:
        """How many numbers an input has."""
        return prod(self.input_shape)

    @property
    def outputs(self) -> int:
        """How many numbers an output has."""
        return prod(self.output_shape)

    def require_sizes(self, inputs: int, outputs: int) -> None:
        """Refuse a network that does not have the property's inputs and outputs.

        Parameters
        ----------
        inputs, outputs
            How many the network has.

        Raises
        ------
        AffineLensError
            If the numbers differ; :func:`affinelens.verify` asks first.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Property((1,), (1,), ()).require_sizes(2, 1)
        Traceback (most recent call last):
            ...
        affinelens.errors.AffineLensError: the property speaks of 1 inputs but the network has 2; ...
        """
        for word, own, other in (("inputs", self.inputs, inputs), ("outputs", self.outputs, outputs)):
            if own != other:
                raise AffineLensError(
                    f"the property speaks of {own} {word} but the network has {other}; give the property's own network"
                )

    def write(self, path: str | Path) -> Path:
        """Write the property as a VNN-LIB file, which :func:`affinelens.read_vnnlib` takes back exactly.

        Parameters
        ----------
        path
            A ``.vnnlib`` file. It is of version 1.0 or, where inputs or outputs have several axes, 2.0.

        Returns
        -------
        pathlib.Path
            The path.

        Raises
        ------
        AffineLensError
            If a domain is a slice, a number has more than 400 digits, or the file cannot be written.

        Examples
        --------
        >>> import affinelens as al
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> case = al.Case(al.Box(-1, 0.5, dim=1), (al.output(0) >= 2).normal_form(1))
        >>> with TemporaryDirectory() as folder:
        ...     print(al.Property((1,), (1,), (case,)).write(Path(folder) / "p.vnnlib").read_text(), end="")
        (declare-const X_0 Real)
        (declare-const Y_0 Real)
        (assert (>= X_0 -1))
        (assert (<= X_0 0.5))
        (assert (>= Y_0 2))
        """
        file, text = given_path(path, "a property"), vnnlib_text(self)
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise cannot_be_written(file, error) from None
        return file

    def __repr__(self) -> str:
        sizes = counted(self.inputs, "input"), counted(self.outputs, "output"), counted(len(self.cases), "case")
        return f"Property({', '.join(sizes)})"
