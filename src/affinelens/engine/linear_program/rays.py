"""Facets found by looking around from inside a cell: what a ray breaks first is a facet.

Each is proved by a point just beyond it at which all other conditions still hold by more than their error bounds.
Rays settle most facets of most cells; what they leave open is for linear programs.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from affinelens.array_types import Bools, Floats, Indices
from affinelens.engine.linear_program.conditions import Conditions
from affinelens.engine.linear_program.problem import Witness
from affinelens.engine.linear_program.proofs import Ledger

_RAYS_PER_DIMENSION = 8
# Rows that rays are held against at a time.
_VALUES_AT_ONCE = 1 << 20


class Rays:
    """Rays for the cells of one parent."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._dim = ledger.rows.dim

    def facets(self, witness: Witness, conditions: Conditions) -> Bools:
        """Which of the conditions rays prove to be facets; the rest stays open."""
        hit = np.zeros(len(conditions.rows), dtype=bool)
        if witness.exact is not None:
            return hit
        start = witness.point - self._ledger.center
        margins = self._ledger.values(start[None], conditions)[0][0]
        some = max(1, _VALUES_AT_ONCE // len(self._ledger.rows))
        for begin in range(0, len(self._directions), some):
            self._ledger.checkpoint()
            hit[self._met(slice(begin, begin + some), start, margins, conditions)] = True
        return hit

    def _met(self, some: slice, start: Floats, margins: Floats, conditions: Conditions) -> Indices:
        """The conditions that some of the rays prove to be facets."""
        slopes = self._slopes[some, conditions.rows] * conditions.signs
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(slopes < 0, margins / -slopes, np.inf)
        each = np.arange(len(times))
        first = times.argmin(axis=1)
        enter = times[each, first]
        times[each, first] = np.inf
        beyond = 0.5 * (enter + np.minimum(times.min(axis=1, initial=np.inf), 2.0 * enter))
        met = np.isfinite(enter)
        points = start + self._directions[some][met] * beyond[met, None]
        first = first[met]
        values, errors = self._ledger.values(points, conditions)
        values[np.arange(len(first)), first] *= -1.0
        proved = np.all(values > errors, axis=1) & self._ledger.trusted(points)
        facets: Indices = first[proved]
        return facets

    @cached_property
    def _directions(self) -> Floats:
        """Directions to shoot in from any cell of this parent: along every row's normal, and at random."""
        generator = np.random.default_rng(1)
        random = generator.standard_normal((_RAYS_PER_DIMENSION * self._dim, self._dim))
        random /= np.sqrt((random**2).sum(axis=1))[:, None]
        either_way = np.concatenate([self._ledger.rows.normals, random])
        return np.concatenate([either_way, -either_way])

    @cached_property
    def _slopes(self) -> Floats:
        """How fast each row changes in each of the directions."""
        return self._directions @ self._ledger.rows.normals.T
