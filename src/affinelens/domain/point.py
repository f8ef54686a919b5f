"""A single input as a domain: what is left where a property fixes every input."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.domain.domain import Domain, SinglePointError
from affinelens.domain.frame import Frame
from affinelens.domain.numbers import Numbers, read_numbers
from affinelens.errors import AffineLensError


class Point(Domain):
    """One input, exactly; it has dimension 0 and no regions, and a network is simply evaluated there.

    It is what is left where a property fixes every input. ``frame`` and ``halfspace`` raise an error.

    Parameters
    ----------
    values
        One number an input; floats stand for their exact values.

    Attributes
    ----------
    exact : tuple of fractions.Fraction
        The input.

    Examples
    --------
    >>> import affinelens as al
    >>> from fractions import Fraction
    >>> point = al.Point([Fraction(1, 2), Fraction(2)])
    >>> point, point.dim
    (Point(0.5, 2), 0)
    >>> al.network([([[1.0, 1.0]], [-1.0]), ([[1.0]], [0.0])]).evaluate_exact(point.exact)
    [Fraction(3, 2)]
    """

    def __init__(self, values: Sequence[float | Fraction]) -> None:
        given: Any = values
        self._numbers: Numbers = read_numbers(given, "the point")
        if self._numbers.ndim != 1 or not np.isfinite(self._numbers.nearest).all():
            raise AffineLensError(f"a point is a list of finite numbers, one an input, but got {values!r:.80}")
        self.exact = tuple(self._numbers.fractions())

    @property
    def inputs(self) -> int:
        return len(self.exact)

    @property
    def dim(self) -> int:
        return 0

    @property
    def frame(self) -> Frame:
        raise SinglePointError(
            "the domain is a single point and has no regions; evaluate the network there", self.exact
        )

    @property
    def values(self) -> Floats:
        """The input in the nearest float64s, of shape (inputs,).

        Examples
        --------
        >>> import affinelens as al
        >>> from fractions import Fraction
        >>> al.Point([Fraction(1, 2), Fraction(2)]).values
        array([0.5, 2. ])
        """
        return self._numbers.nearest

    def describe_constraint(self, number: int) -> str:
        return f"x[{number}] == {self.values[number]:g}"

    def halfspace(self, number: int) -> tuple[Floats, float]:
        raise SinglePointError("the domain is a single point and has no halfspaces", self.exact)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "point", "values": self._numbers.to_json()}

    def __repr__(self) -> str:
        shown = ", ".join(f"{v:g}" for v in self.values[:4])
        return f"Point({shown}{f', ... {self.inputs} inputs' if self.inputs > 4 else ''})"
