"""Whether a network decides alike all around an input."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from affinelens.domain import Box, Domain, Polytope
from affinelens.domain.numbers import Numbers, from_fractions, read_numbers
from affinelens.domain.output_condition import class_is
from affinelens.errors import AffineLensError
from affinelens.network import Network, compile_model
from affinelens.progress_display import ProgressOption
from affinelens.short_text import counted, point_text
from affinelens.verify.verdict import Result, Verdict
from affinelens.verify.verification import verify
from affinelens.verify.witness import Witness

NORMS = ("linf", "l1")
# An l1 ball in dimension d has 2**d facets.
_LARGEST_L1_DIMENSION = 10


@dataclass(frozen=True, eq=False)
class Robustness:
    """Whether every input of a ball is of one class.

    Attributes
    ----------
    label : int
        The class.
    domain : Domain
        The ball, within the bounds that were given.
    verdict : Verdict
        How it was decided: ``unsat`` means that no input of the ball is of another class.

    Examples
    --------
    >>> import affinelens as al
    >>> found = al.robust([([[1.0]], [0.0]), ([[1.0], [-1.0]], [0.0, 0.5])], [1.0], 0.5)
    >>> found
    Robustness(robust: class 0 on the whole ball)
    """

    label: int
    domain: Domain
    verdict: Verdict

    @property
    def holds(self) -> bool | None:
        """Whether the class is the same all over the ball; None if that was not decided."""
        return {Result.UNSAT: True, Result.SAT: False}.get(self.verdict.result)

    @property
    def counterexample(self) -> Witness | None:
        """An input of the ball of another class, if there is one."""
        return self.verdict.witness

    def __bool__(self) -> bool:
        if self.holds is None:
            raise AffineLensError(f"it is not known whether the class is the same: {self.verdict.reason}")
        return self.holds

    def __repr__(self) -> str:
        if self.counterexample is not None:
            return f"Robustness(not robust: {point_text(self.counterexample.input)} is not of class {self.label})"
        return f"Robustness({f'robust: class {self.label} on the whole ball' if self.holds else self.verdict.reason})"


def robust(
    model: Any,
    x: ArrayLike,
    eps: float | Fraction,
    *,
    norm: str = "linf",
    label: int | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    engine: str = "auto",
    workers: int | None = None,
    executor: Any = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
    until: str | None = None,
) -> Robustness:
    """Decide whether a network decides alike for all inputs within a distance of one.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes.
    x
        The input, flat or in the model's shape; floats, fractions and decimals are taken exactly.
    eps
        The radius of the ball around it, likewise.
    norm
        ``"linf"``, each input moves by at most eps, or ``"l1"``, all together do, up to dimension 10.
    label
        The class to be kept; the one that the network gives x, unless told otherwise.
    bounds
        The smallest and the largest value that an input can have, as (0, 1) for images; one for all, or one for each.
    engine, workers, executor, time_limit, progress, until
        As for :func:`verify`.

    Returns
    -------
    Robustness
        True or false as it stands in an ``if``; with the input that shows it where it is false.

    Raises
    ------
    AffineLensError
        If the model, the input or an option cannot be taken.

    Notes
    -----
    Costs a :func:`verify`. Classes are those of :func:`class_is`: of equal outputs the first wins.

    Examples
    --------
    >>> import affinelens as al
    >>> layers = [([[1.0]], [0.0]), ([[1.0], [-1.0]], [0.0, 0.5])]  # class 0 from 0.25 on
    >>> bool(al.robust(layers, [1.0], 0.75)), bool(al.robust(layers, [1.0], 0.8))
    (True, False)
    """
    center = read_numbers(x, "x")
    network = compile_model(model, until=until, inputs=center.nearest.size)
    if center.nearest.size != network.input_size:
        numbers = counted(network.input_size, "number")
        raise AffineLensError(f"x must be one input of {numbers}, but has shape {center.shape}")
    if not np.isfinite(center.nearest).all():
        raise AffineLensError("x must be finite, but has an entry that is nan or infinite")
    middle = center.fractions()
    kept = _class_at(network, middle) if label is None else label
    ball = _ball(middle, _radius(eps), norm, bounds)
    verdict = verify(
        network, ball, always=class_is(kept), engine=engine, workers=workers, executor=executor, time_limit=time_limit,
        progress=progress,
    )  # fmt: skip
    return Robustness(int(kept), ball, verdict)


def _class_at(network: Network, x: list[Fraction]) -> int:
    outputs = network.evaluate_exact(x)
    return outputs.index(max(outputs)) if len(outputs) > 1 else int(outputs[0] > 0)


def _radius(eps: float | Fraction) -> Fraction:
    radius = read_numbers(np.asarray(eps), "eps")
    if radius.ndim or not 0 < radius.nearest < np.inf:
        raise AffineLensError(f"eps must be a finite number above 0, but is {eps!r:.60}")
    return radius.fractions()[0]


def _cube(middle: list[Fraction], eps: Fraction, bounds: tuple[ArrayLike, ArrayLike] | None) -> list[list[Fraction]]:
    """The lowest and the highest value of each input."""
    corners = [[v - eps for v in middle], [v + eps for v in middle]]
    if bounds is None:
        return corners
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise AffineLensError(f"bounds are a pair, the smallest and the largest value, but got {bounds!r:.60}")
    for corner, values, inner in zip(corners, bounds, (max, min), strict=True):
        limits = read_numbers(values, "the bounds")
        if limits.nearest.size not in (1, len(middle)) or not np.isfinite(limits.nearest).all():
            raise AffineLensError(
                f"a bound is one finite number, or one for each of the {len(middle)} inputs, but got {values!r:.60}"
            )
        corner[:] = map(inner, corner, limits.reshaped(-1).spread(len(middle)).fractions())
    if any(a > b for a, b in zip(*corners, strict=True)):
        raise AffineLensError("no input within eps of x lies in the bounds; give bounds that hold x")
    return corners


def _ball(middle: list[Fraction], eps: Fraction, norm: str, bounds: tuple[ArrayLike, ArrayLike] | None) -> Domain:
    if norm not in NORMS:
        raise AffineLensError(
            f"norm must be one of {', '.join(map(repr, NORMS))}, but got {norm!r}; the l2 ball is no polytope, and the "
            f"linf ball of the same eps contains it"
        )
    lower, upper = _cube(middle, eps, bounds)
    if norm == "linf":
        return Box(_exactly(lower), _exactly(upper))
    if len(middle) > _LARGEST_L1_DIMENSION:
        raise AffineLensError(
            f"the l1 ball of {len(middle)} inputs has 2**{len(middle)} facets, and up to {_LARGEST_L1_DIMENSION} "
            f"inputs are taken; ask for norm='linf'"
        )
    rows, offsets = [], []
    for signs in product((1, -1), repeat=len(middle)):
        rows.append([Fraction(-s) for s in signs])
        offsets.append(eps + sum((s * v for s, v in zip(signs, middle, strict=True)), Fraction(0)))
    for i, (a, b) in enumerate(zip(lower, upper, strict=True)):
        unit = [Fraction(int(i == k)) for k in range(len(middle))]
        rows += [unit, [-v for v in unit]]
        offsets += [-a, b]
    return Polytope(from_fractions([v for row in rows for v in row], (len(rows), len(middle)), "W"), _exactly(offsets))


def _exactly(values: list[Fraction]) -> Numbers:
    return from_fractions(values, (len(values),), "the ball's bounds")
