"""Boxes: every input between two bounds."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import sparse_matrix
from affinelens.array_types import Bools, Floats, Indices
from affinelens.domain.frame import Domain, EmptyDomainError, Frame, SinglePointError, free_chart
from affinelens.domain.numbers import LARGEST_BOUND, Numbers, read_numbers
from affinelens.errors import AffineLensError


class Box(Domain):
    """The box ``lower <= x <= upper``; an input whose bounds are equal is fixed.

    Parameters
    ----------
    lower, upper
        Scalars (then give ``dim``) or one bound an input. Fractions, decimals and integers are taken exactly.
    dim
        Number of inputs, when both bounds are scalars.

    Attributes
    ----------
    lower, upper : numpy.ndarray
        float64 of shape (inputs,): the bounds, rounded outward where they are no float64s.

    Raises
    ------
    AffineLensError
        If the box is empty, unbounded or a single point; for that, see :class:`Point`.

    Examples
    --------
    >>> import affinelens as al
    >>> al.Box(-1, 1, dim=2)
    Box([-1, -1], [1, 1])
    >>> al.Box([0, 0.5], [1, 0.5]).dim
    1
    """

    def __init__(self, lower: ArrayLike | Numbers, upper: ArrayLike | Numbers, *, dim: int | None = None) -> None:
        low, high = _bounds(lower, "lower"), _bounds(upper, "upper")
        sizes = {bound.shape[0] for bound in (low, high) if bound.ndim} | _size(dim)
        if not sizes:
            raise AffineLensError("a box from two scalars needs the number of inputs; write Box(-1, 1, dim=2)")
        if len(sizes) > 1 or min(sizes) < 1:
            raise AffineLensError(f"a box needs as many lower as upper bounds, one an input; found {sorted(sizes)}")
        size = sizes.pop()
        self._low, self._high = low.spread(size), high.spread(size)
        for i in np.flatnonzero(~(np.isfinite(self._low.nearest) & np.isfinite(self._high.nearest))):
            raise AffineLensError(
                f"the box is unbounded or undefined at input {i}: {self._range(i)}; give finite bounds"
            )
        self.lower: Floats = self._low.rounded(down=True)
        self.upper: Floats = self._high.rounded(down=False)
        empty, fixed = self._compared()
        for i in np.flatnonzero(empty):
            raise EmptyDomainError(
                f"the box is empty: input {i} has lower bound {self._low.nearest[i]:g} above its upper bound "
                f"{self._high.nearest[i]:g}; swap them"
            )
        for i in np.flatnonzero(np.maximum(np.abs(self.lower), np.abs(self.upper)) > LARGEST_BOUND):
            raise AffineLensError(
                f"the box reaches beyond {LARGEST_BOUND:g} at input {i}: {self._range(i)}; rescale that input"
            )
        if fixed.all():
            raise SinglePointError(
                "the box fixes every input and is a single point; let at least one input vary", self._low.fractions()
            )
        self._free: Indices = np.flatnonzero(~fixed)

    def _compared(self) -> tuple[Bools, Bools]:
        """Inputs whose bounds leave nothing, and those that have one value."""
        if self._low.exact is None and self._high.exact is None:
            return self.lower > self.upper, self.lower == self.upper
        pairs = list(zip(self._low.fractions(), self._high.fractions(), strict=True))
        return np.array([a > b for a, b in pairs]), np.array([a == b for a, b in pairs])

    def _range(self, i: np.integer[Any]) -> str:
        return f"[{self._low.nearest[i]:g}, {self._high.nearest[i]:g}]"

    @property
    def inputs(self) -> int:
        return len(self.lower)

    @property
    def dim(self) -> int:
        return len(self._free)

    @cached_property
    def frame(self) -> Frame:
        """The box in its own coordinates: the inputs that it does not fix."""
        constraints = tuple(int(n) for i in self._free for n in (2 * i, 2 * i + 1))
        chart, rows = self._float_frame() if self._low.exact is self._high.exact is None else self._exact_frame()
        return Frame(chart, rows, constraints, self.lower[self._free], self.upper[self._free], irredundant=True)

    def _float_frame(self) -> tuple[ExactMatrix, ExactMatrix]:
        free, count = self._free, self.dim
        chart = np.zeros((self.inputs, count + 1))
        chart[:, -1] = np.where(self.lower == self.upper, self.lower, 0.0)
        chart[free, np.arange(count)] = 1.0
        rows = np.zeros((2 * count, count + 1))
        rows[0::2, :count], rows[0::2, -1] = np.eye(count), -self.lower[free]
        rows[1::2, :count], rows[1::2, -1] = -np.eye(count), self.upper[free]
        return ExactMatrix.from_floats(chart), ExactMatrix.from_floats(rows)

    def _exact_frame(self) -> tuple[ExactMatrix, ExactMatrix]:
        low, high = self._low.fractions(), self._high.fractions()
        free, count = self._free.tolist(), self.dim
        rows: list[dict[int, Fraction]] = []
        for k, i in enumerate(free):
            rows += [{k: Fraction(1), count: -low[i]}, {k: Fraction(-1), count: high[i]}]
        fixed = {i: value for i, value in enumerate(low) if value == high[i]}
        return free_chart(free, fixed), sparse_matrix(rows, count + 1)

    def describe_constraint(self, number: int) -> str:
        i, upper = divmod(number, 2)
        return f"x[{i}] <= {self._high.nearest[i]:g}" if upper else f"x[{i}] >= {self._low.nearest[i]:g}"

    def halfspace(self, number: int) -> tuple[Floats, float]:
        i, upper = divmod(number, 2)
        normal = np.zeros(self.inputs)
        normal[i] = -1.0 if upper else 1.0
        return normal, float(self._high.nearest[i] if upper else -self._low.nearest[i])

    def to_json(self) -> dict[str, Any]:
        return {"kind": "box", "lower": self._low.to_json(), "upper": self._high.to_json()}

    def __repr__(self) -> str:
        return f"Box({_short(self._low.nearest)}, {_short(self._high.nearest)})"


def _size(dim: Any) -> set[int]:
    """The number of inputs, if it was given."""
    if dim is None:
        return set()
    if isinstance(dim, bool) or not hasattr(dim, "__index__") or int(dim) < 1:
        raise AffineLensError(f"dim is a number of inputs, a whole one of at least 1, but got {dim!r:.40}")
    return {int(dim)}


def _bounds(values: ArrayLike | Numbers, which: str) -> Numbers:
    array = read_numbers(values, f"the box's {which} bounds")
    if array.ndim > 1:
        raise AffineLensError(f"the box's {which} bounds must be a number or a list, but have shape {array.shape}")
    return array


def _short(values: Floats) -> str:
    shown = ", ".join(f"{v:g}" for v in values[:4])
    return f"[{shown}, ... {len(values)} inputs]" if len(values) > 4 else f"[{shown}]"
