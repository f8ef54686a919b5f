"""Affine enclosures: functions of a box's coordinates and of noise symbols, with a proven error.

A form's rows are ``main [t; 1] + symbols e``, where the coordinates t and the symbols e range over [-1, 1]; the true
values differ from that by at most ``error`` a row. Errors grow with every linear map by its absolute values, so that
after twenty layers the first roundings weigh most. The main part is therefore kept in extended precision where the
platform has it: it is a few columns only, and the symbols, which are many, are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, gamma, upward
from affinelens.array_types import Floats, Indices
from affinelens.deadline import NEVER, Deadline
from affinelens.network.composed_maps import Composite
from affinelens.network.linear_map import LinearMap, short_bits, shortened
from affinelens.network.stage import AffineSum

# Extended precision, or float64 again on platforms without it.
Extended = NDArray[np.longdouble]
MAIN_ROUNDOFF = float(np.finfo(np.longdouble).eps) / 2
# So many products of numbers are taken between two looks at the clock: a fraction of a second's work.
_PRODUCTS_AT_ONCE = 1 << 31


@dataclass(frozen=True, eq=False)
class Form:
    """Rows ``main [t; 1] + symbols e`` and how far each may be off."""

    main: Extended
    symbols: Floats
    error: Floats

    @classmethod
    def of_chart(cls, chart: ExactMatrix) -> Form:
        """A chart's rows as functions of coordinates in [-1, 1]."""
        if chart.source is not None:
            return cls(
                chart.source.astype(np.longdouble), np.zeros((len(chart.source), 0)), np.zeros(len(chart.source))
            )
        nearest = ExactMatrix.from_floats(chart.to_floats())
        rest = (chart - nearest).to_floats().astype(np.longdouble)
        rows = nearest.to_floats().astype(np.longdouble) + rest
        error = np.where(rest.any(axis=1), upward(2 * (MAIN_ROUNDOFF + UNIT_ROUNDOFF**2) * _size(rows)), 0.0)
        return cls(rows, np.zeros((len(rows), 0)), error)

    def __len__(self) -> int:
        return len(self.main)

    def __getitem__(self, rows: Indices) -> Form:
        return Form(self.main[rows], self.symbols[rows], self.error[rows])

    @property
    def roundable(self) -> Floats:
        """What a relative error of one rounding a term comes to, row by row."""
        return upward(MAIN_ROUNDOFF * _size(self.main) + UNIT_ROUNDOFF * np.abs(self.symbols).sum(axis=1))

    @property
    def range(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the rows."""
        constant = self.main[:, -1].astype(np.float64)
        radius = _size(self.main[:, :-1]) + np.abs(self.symbols).sum(axis=1) + self.error
        radius = upward(upward(radius) + 4 * UNIT_ROUNDOFF * (np.abs(constant) + radius))
        return constant - radius, constant + radius

    def through(self, linear: LinearMap, deadline: Deadline = NEVER) -> Form:
        """The form behind a linear map."""
        if isinstance(linear, Composite):
            return linear.through(lambda part, form: form.through(part, deadline), self)
        deadline.check()
        main, rounding = applied(linear, self.main)
        grown = self.error
        if linear.roundings:
            grown = grown + gamma(linear.roundings) * np.abs(self.symbols).sum(axis=1)
        error = upward(linear.apply_absolute(upward(grown)[:, None])[:, 0] + rounding)
        return _checked(main, _applied_by_columns(linear, self.symbols, deadline), error)

    def __add__(self, other: Form) -> Form:
        error = self.error + other.error + 2 * (self.roundable + other.roundable)
        return _checked(self.main + other.main, self.symbols + other.symbols, upward(error))

    def scaled(self, slopes: Floats, offsets: Floats) -> Form:
        """``slopes * row + offsets``, row by row."""
        weight = np.abs(slopes)
        exact = np.isin(slopes, (-1.0, 0.0, 1.0)) & (offsets == 0.0)
        rounding = 4 * (weight * self.roundable + MAIN_ROUNDOFF * np.abs(offsets))
        main = self.main * slopes[:, None]
        main[:, -1] += offsets
        error = upward(weight * self.error + np.where(exact, 0.0, rounding))
        return _checked(main, self.symbols * slopes[:, None], error)

    def differences(self, plus: Indices, minus: Indices) -> Form:
        """Rows ``row[plus] - row[minus]``."""
        error = self.error[plus] + self.error[minus] + 2 * (self.roundable[plus] + self.roundable[minus])
        return _checked(self.main[plus] - self.main[minus], self.symbols[plus] - self.symbols[minus], upward(error))

    def with_symbols(self, radius: Floats) -> Form:
        """Add ``radius`` times a symbol of its own to each row whose radius is not zero."""
        new = np.flatnonzero(radius)
        table = np.zeros((len(self), len(new)))
        table[new, np.arange(len(new))] = radius[new]
        return Form(self.main, np.concatenate([self.symbols, table], axis=1), self.error)

    def widened(self, count: int) -> Form:
        """The same functions, of more symbols."""
        missing = count - self.symbols.shape[1]
        if not missing:
            return self
        return Form(self.main, np.pad(self.symbols, ((0, 0), (0, missing))), self.error)

    def without_oldest(self, count: int) -> Form:
        """Merge the oldest symbols into the rows' errors."""
        error = upward(self.error + np.abs(self.symbols[:, :count]).sum(axis=1))
        return Form(self.main, self.symbols[:, count:], error)


def sum_form(linear: AffineSum, sources: Sequence[Form | None], deadline: Deadline = NEVER) -> Form:
    """The form of an affine sum, given those of its sources."""
    present = [source for k, _ in linear.sources if (source := sources[k]) is not None]
    count = max((source.symbols.shape[1] for source in present), default=0)
    width = next(source.main.shape[1] for source in sources if source is not None)
    one = Form(np.eye(1, width, width - 1, dtype=np.longdouble), np.zeros((1, 0)), np.zeros(1))
    return linear.total(
        lambda part, form: form.widened(count).through(part, deadline),
        [one if source is None else source for source in sources],
        one,
    )


def _applied_by_columns(linear: LinearMap, columns: Floats, deadline: Deadline) -> Floats:
    """A map's value on columns, of which there may be thousands, as many at a time as do not take long."""
    count = columns.shape[1]
    at_once = max(_PRODUCTS_AT_ONCE // max(linear.roundings * linear.size_out, 1), 1)
    if count <= at_once:
        return linear.apply(columns)
    found = np.empty((linear.size_out, count))
    for start in range(0, count, at_once):
        deadline.check()
        some = slice(start, start + at_once)
        found[:, some] = linear.apply(columns[:, some])
    return found


def applied(linear: LinearMap, main: Extended) -> tuple[Extended, Floats]:
    """A map's value on columns in extended precision, and a bound on the error of each row's sum."""
    size = _size(main)[:, None]
    halves = linear.halves
    if halves is None:
        return extended_product(linear, main), upward(rounding_share(linear) * linear.apply_absolute(size)[:, 0])
    lost = lost_bits(linear) * float(np.abs(main).max(initial=0.0)) * main.shape[1]
    whole = linear.apply_absolute(np.hstack([size, np.full((linear.size_in, 1), lost)]))
    unrounded = halves[1].apply_absolute(size)[:, 0] + whole[:, 1]
    return extended_product(linear, main), upward(
        gamma(linear.roundings) * unrounded + rounding_share(linear) * whole[:, 0]
    )


def extended_product(linear: LinearMap, main: Extended) -> Extended:
    """A map's value on columns in extended precision.

    Numbers and coefficients are cut into a short part and a rest. Products of short parts are summed in float64 without
    rounding; what rounds is smaller by some twenty bits, or by twice as many. For column c it is

    - a ``rounding_share`` of ``|A| |c|``, and where the map has halves,
    - ``gamma`` of its roundings, times what ``|rest|`` makes of ``|c|``, and times ``|A|`` of a column of the
      ``lost_bits`` of its largest entry.
    """
    if linear.halves is None:
        columns: Any = main  # every map takes columns of any float type
        return linear.apply(columns).astype(np.longdouble)
    short, rest = linear.halves
    bits = short_bits(linear.roundings)
    high = main.astype(np.float64)
    first = shortened(high, bits, axis=0)
    second = shortened(high - first, bits, axis=0)
    left = (high - first) - second
    exact = short.apply(np.hstack([first, second]))
    width = main.shape[1]
    others = exact[:, width:], rest.apply(first + second), linear.apply(left + (main - high).astype(np.float64))
    total = exact[:, :width].astype(np.longdouble)
    for other in others:
        total += other
    return total


def rounding_share(linear: LinearMap) -> float:
    """How much of the sum of absolute terms a product in extended precision may be off by, at its full length."""
    if linear.halves is not None:
        return 4 * MAIN_ROUNDOFF
    return gamma(linear.roundings) * MAIN_ROUNDOFF / UNIT_ROUNDOFF if linear.roundings else 0.0


def lost_bits(linear: LinearMap) -> float:
    """How small, relative to a column's largest entry, that is which two short parts leave of an entry."""
    return 2.0 ** (2 - 2 * short_bits(linear.roundings))


def _size(rows: NDArray[Any]) -> Floats:
    """Sums of absolute values, up to rounding."""
    total: Floats = np.abs(rows).sum(axis=1).astype(np.float64)
    return total


def _checked(main: Extended, symbols: Floats, error: Floats) -> Form:
    """A form; of a row that overflowed nothing is known."""
    known = np.isfinite(main).all(axis=1) & np.isfinite(symbols).all(axis=1)
    return Form(main, symbols, error if known.all() else np.where(known, error, np.inf))
