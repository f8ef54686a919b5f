"""The answer to whether any input satisfies a property's condition, and what it proves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from affinelens.verify.unsafe_set import UnsafePart
from affinelens.verify.witness import Witness
from affinelens.walk import Certificate


class Result(StrEnum):
    """The answers of the VNN-COMP tools."""

    SAT = "sat"
    UNSAT = "unsat"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether any input satisfies a property's condition.

    ``result`` is ``sat`` with a ``witness``, ``unsat`` (no input does: the property holds), ``timeout`` at the time
    limit, or ``unknown`` if the user stopped it; ``reason`` says it in a sentence. ``regions`` were walked;
    others were excluded by bounds before they were complete. ``unsafe`` is the exact set of all such inputs, a part a
    case, if it was asked for.
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

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
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
        """What is true therefore, in a sentence."""
        if self.result in (Result.SAT, Result.UNSAT):
            return f"{self.reason}; no verdict rests on a tolerance"
        return "nothing about the property"
