"""Boxes: every input between two bounds."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.domain.frame import LARGEST_BOUND, Domain, Frame, float_array
from affinelens.errors import AffineLensError

Floats = NDArray[np.float64]


class Box(Domain):
    """The box ``lower <= x <= upper``; an input whose bounds are equal is fixed.

    Parameters
    ----------
    lower, upper
        Scalars (then give ``dim``) or one bound an input.
    dim
        Number of inputs, when both bounds are scalars.

    Examples
    --------
    >>> import affinelens as al
    >>> al.Box(-1, 1, dim=2)
    Box([-1, -1], [1, 1])
    >>> al.Box([0, 0.5], [1, 0.5]).dim
    1
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, dim: int | None = None) -> None:
        low, high = _bounds(lower, "lower"), _bounds(upper, "upper")
        sizes = {len(bound) for bound in (low, high) if bound.ndim} | ({int(dim)} if dim is not None else set())
        if not sizes:
            raise AffineLensError("a box from two scalars needs the number of inputs; write Box(-1, 1, dim=2)")
        if len(sizes) > 1 or min(sizes) < 1:
            raise AffineLensError(f"a box needs as many lower as upper bounds, one an input; found {sorted(sizes)}")
        size = sizes.pop()
        self.lower: Floats = np.ascontiguousarray(np.broadcast_to(low, size))
        self.upper: Floats = np.ascontiguousarray(np.broadcast_to(high, size))
        for i in np.flatnonzero(~(np.isfinite(self.lower) & np.isfinite(self.upper))):
            raise AffineLensError(
                f"the box is unbounded or undefined at input {i}: [{self.lower[i]:g}, {self.upper[i]:g}]; "
                f"give finite bounds"
            )
        for i in np.flatnonzero(self.lower > self.upper):
            raise AffineLensError(
                f"the box is empty: input {i} has lower bound {self.lower[i]:g} above its upper bound "
                f"{self.upper[i]:g}; swap them"
            )
        for i in np.flatnonzero(np.maximum(np.abs(self.lower), np.abs(self.upper)) > LARGEST_BOUND):
            raise AffineLensError(
                f"the box reaches beyond {LARGEST_BOUND:g} at input {i}: [{self.lower[i]:g}, {self.upper[i]:g}]; "
                f"rescale that input"
            )
        if np.all(self.lower == self.upper):
            raise AffineLensError("the box fixes every input and is a single point; let at least one input vary")

    @property
    def inputs(self) -> int:
        return len(self.lower)

    @cached_property
    def frame(self) -> Frame:
        free = np.flatnonzero(self.lower < self.upper)
        count = len(free)
        chart = np.zeros((self.inputs, count + 1))
        chart[:, -1] = np.where(self.lower == self.upper, self.lower, 0.0)
        chart[free, np.arange(count)] = 1.0
        low, high = self.lower[free], self.upper[free]
        rows = np.zeros((2 * count, count + 1))
        rows[0::2, :count], rows[0::2, -1] = np.eye(count), -low
        rows[1::2, :count], rows[1::2, -1] = -np.eye(count), high
        constraints = tuple(int(n) for i in free for n in (2 * i, 2 * i + 1))
        return Frame(
            ExactMatrix.from_floats(chart), ExactMatrix.from_floats(rows), constraints, low, high, irredundant=True
        )

    def describe_constraint(self, number: int) -> str:
        i, upper = divmod(number, 2)
        return f"x[{i}] <= {self.upper[i]:g}" if upper else f"x[{i}] >= {self.lower[i]:g}"

    def halfspace(self, number: int) -> tuple[Floats, float]:
        i, upper = divmod(number, 2)
        normal = np.zeros(self.inputs)
        normal[i] = -1.0 if upper else 1.0
        return normal, float(self.upper[i] if upper else -self.lower[i])

    def to_json(self) -> dict[str, Any]:
        return {"kind": "box", "lower": self.lower.tolist(), "upper": self.upper.tolist()}

    def __repr__(self) -> str:
        return f"Box({_short(self.lower)}, {_short(self.upper)})"


def _bounds(values: ArrayLike, which: str) -> Floats:
    array = float_array(values, f"the box's {which} bounds")
    if array.ndim > 1:
        raise AffineLensError(f"the box's {which} bounds must be a number or a list, but have shape {array.shape}")
    return array


def _short(values: Floats) -> str:
    shown = ", ".join(f"{v:g}" for v in values[:4])
    return f"[{shown}, ... {len(values)} inputs]" if len(values) > 4 else f"[{shown}]"
