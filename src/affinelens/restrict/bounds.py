"""Which breaks can be crossed on a domain: proven bounds of every pre-activation, stage by stage.

Every value is enclosed by an affine function of the domain's coordinates and of one *noise symbol* in [-1, 1] for each
earlier unit that may switch: such a unit's graph lies between two parallel lines (for a ReLU on [l, u], those of slope
u / (u - l)), and the symbol says where between them. Linear maps act on these functions exactly, up to rounding that is
bounded, so dependencies between units are kept, not only their ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, upward
from affinelens.domain import Frame
from affinelens.network import Activation, MaxGroups, Network, PiecewiseLinear
from affinelens.network.canonical import AffineSum
from affinelens.network.congruence import label_inputs, label_outputs, label_sum
from affinelens.network.enclosure import Enclosure

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Signs = NDArray[np.int8]

# A break that may be crossed; the others have a sign of -1 or 1 all over the domain, or 0 if they vanish there.
OPEN = 2
# Rounding of a bound that is a difference of two numbers.
_DIFFERENCE = 4 * UNIT_ROUNDOFF
# Symbols beyond this many are merged into the error of each row, the oldest first.
_MOST_SYMBOLS = 4096


@dataclass(frozen=True, eq=False)
class StageBounds:
    """What is proved of one stage: its breaks' signs, how large its pre-activations and outputs can be, and which
    pre-activations are the same functions (equal labels)."""

    signs: Signs
    pre_activation: Floats
    output: Floats
    labels: Indices


def bound_stages(network: Network, frame: Frame) -> list[StageBounds]:
    """Bounds of all stages on a domain, taken as the box around it."""
    sources: list[Enclosure | None] = [_coordinates(frame)]
    last_use = _last_uses(network)
    source_labels = [label_inputs(frame.chart)]
    found: list[StageBounds] = []
    for index, stage in enumerate(network.stages):
        z = _propagate(stage.linear, sources)
        for k, source in enumerate(sources):
            if source is not None and last_use[k] <= index and k > 0:
                sources[k] = None
        low, high = _range(z)
        labels = label_sum(stage.linear, source_labels)
        signs = break_signs(stage.activation, z, low, high, labels)
        source_labels.append(label_outputs(stage.activation, labels, *possible_pieces(stage.activation, signs)))
        output = _relaxed(stage.activation, z, low, high, signs)
        sources.append(output)
        excess = output.rows.shape[1] - frame.dim - 1 - _MOST_SYMBOLS
        if excess > 0:
            sources = [_without_oldest(_widened(s, output.rows.shape[1]), frame.dim, excess) if s is not None else None for s in sources]
        x_low, x_high = _range(output)
        found.append(StageBounds(signs, _largest(low, high), _largest(x_low, x_high), labels))
    return found


def _coordinates(frame: Frame) -> Enclosure:
    """The inputs as functions of coordinates in [-1, 1]."""
    middle = frame.lower + (frame.upper - frame.lower) / 2
    reach = upward(np.maximum(frame.upper - middle, middle - frame.lower))
    change = np.diag(np.append(reach, 1.0))
    change[:-1, -1] = middle
    return Enclosure.affine(frame.chart @ ExactMatrix.from_floats(change), np.ones(frame.dim + 1))


def _last_uses(network: Network) -> dict[int, int]:
    """For each source, the last stage that reads it; the output counts as one more stage."""
    last: dict[int, int] = dict.fromkeys(range(len(network.stages) + 1), -1)
    for index, linear in enumerate([*(stage.linear for stage in network.stages), network.output]):
        for k, _ in linear.sources:
            last[k] = index
    return last


def _propagate(linear: AffineSum, sources: Sequence[Enclosure | None]) -> Enclosure:
    width = max(source.rows.shape[1] for source in sources if source is not None)
    return linear.propagate([_widened(source, width) if source is not None else None for source in sources])  # type: ignore[misc]


def _widened(form: Enclosure, width: int) -> Enclosure:
    """The same functions, of more symbols."""
    missing = width - form.rows.shape[1]
    if not missing:
        return form
    rows = np.concatenate([form.rows[:, :-1], np.zeros((len(form.rows), missing)), form.rows[:, -1:]], axis=1)
    return _with_columns(rows, form.error)


def _range(form: Enclosure) -> tuple[Floats, Floats]:
    """Lower and upper bounds of the rows."""
    constant = form.rows[:, -1]
    radius = upward(np.abs(form.rows[:, :-1]).sum(axis=1) + form.error[:, 0])
    radius = upward(radius + _DIFFERENCE * (np.abs(constant) + radius))
    return constant - radius, constant + radius


def _largest(low: Floats, high: Floats) -> Floats:
    return np.maximum(np.abs(low), np.abs(high))


def break_signs(activation: Activation, z: Enclosure, low: Floats, high: Floats, labels: Indices) -> Signs:
    """The sign of every break that is the same all over the domain, and OPEN for the others."""
    breaks = activation.breaks
    signs = np.full(len(breaks), OPEN, dtype=np.int8)
    if isinstance(activation, MaxGroups):
        signs[labels[breaks.plus] == labels[breaks.minus]] = 0
        return _pair_signs(activation, z, low, high, signs)
    signs[(labels[breaks.plus] == 0) & (breaks.threshold == 0.0)] = 0
    signs[low[breaks.plus] > breaks.threshold] = 1
    signs[high[breaks.plus] < breaks.threshold] = -1
    return signs


def _pair_signs(groups: MaxGroups, z: Enclosure, low: Floats, high: Floats, signs: Signs) -> Signs:
    """The signs of differences within groups: from ranges where these are apart, else from the difference itself.

    Only candidates that may win are compared closely; the sign between two that never win does not matter.
    """
    breaks = groups.breaks
    signs[low[breaks.plus] > high[breaks.minus]] = 1
    signs[high[breaks.plus] < low[breaks.minus]] = -1
    close = np.flatnonzero((signs == OPEN) & may_win(groups, signs)[breaks.plus] & may_win(groups, signs)[breaks.minus])
    for start in range(0, len(close), _MOST_SYMBOLS):
        part = close[start : start + _MOST_SYMBOLS]
        difference = z.differences(breaks.plus[part], breaks.minus[part], breaks.threshold[part])
        below, above = _range(difference)
        signs[part[below > 0]] = 1
        signs[part[above < 0]] = -1
    return signs


def may_win(groups: MaxGroups, signs: Signs) -> NDArray[np.bool_]:
    """Which candidates do not lose to another one everywhere."""
    may = np.ones(groups.size_in, dtype=bool)
    may[groups.breaks.minus[(signs == 1) | (signs == 0)]] = False  # of equal functions the first wins
    may[groups.breaks.plus[signs == -1]] = False
    return may


def _relaxed(activation: Activation, z: Enclosure, low: Floats, high: Floats, signs: Signs) -> Enclosure:
    """The stage's outputs, with a new symbol for each that may switch."""
    if isinstance(activation, MaxGroups):
        return _relaxed_groups(activation, z, low, high, signs)
    assert isinstance(activation, PiecewiseLinear)
    slopes, offsets, radius = _lines(activation, low, high, signs)
    return _with_symbols(z.scaled(slopes, offsets), radius)


def _lines(activation: PiecewiseLinear, low: Floats, high: Floats, signs: Signs) -> tuple[Floats, Floats, Floats]:
    """For every unit a line and how far its graph on [low, high] is from it."""
    first, last = open_pieces(activation, signs)
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


def possible_pieces(activation: Activation, signs: Signs) -> tuple[Indices, Indices]:
    """The first and the last piece that every choice can be on; of a group, the first and last possible winner."""
    if isinstance(activation, PiecewiseLinear):
        return open_pieces(activation, signs)
    assert isinstance(activation, MaxGroups)
    may = may_win(activation, signs)
    place = np.arange(activation.size_in) - np.repeat(activation.starts[:-1], np.diff(activation.starts))
    first = np.minimum.reduceat(np.where(may, place, activation.size_in), activation.starts[:-1])
    return first, np.maximum.reduceat(np.where(may, place, -1), activation.starts[:-1])


def open_pieces(activation: PiecewiseLinear, signs: Signs) -> tuple[Indices, Indices]:
    """The first and the last piece that every unit can be on."""
    unit = activation.breaks.choice
    first = np.bincount(unit[signs == 1], minlength=activation.size_in)
    last = first + np.bincount(unit[signs == OPEN], minlength=activation.size_in)
    return first, last


def _relaxed_groups(groups: MaxGroups, z: Enclosure, low: Floats, high: Floats, signs: Signs) -> Enclosure:
    """Each group's maximum is its likeliest candidate plus what others may be above it."""
    may = may_win(groups, signs)
    leader = np.zeros(groups.choices, dtype=np.int64)
    rivals: list[tuple[int, int]] = []
    for group, (start, stop) in enumerate(pairwise(groups.starts.tolist())):
        members = start + np.flatnonzero(may[start:stop])
        leader[group] = members[np.argmax(low[members] + high[members])]
        rivals += [(group, int(m)) for m in members if m != leader[group]]
    above = np.zeros(groups.choices)
    if rivals:
        group, member = (np.array(column, dtype=np.int64) for column in zip(*rivals, strict=True))
        for start in range(0, len(group), _MOST_SYMBOLS):
            part = slice(start, start + _MOST_SYMBOLS)
            excess = _range(z.differences(member[part], leader[group[part]], np.zeros(len(group[part]))))[1]
            np.maximum.at(above, group[part], excess)
    half = above / 2
    output = z[leader]
    return _with_symbols(output.scaled(np.ones(len(half)), half), half)


def _with_symbols(form: Enclosure, radius: Floats) -> Enclosure:
    """Add ``radius`` times a symbol of its own to each row whose radius is not zero."""
    new = np.flatnonzero(radius)
    if len(new) > _MOST_SYMBOLS:
        return Enclosure(form.rows, upward(form.error + radius[:, None]), form.one, form.reach)
    table = np.zeros((len(form.rows), len(new)))
    table[new, np.arange(len(new))] = radius[new]
    return _with_columns(np.concatenate([form.rows[:, :-1], table, form.rows[:, -1:]], axis=1), form.error)


def _with_columns(rows: Floats, error: Floats) -> Enclosure:
    one = np.zeros((1, rows.shape[1]))
    one[0, -1] = 1.0
    return Enclosure(rows, error, one, np.ones((rows.shape[1], 1)))


def _without_oldest(form: Enclosure, coordinates: int, count: int) -> Enclosure:
    """Merge the oldest symbols into the rows' errors."""
    merged = slice(coordinates, coordinates + count)
    error = upward(form.error + np.abs(form.rows[:, merged]).sum(axis=1, keepdims=True))
    return _with_columns(np.delete(form.rows, merged, axis=1), error)
