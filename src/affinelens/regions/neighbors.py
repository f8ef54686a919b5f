"""Which region lies beyond each facet.

The functions of all units are continuous, so across a facet only those units change piece whose hyperplane contains the
facet. Usually that is the one the facet is named after, and the neighbour is looked up under the pattern with that one
choice changed. Where several hyperplanes coincide, or a unit is zero on all of one side, no region has that pattern;
then the pattern beyond is found in rational arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from affinelens.domain import Frame
from affinelens.engine import Columns, Facets, Switching
from affinelens.engine.merge import proportion
from affinelens.network import MaxGroups, Network

Indices = NDArray[np.int64]
Patterns = NDArray[np.unsignedinteger[Any]]
_ROWS_AT_ONCE = 1 << 18


def neighbors(
    network: Network, frame: Frame, columns: Columns, facets: Facets, switching: Switching | None = None
) -> Indices:
    """For every facet the index of the region beyond it, or -1."""
    patterns = columns.patterns
    region = np.repeat(np.arange(len(patterns)), np.diff(facets.offsets))
    domain_rows = frame.rows.shape[0]
    result = np.full(len(facets.numbers), -1, dtype=np.int64)
    inner = np.flatnonzero(facets.numbers >= domain_rows)
    if not len(inner):
        return result
    choices = np.arange(patterns.shape[1]) if switching is None else switching.choices
    column, piece = _beyond(
        network, patterns, choices, region[inner], facets.numbers[inner] - domain_rows, facets.signs[inner]
    )
    result = _looked_up(network, patterns, region, inner, column, piece, result)
    missing = inner[result[inner] < 0]
    if len(missing):
        lookup = {pattern.tobytes(): i for i, pattern in enumerate(patterns)}
        for i in missing.tolist():
            r = int(region[i])
            here = patterns[r] if switching is None else switching.whole(patterns[r])
            beyond = _pattern_beyond(network, frame, columns, here, r, int(facets.numbers[i]), int(facets.signs[i]))
            result[i] = lookup.get(beyond[choices].astype(patterns.dtype).tobytes(), -1)
    return result


def _pattern_beyond(
    network: Network,
    frame: Frame,
    columns: Columns,
    own: NDArray[np.unsignedinteger[Any]],
    region: int,
    number: int,
    sign: int,
) -> NDArray[np.integer[Any]]:
    """The pattern just beyond a facet, exactly.

    Stage by stage: a function that vanishes on the facet is a multiple of the facet's own beyond it, whose sign there
    is known; any other keeps the sign it has on this side.
    """
    point = columns.exact_points.get(region)
    inside = [fmpq(*v.as_integer_ratio()) for v in (columns.points[region].tolist() if point is None else point)]
    here = network.exact_forms(frame.chart, own, len(network.stages) - 1)
    stage, index = network.locate_break(number - frame.rows.shape[0])
    facet = network.stages[stage].activation.breaks.exact(here[stage]).row(index)
    pattern: Indices = own.astype(np.int64)
    for depth, start in enumerate(network.choice_offsets[:-1]):
        activation = network.stages[depth].activation
        there = network.exact_forms(frame.chart, pattern, depth)[depth]
        old, new = activation.breaks.exact(here[depth]), activation.breaks.exact(there)
        signs = np.zeros(len(activation.breaks), dtype=np.int8)
        for b in range(len(signs)):
            row = new.row(b)
            ratio = proportion(row, facet) if any(row) else fmpq(0)
            if ratio is not None:
                signs[b] = -sign * ((ratio > 0) - (ratio < 0))
            else:
                coefficients = old.row(b)
                value = sum((a * x for a, x in zip(coefficients, inside, strict=False)), fmpq(coefficients[-1]))
                signs[b] = (value > 0) - (value < 0)
        pattern[start : start + activation.choices] = activation.pattern_from_signs(signs)
    return pattern


def _beyond(
    network: Network,
    patterns: Patterns,
    choices: Indices,
    region: Indices,
    number: Indices,
    sign: NDArray[np.int8],
) -> tuple[Indices, Indices]:
    """The column of the pattern that changes when a facet is crossed, and the piece beyond."""
    column, piece = np.empty(len(number), dtype=np.int64), np.empty(len(number), dtype=np.int64)
    for stage, (first, last) in enumerate(zip(network.break_offsets[:-1], network.break_offsets[1:], strict=True)):
        here = np.flatnonzero((number >= first) & (number < last))
        activation = network.stages[stage].activation
        breaks = activation.breaks
        local = number[here] - first
        column[here] = np.searchsorted(choices, network.choice_offsets[stage] + breaks.choice[local])
        before = patterns[region[here], column[here]].astype(np.int64)
        if isinstance(activation, MaxGroups):
            start = activation.starts[breaks.choice[local]]
            plus, minus = breaks.plus[local] - start, breaks.minus[local] - start
            piece[here] = np.where(before == plus, minus, plus)
        else:
            piece[here] = before - sign[here]
    return column, piece


def _looked_up(
    network: Network,
    patterns: Patterns,
    region: Indices,
    inner: Indices,
    choice: Indices,
    piece: Indices,
    result: Indices,
) -> Indices:
    """Find patterns with one choice changed, by hash and then compared in full."""
    generator = np.random.default_rng(0)
    pieces = max((stage.activation.pieces for stage in network.stages), default=1) + 1
    codes = generator.integers(0, 2**63, size=(patterns.shape[1], pieces), dtype=np.uint64)
    hashes = np.zeros(len(patterns), dtype=np.uint64)
    for column in range(patterns.shape[1]):
        hashes ^= codes[column, patterns[:, column]]
    order = np.argsort(hashes, kind="stable")
    before = patterns[region[inner], choice]
    wanted = hashes[region[inner]] ^ codes[choice, before] ^ codes[choice, np.clip(piece, 0, pieces - 1)]
    place = np.minimum(np.searchsorted(hashes[order], wanted), len(order) - 1)
    found = order[place]
    for start in range(0, len(inner), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        expected = patterns[region[inner[part]]].copy()
        expected[np.arange(len(expected)), choice[part]] = piece[part]
        same = (patterns[found[part]] == expected).all(axis=1)
        result[inner[part]] = np.where(same, found[part], -1)
    return result
