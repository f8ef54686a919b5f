"""Which breaks can be crossed on a domain: proven bounds of every pre-activation, stage by stage.

Every value is enclosed by an affine function of the domain's coordinates and of one *noise symbol* in [-1, 1] for each
earlier unit that may switch: such a unit's graph lies between two parallel lines (for a ReLU on [l, u], those of slope
u / (u - l)), and the symbol says where between them. Linear maps act on these functions exactly, up to rounding that is
bounded, so dependencies between units are kept, not only their ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, upward
from affinelens.deadline import NEVER, Deadline
from affinelens.network import Activation, MaxGroups, Network, PiecewiseLinear
from affinelens.network.congruence import Labels
from affinelens.restrict.affine_forms import Form, sum_form
from affinelens.restrict.enclosing_box import EnclosingBox

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Signs = NDArray[np.int8]

# A break that may be crossed; the others have a sign of -1 or 1 all over the domain, or 0 if they vanish there.
OPEN = 2
# Symbols beyond this many are merged into the error of each row, the oldest first.
_MOST_SYMBOLS = 4096
# Bounds are loose if much of a later stage is open, and many units can switch.
_MANY_SWITCHING = 1024
_LOOSE = 0.15
# Pairs of candidates are compared this many at a time.
_PAIRS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class StageBounds:
    """What is proved of one stage: its breaks' signs, and how large its pre-activations and outputs can be."""

    signs: Signs
    pre_activation: Floats
    output: Floats


def bound_stages(
    network: Network,
    chart: ExactMatrix,
    cover: EnclosingBox,
    sides: Mapping[int, int] | None = None,
    deadline: Deadline = NEVER,
    *,
    finish: bool = True,
    most_switching: int | None = None,
) -> list[StageBounds] | None:
    """Bounds of all stages on what a chart makes of a cover, and on the given sides of some breaks of the first stage.

    It is given up, and None returned, once more than ``most_switching`` units can switch or, if it need not be
    finished, as soon as bounds have become loose.
    """
    total = 0
    sources: list[Form | None] = [Form.of_chart(cover.over(chart))]
    compares = any(isinstance(stage.activation, MaxGroups) for stage in network.stages)
    labels = Labels(chart) if compares else None
    last_use = _last_uses(network)
    found: list[StageBounds] = []
    for index, stage in enumerate(network.stages):
        deadline.check()
        z = sum_form(stage.linear, sources)
        here = None if labels is None else labels.of_sum(stage.linear)
        low, high = z.range
        signs = break_signs(stage.activation, z, here)
        if index == 0:
            _take_sides(stage.activation, signs, sides or {})
        total += int(can_switch(stage.activation, signs).sum())
        if most_switching is not None and total > most_switching:
            return None
        if not finish and index > 0 and total > _MANY_SWITCHING and np.mean(signs == OPEN) > _LOOSE:
            return None
        output = _relaxed(stage.activation, z, signs)
        sources.append(output)
        if labels is not None and here is not None:
            labels.add_outputs(stage.activation, here, *possible_pieces(stage.activation, signs))
        found.append(StageBounds(signs, _largest(low, high), _largest(*output.range)))
        sources = [s if last_use[k] > index else None for k, s in enumerate(sources)]
        excess = output.symbols.shape[1] - _MOST_SYMBOLS
        if excess > 0:
            count = output.symbols.shape[1]
            sources = [s if s is None else s.widened(count).without_oldest(excess) for s in sources]
    return found


def _last_uses(network: Network) -> dict[int, int]:
    """For each source, the last stage that reads it; the input counts as read to the end."""
    last: dict[int, int] = dict.fromkeys(range(len(network.stages) + 1), -1)
    for index, stage in enumerate(network.stages):
        for k, _ in stage.linear.sources:
            last[k] = index
    last[0] = len(network.stages)
    return last


def _largest(low: Floats, high: Floats) -> Floats:
    return np.maximum(np.abs(low), np.abs(high))


def break_signs(activation: Activation, z: Form, labels: Indices | None) -> Signs:
    """The sign of every break that is the same all over the domain, and OPEN for the others.

    Pre-activations with equal labels, if there are any, are the same function; 0 labels the zero function.
    """
    breaks = activation.breaks
    low, high = z.range
    signs = np.full(len(breaks), OPEN, dtype=np.int8)
    if isinstance(activation, MaxGroups):
        if labels is not None:
            signs[labels[breaks.plus] == labels[breaks.minus]] = 0
        return _pair_signs(activation, z, signs)
    if labels is not None:
        signs[(labels[breaks.plus] == 0) & (breaks.threshold == 0.0)] = 0
    signs[low[breaks.plus] > breaks.threshold] = 1
    signs[high[breaks.plus] < breaks.threshold] = -1
    return signs


def _take_sides(activation: Activation, signs: Signs, sides: Mapping[int, int]) -> None:
    """Set the signs of some units' breaks, and of those that a unit has passed before or cannot reach beyond them."""
    breaks = activation.breaks
    for index, side in sides.items():
        own = breaks.plus == breaks.plus[index]
        threshold = breaks.threshold[index]
        signs[own & (breaks.threshold <= threshold if side > 0 else breaks.threshold >= threshold)] = side


def _pair_signs(groups: MaxGroups, z: Form, signs: Signs) -> Signs:
    """The signs of differences within groups: from ranges where these are apart, else from the difference itself.

    Only candidates that may win are compared closely; the sign between two that never win does not matter.
    """
    breaks = groups.breaks
    low, high = z.range
    signs[low[breaks.plus] > high[breaks.minus]] = 1
    signs[high[breaks.plus] < low[breaks.minus]] = -1
    may = may_win(groups, signs)
    close = np.flatnonzero((signs == OPEN) & may[breaks.plus] & may[breaks.minus])
    for start in range(0, len(close), _PAIRS_AT_ONCE):
        part = close[start : start + _PAIRS_AT_ONCE]
        below, above = z.differences(breaks.plus[part], breaks.minus[part]).range
        signs[part[below > 0]] = 1
        signs[part[above < 0]] = -1
    return signs


def may_win(groups: MaxGroups, signs: Signs) -> NDArray[np.bool_]:
    """Which candidates do not lose to another one everywhere."""
    may = np.ones(groups.size_in, dtype=bool)
    may[groups.breaks.minus[(signs == 1) | (signs == 0)]] = False  # of equal functions the first wins
    may[groups.breaks.plus[signs == -1]] = False
    return may


def can_switch(activation: Activation, signs: Signs) -> NDArray[np.bool_]:
    """Which units can be on more than one piece, or are among several that can win their group."""
    if isinstance(activation, MaxGroups):
        may = may_win(activation, signs)
        rivals = np.add.reduceat(may, activation.starts[:-1], dtype=np.int64)
        return may & np.repeat(rivals > 1, np.diff(activation.starts))
    switching = np.zeros(activation.size_in, dtype=bool)
    switching[activation.breaks.plus[signs == OPEN]] = True
    return switching


def possible_pieces(activation: Activation, signs: Signs) -> tuple[Indices, Indices]:
    """The first and the last piece that every choice can be on; of a group, the first and last possible winner."""
    if isinstance(activation, PiecewiseLinear):
        unit = activation.breaks.choice
        first = np.bincount(unit[signs == 1], minlength=activation.size_in)
        return first, first + np.bincount(unit[signs == OPEN], minlength=activation.size_in)
    assert isinstance(activation, MaxGroups)
    may = may_win(activation, signs)
    place = np.arange(activation.size_in) - np.repeat(activation.starts[:-1], np.diff(activation.starts))
    first = np.minimum.reduceat(np.where(may, place, activation.size_in), activation.starts[:-1])
    return first, np.maximum.reduceat(np.where(may, place, -1), activation.starts[:-1])


def _relaxed(activation: Activation, z: Form, signs: Signs) -> Form:
    """The stage's outputs, with a new symbol for each that may switch."""
    if isinstance(activation, MaxGroups):
        return _relaxed_groups(activation, z, signs)
    assert isinstance(activation, PiecewiseLinear)
    slopes, offsets, radius = _lines(activation, *z.range, signs)
    return z.scaled(slopes, offsets).with_symbols(radius)


def _lines(activation: PiecewiseLinear, low: Floats, high: Floats, signs: Signs) -> tuple[Floats, Floats, Floats]:
    """For every unit a line and how far its graph on [low, high] is from it."""
    first, last = possible_pieces(activation, signs)
    unit = np.arange(activation.size_in)
    slopes, offsets = activation.slopes[unit, first], activation.offsets[unit, first]
    radius = np.zeros(len(unit))
    for u in np.flatnonzero(first < last).tolist():
        points = [low[u], *activation.breakpoints[u, first[u] : last[u]].tolist(), high[u]]
        pieces = [int(first[u]), *range(int(first[u]), int(last[u]) + 1)]
        values = [activation.slopes[u, p] * t + activation.offsets[u, p] for p, t in zip(pieces, points, strict=True)]
        slopes[u] = (values[-1] - values[0]) / (points[-1] - points[0])
        above = [value - slopes[u] * t for value, t in zip(values, points, strict=True)]
        size = max(abs(value) + abs(slopes[u] * t) for value, t in zip(values, points, strict=True))
        offsets[u] = min(above) + (max(above) - min(above)) / 2
        radius[u] = max(max(above) - offsets[u], offsets[u] - min(above)) + 8 * UNIT_ROUNDOFF * size
    return slopes, offsets, np.where(first < last, upward(radius), 0.0)


def _relaxed_groups(groups: MaxGroups, z: Form, signs: Signs) -> Form:
    """Each group's maximum is its likeliest candidate plus what others may be above it."""
    may = may_win(groups, signs)
    low, high = z.range
    leader = np.zeros(groups.choices, dtype=np.int64)
    rivals: list[tuple[int, int]] = []
    for group, (start, stop) in enumerate(pairwise(groups.starts.tolist())):
        members = start + np.flatnonzero(may[start:stop])
        leader[group] = members[np.argmax(low[members] + high[members])]
        rivals += [(group, int(m)) for m in members if m != leader[group]]
    above = np.zeros(groups.choices)
    if rivals:
        choice, member = np.array(rivals, dtype=np.int64).T
        for start in range(0, len(choice), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            excess = z.differences(member[part], leader[choice[part]]).range[1]
            np.maximum.at(above, choice[part], excess)
    half = above / 2
    return z[leader].scaled(np.ones(len(half)), half).with_symbols(half)
