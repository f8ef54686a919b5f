"""How the verdicts behind a result were reached, and what they prove."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Certificate:
    """How the verdicts behind a result were reached, and what they prove.

    Attributes
    ----------
    decisions : int
        How many questions were decided: whether a hyperplane cuts a cell, on which side a vertex lies.
    by_rounding_bound : int
        Those that float64 decided, with a bound on its rounding.
    by_reuse : int
        Those that followed from earlier ones.
    by_exact_arithmetic : int
        Those that needed rational arithmetic.
    linear_programs : int
        How many linear programs were solved on the way.
    complete : bool
        Whether every region was found.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
    >>> rs.certificate.complete, rs.certificate.linear_programs
    (True, 0)
    >>> rs.certificate.proves.split(";")[-1]
    ' no verdict rests on a tolerance'
    """

    decisions: int
    by_rounding_bound: int
    by_reuse: int
    by_exact_arithmetic: int
    linear_programs: int
    complete: bool

    @property
    def proves(self) -> str:
        """What is therefore true, in a sentence."""
        if self.complete:
            found = "these are all the full-dimensional regions, each of them non-empty and distinct"
        else:
            found = "each of these regions is full-dimensional and distinct; others may exist"
        return f"{found}; no verdict rests on a tolerance"

    def __add__(self, other: Certificate) -> Certificate:
        """That of two results together."""
        return Certificate(
            self.decisions + other.decisions,
            self.by_rounding_bound + other.by_rounding_bound,
            self.by_reuse + other.by_reuse,
            self.by_exact_arithmetic + other.by_exact_arithmetic,
            self.linear_programs + other.linear_programs,
            complete=self.complete and other.complete,
        )

    def to_json(self) -> dict[str, Any]:
        """The counts under their names, and the sentence as ``proves``, as plain data.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.certificate.to_json()["linear_programs"], rs.certificate.to_json()["proves"] == rs.certificate.proves
        (0, True)
        """
        return {**asdict(self), "proves": self.proves}


NO_DECISIONS = Certificate(0, 0, 0, 0, 0, complete=True)
