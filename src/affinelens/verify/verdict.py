"""The answer to a property: what it is, why it is true, and the inputs that show it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from affinelens.short_text import counted
from affinelens.verify.unsafe_set import UnsafePart
from affinelens.verify.witness import Witness
from affinelens.walk import Certificate


class Result(StrEnum):
    """The answers of the VNN-COMP tools.

    Attributes
    ----------
    SAT
        Some input satisfies the condition.
    UNSAT
        No input does: the property holds.
    TIMEOUT
        The time limit came first.
    UNKNOWN
        The user stopped it.
    """

    SAT = "sat"
    UNSAT = "unsat"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether any input satisfies a property's condition; ``str(verdict)`` is the word for it.

    Attributes
    ----------
    result : Result
        ``sat`` with a witness, ``unsat`` (no input does: the property holds), ``timeout`` at the time limit, or
        ``unknown`` if the user stopped it.
    reason : str
        The same in a sentence.
    seconds : float
        How long it took.
    regions : int
        How many regions were walked; others were excluded by bounds before they were complete.
    engines : tuple of str
        The names of the engines that walked; none if bounds or points decided.
    certificate : Certificate
        How the walks' verdicts were reached.
    witness : Witness or None
        An input that satisfies the condition.
    unsafe : tuple of UnsafePart or None
        The exact set of all such inputs, a part a case, if it was asked for: its ``regions`` (a :class:`RegionSet`),
        their ``volumes``, the ``volume`` in all and its ``share`` of the domain.
    notes : tuple of str
        What compiling the model and reading the property changed.

    Examples
    --------
    >>> import affinelens as al
    >>> from affinelens.domain import Case, Constraint
    >>> from fractions import Fraction
    >>> above_half = Constraint((), ((0, Fraction(1)),), Fraction(-1, 2))  # Y_0 >= 1/2
    >>> prop = al.Property((1,), (1,), (Case(al.Box(-1, 1, dim=1), ((above_half,),)),))
    >>> verdict = al.verify([([[1.0]], [0.0]), ([[1.0]], [0.0])], prop, all=True)
    >>> print(verdict)
    sat
    >>> verdict.witness.output[0] >= Fraction(1, 2), verdict.unsafe[0].volume, verdict.unsafe[0].share
    (True, 0.5, 0.25)
    """

    result: Result
    reason: str
    seconds: float
    regions: int
    engines: tuple[str, ...]
    certificate: Certificate
    witness: Witness | None = None
    unsafe: tuple[UnsafePart, ...] | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.result)

    def __repr__(self) -> str:
        return f"Verdict({self.result}: {self.reason}; {counted(self.regions, 'region')}, {self.seconds:.3g} s)"

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain data: what ``affinelens verify --json`` prints.

        Examples
        --------
        >>> import affinelens as al
        >>> layers = [([[1.0]], [0.0]), ([[2.0]], [0.0])]
        >>> verdict = al.verify(layers, al.Point([1.0]), never=al.output(0) >= 1.5)
        >>> verdict.to_json()["result"]
        'sat'
        """
        return {
            "result": str(self.result),
            "reason": self.reason,
            "seconds": round(self.seconds, 6),
            "regions": self.regions,
            "engines": list(self.engines),
            "exact": True,
            "witness": None if self.witness is None else self.witness.to_json(),
            "unsafe": None if self.unsafe is None else [part.to_json() for part in self.unsafe],
            "notes": list(self.notes),
            "certificate": {**self.certificate.to_json(), "proves": self.proves},
        }

    @property
    def proves(self) -> str:
        """What is therefore true, in a sentence."""
        if self.result in (Result.SAT, Result.UNSAT):
            return f"{self.reason}; no verdict rests on a tolerance"
        return "nothing about the property"
