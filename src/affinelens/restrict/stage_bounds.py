"""Which breaks can be crossed on a domain: proven bounds of every pre-activation, stage by stage.

Every value is enclosed by an affine function of the domain's coordinates and of one *noise symbol* in [-1, 1] for each
earlier unit that may switch: such a unit's graph lies between two parallel lines (for a ReLU on [l, u], those of slope
u / (u - l)), and the symbol says where between them. Linear maps act on these functions exactly, up to rounding that is
bounded, so dependencies between units are kept, not only their ranges. Where bounds are loose, a domain is bounded box
by box: a smaller one has tighter bounds, and what switches in none switches nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats, Indices, Signs
from affinelens.deadline import NEVER, Deadline
from affinelens.network import Activation, Network
from affinelens.network.activation import OPEN
from affinelens.network.congruence import Labels
from affinelens.restrict.affine_forms import Form, sum_form
from affinelens.restrict.enclosing_box import EnclosingBox

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
    box: EnclosingBox,
    sides: Mapping[int, int] | None = None,
    deadline: Deadline = NEVER,
    *,
    finish: bool = True,
    most_switching: int | None = None,
) -> list[StageBounds] | None:
    """Bounds of all stages on what a chart makes of a box, and on the given sides of some breaks of the first stage.

    It is given up, and None returned, once more than ``most_switching`` units can switch or, if it need not be
    finished, as soon as bounds have become loose.
    """
    total = 0
    sources: list[Form | None] = [Form.of_chart(box.over(chart))]
    compares = any(stage.activation.grouped for stage in network.stages)
    labels = Labels(chart) if compares else None
    last_use = _last_uses(network)
    found: list[StageBounds] = []
    for index, stage in enumerate(network.stages):
        deadline.check()
        z = sum_form(stage.linear, sources, deadline)
        here = None if labels is None else labels.of_sum(stage.linear)
        low, high = z.range
        signs = break_signs(stage.activation, z, here)
        if index == 0:
            _take_sides(stage.activation, signs, sides or {})
        total += int(stage.activation.switching_units(signs).sum())
        if most_switching is not None and total > most_switching:
            return None
        if not finish and index > 0 and total > _MANY_SWITCHING and np.mean(signs == OPEN) > _LOOSE:
            return None
        deadline.check()
        output = _relaxed(stage.activation, z, signs)
        sources.append(output)
        if labels is not None and here is not None:
            labels.add_outputs(stage.activation, here, *stage.activation.possible_pieces(signs))
        found.append(StageBounds(signs, _largest(low, high), _largest(*output.range)))
        sources = [s if last_use[k] > index else None for k, s in enumerate(sources)]
        excess = output.symbols.shape[1] - _MOST_SYMBOLS
        if excess > 0:
            count = output.symbols.shape[1]
            sources = [s if s is None else s.widened(count).without_oldest(excess) for s in sources]
    return found


def _last_uses(network: Network) -> dict[int, int]:
    """For each source, the last stage that reads it; the input counts as read to the end."""
    last = dict.fromkeys(range(len(network.stages) + 1), -1)
    last |= {k: index for index, stage in enumerate(network.stages) for k, _ in stage.linear.sources}
    return {**last, 0: len(network.stages)}


def _largest(low: Floats, high: Floats) -> Floats:
    return np.maximum(np.abs(low), np.abs(high))


def break_signs(activation: Activation, z: Form, labels: Indices | None) -> Signs:
    """The sign of every break that is the same all over the domain, and OPEN for the others.

    Two units whose ranges overlap are compared by their difference, if that decides anything. Pre-activations with
    equal labels, if there are any, are the same function; 0 labels the zero function.
    """
    breaks = activation.breaks
    signs = breaks.proved_signs(*z.range, labels)
    close = np.flatnonzero((activation.settled(signs) == OPEN) & breaks.paired)
    low, high = _difference_ranges(z, breaks.plus[close], breaks.minus[close])
    signs[close[low > 0]] = 1
    signs[close[high < 0]] = -1
    return signs


def _take_sides(activation: Activation, signs: Signs, sides: Mapping[int, int]) -> None:
    """Set the signs of some units' breaks, and of those that a unit has passed before or cannot reach beyond them."""
    breaks = activation.breaks
    for index, side in sides.items():
        own = breaks.plus == breaks.plus[index]
        threshold = breaks.threshold[index]
        signs[own & (breaks.threshold <= threshold if side > 0 else breaks.threshold >= threshold)] = side


def _relaxed(activation: Activation, z: Form, signs: Signs) -> Form:
    """The stage's outputs, with a new symbol for each that may switch."""
    lines, radius = activation.envelope(*z.range, signs, lambda units, others: _difference_ranges(z, units, others)[1])
    taken = z if lines.unit is None else z[lines.unit]
    return taken.scaled(lines.slopes, lines.offsets).with_symbols(radius)


def _difference_ranges(z: Form, plus: Indices, minus: Indices) -> tuple[Floats, Floats]:
    """Lower and upper bounds of differences of rows."""
    low, high = np.empty(len(plus)), np.empty(len(plus))
    for start in range(0, len(plus), _PAIRS_AT_ONCE):
        some = slice(start, start + _PAIRS_AT_ONCE)
        low[some], high[some] = z.differences(plus[some], minus[some]).range
    return low, high


def bound_by_bisection(
    network: Network,
    chart: ExactMatrix,
    box: EnclosingBox,
    sides: Mapping[int, int] | None = None,
    deadline: Deadline = NEVER,
    *,
    most: int = 64,
) -> list[StageBounds]:
    """Bounds of all stages on a box; where they are loose, on at most so many that make it up."""
    finished: list[list[StageBounds]] = []
    waiting = [box]
    while waiting:
        some = waiting.pop(0)
        is_last = len(finished) + len(waiting) + 2 > most
        bounds = bound_stages(network, chart, some, sides, deadline, finish=is_last)
        if bounds is None:
            waiting += some.halves(chart)
        else:
            finished.append(bounds)
    return merged(finished)


def merged(everywhere: Sequence[list[StageBounds]]) -> list[StageBounds]:
    """What holds wherever one of several bounds does."""
    return [
        StageBounds(
            np.where(np.all([s.signs == stages[0].signs for s in stages], axis=0), stages[0].signs, OPEN).astype(
                np.int8
            ),
            np.max([s.pre_activation for s in stages], axis=0),
            np.max([s.output for s in stages], axis=0),
        )
        for stages in zip(*everywhere, strict=True)
    ]
