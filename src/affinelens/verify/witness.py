"""Inputs that satisfy a property's condition, proved in rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.deadline import Deadline
from affinelens.domain.vnnlib.property import Case
from affinelens.network import Network
from affinelens.short_text import point_text
from affinelens.verify.onnx_check import OnnxCheck

_FULL = 2


@dataclass(frozen=True, eq=False)
class FloatCheck:
    """What onnxruntime computes at the witness, and whether that meets the condition.

    Attributes
    ----------
    input : numpy.ndarray
        The witness, rounded to the model's input type and flat.
    output : numpy.ndarray
        What the model makes of it, flat.
    holds : bool
        Whether these meet the condition.
    inside : bool
        Whether the rounded input still lies in the domain.
    """

    input: NDArray[Any]
    output: NDArray[Any]
    holds: bool
    inside: bool


@dataclass(frozen=True, eq=False)
class Witness:
    """An input that satisfies the condition of a property, with the output there; both exact.

    Attributes
    ----------
    case : int
        Of which of the property's cases, from 0.
    input, output : tuple of fractions.Fraction
        Flat; the input lies in the case's domain.
    floats : FloatCheck or None
        What onnxruntime computes there, if the model is an ONNX file and onnxruntime is installed.

    Examples
    --------
    >>> import affinelens as al
    >>> from fractions import Fraction
    >>> witness = al.Witness(0, (Fraction(1, 2), Fraction(0)), (Fraction(3, 4),))
    >>> print(witness.to_vnncomp())
    ((X_0 0.5)
     (X_1 0.0)
     (Y_0 0.75))
    >>> witness.to_json()["exact_output"]
    ['3/4']
    """

    case: int
    input: tuple[Fraction, ...]
    output: tuple[Fraction, ...]
    floats: FloatCheck | None = None

    def __repr__(self) -> str:
        case = f"case {self.case + 1}, " if self.case else ""
        return f"Witness({case}input {point_text(self.input)}, output {point_text(self.output)}; in rationals: .input)"

    @property
    def agreement(self) -> int:
        """How far floats agree: 0, not at all; 1, with an input just outside the domain; 2, in full, or never asked."""
        if self.floats is None:
            return _FULL
        return int(self.floats.holds) * (1 + int(self.floats.inside))

    def to_json(self) -> dict[str, Any]:
        """The witness as plain data: exact numbers as texts, floats as numbers, cases from 1.

        Examples
        --------
        >>> import affinelens as al
        >>> layers = [([[1.0]], [0.0]), ([[2.0]], [0.0])]
        >>> verdict = al.verify(layers, al.Point([1.0]), never=al.output(0) >= 1.5)
        >>> verdict.witness.to_json()["exact_input"]
        ['1']
        """
        report: dict[str, Any] = {
            "case": self.case + 1,
            "input": [float(v) for v in self.input],
            "output": [float(v) for v in self.output],
            "exact_input": [str(v) for v in self.input],
            "exact_output": [str(v) for v in self.output],
            "onnxruntime": None,
        }
        if self.floats is not None:
            report["onnxruntime"] = {
                "input": self.floats.input.tolist(),
                "output": self.floats.output.tolist(),
                "satisfies_condition": self.floats.holds,
                "inside_domain": self.floats.inside,
            }
        return report

    def to_vnncomp(self) -> str:
        """The format of the VNN-COMP tools: a list of ``(X_i value)`` and ``(Y_j value)``.

        Examples
        --------
        >>> import affinelens as al
        >>> layers = [([[1.0]], [0.0]), ([[2.0]], [0.0])]
        >>> verdict = al.verify(layers, al.Point([1.0]), never=al.output(0) >= 1.5)
        >>> print(verdict.witness.to_vnncomp())
        ((X_0 1.0)
         (Y_0 2.0))
        """
        inputs = [f"(X_{i} {float(v)!r})" for i, v in enumerate(self.input)]
        outputs = [f"(Y_{j} {float(v)!r})" for j, v in enumerate(self.output)]
        return "(" + "\n ".join([*inputs, *outputs]) + ")"


class Judge:
    """Decides whether inputs of one case are witnesses; of what the model computes in floats, by the case as stated."""

    def __init__(
        self,
        network: Network,
        case: Case,
        number: int,
        check: OnnxCheck | None,
        deadline: Deadline,
        stated: Case | None = None,
    ) -> None:
        self._network = network
        self._case = case
        self._number = number
        self._check = check
        self._deadline = deadline
        self._stated = case if stated is None else stated

    def at_input(self, x: Sequence[Fraction]) -> Witness | None:
        """The witness that an input of the domain is, or None."""
        y = self._network.evaluate_exact(x, self._deadline)
        return Witness(self._number, tuple(x), tuple(y)) if self._case.holds(x, y) else None

    def at(self, coordinates: Sequence[Fraction]) -> Witness | None:
        """As :meth:`at_input`, for coordinates of the domain's frame; None outside the domain, too."""
        frame = self._case.domain.frame
        column = ExactMatrix.from_fractions([[t] for t in (*coordinates, Fraction(1))])
        if any(value < 0 for value in (frame.rows.numerators * column.numerators).entries()):
            return None
        return self.at_input([row[0] for row in (frame.chart @ column).to_fractions()])

    def best(self, candidates: Sequence[Sequence[Fraction]]) -> Witness | None:
        """The first of the candidates that is a witness in floats as well, or else the first that is one."""
        found: list[Witness] = []
        for coordinates in candidates:
            for witness in self._forms(coordinates):
                found.append(self.checked(witness))
                if found[-1].agreement == _FULL:
                    return found[-1]
        return max(found, key=lambda witness: witness.agreement, default=None)

    def _forms(self, coordinates: Sequence[Fraction]) -> Iterator[Witness]:
        """Witnesses at coordinates rounded to float32, also a step into the domain, and at the coordinates themselves.

        What is next to a bound is taken to the bound first: 0 tells more than the smallest number above it.
        """
        frame = self._case.domain.frame
        near = np.array([float(t) for t in coordinates], dtype=np.float32)
        low, high = frame.lower.astype(np.float32), frame.upper.astype(np.float32)
        short = np.where(near <= np.nextafter(low, high), low, np.where(near >= np.nextafter(high, low), high, near))
        outside = (near <= frame.lower) | (near >= frame.upper)
        inward = np.nextafter(near, (frame.lower / 2 + frame.upper / 2).astype(np.float32))
        rounded = [short.astype(np.float64), np.where(outside, inward, near).astype(np.float64)]
        forms = [[Fraction(t) for t in form.tolist()] for form in rounded if np.isfinite(form).all()]
        for number, form in enumerate((*forms, list(coordinates))):
            witness = self.at(form) if form not in forms[:number] else None
            if witness is not None:
                yield witness

    def checked(self, witness: Witness) -> Witness:
        """With onnxruntime's evaluation, where there is one."""
        found = None if self._check is None else self._check.run(np.array([float(v) for v in witness.input]))
        if found is None or len(found[1]) != len(witness.output) or not all(np.isfinite(v).all() for v in found):
            return witness
        x, y = found
        exact_x, exact_y = ([Fraction(v) for v in array.astype(np.float64).tolist()] for array in (x, y))
        holds = self._stated.holds(exact_x, exact_y)
        return replace(witness, floats=FloatCheck(x, y, holds, self._is_inside(x)))

    def _is_inside(self, x: NDArray[Any]) -> bool:
        domain = self._case.domain
        if domain.dim == 0:
            return [Fraction(v) for v in x.astype(np.float64).tolist()] == list(domain.exact)  # type: ignore[attr-defined]
        return bool(domain.coordinates(x.astype(np.float64)[None])[1][0])
