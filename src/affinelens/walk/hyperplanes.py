"""Hyperplanes by their numbers: the rows of a domain first, then the breaks of all stages in order.

Facets of regions, and what lies beyond them, are named by these numbers everywhere. Here is the one place that puts a
number together or takes it apart, and gives the function behind it: in float64, and exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import stack_rows
from affinelens.array_types import Bools, Indices, Pattern, Signs
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.network.adjoint import Adjoint
from affinelens.network.enclosure import Enclosure
from affinelens.restrict import RestrictedNetwork


class Hyperplanes:
    """The hyperplanes that can bound a region of a network on a domain.

    Parameters
    ----------
    network, frame
        Whose breaks, and whose rows, are numbered.
    """

    def __init__(self, network: Network, frame: Frame) -> None:
        self.network = network
        self.frame = frame
        self.domain_count = frame.rows.shape[0]

    def __len__(self) -> int:
        return self.domain_count + int(self.network.break_offsets[-1])

    def of_domain(self, numbers: Indices) -> Bools:
        """Which of some hyperplanes are rows of the domain."""
        found: Bools = numbers < self.domain_count
        return found

    def breaks(self, numbers: Indices) -> Indices:
        """The numbers over all stages of hyperplanes that are breaks."""
        return numbers - self.domain_count

    def of_breaks(self, breaks: Indices) -> Indices:
        """The hyperplanes of breaks that are given by their numbers over all stages."""
        return breaks + self.domain_count

    def of_stage(self, stage: int) -> Indices:
        """The hyperplanes of all breaks of a stage."""
        return self.of_breaks(np.arange(*self.network.break_offsets[stage : stage + 2]))

    def of_restricted(self, restricted: RestrictedNetwork) -> Indices:
        """The hyperplanes that can bound a region of a restricted network: the domain's rows, then its breaks."""
        return np.concatenate([np.arange(self.domain_count), self.of_breaks(restricted.breaks)])

    def by_stage(self, numbers: Indices, stages: int | None = None) -> Iterator[tuple[int, Indices, Indices]]:
        """Every stage with breaks among some hyperplanes: their places among these, and their numbers in the stage.

        With ``stages``, only the first so many are looked at.
        """
        offsets = self.network.break_offsets
        breaks = self.breaks(numbers)
        for stage in range(len(offsets) - 1 if stages is None else stages):
            places = np.flatnonzero((breaks >= offsets[stage]) & (breaks < offsets[stage + 1]))
            if len(places):
                yield stage, places, breaks[places] - offsets[stage]

    def stages(self, numbers: Indices) -> Indices:
        """The stage behind each hyperplane, -1 for rows of the domain."""
        found: Indices = np.searchsorted(self.network.break_offsets, self.breaks(numbers), side="right") - 1
        return np.where(self.of_domain(numbers), -1, found)

    def located(self, number: int) -> tuple[int, int]:
        """The stage that a break belongs to, and its number there."""
        return self.network.locate_break(number - self.domain_count)

    def rows(self, numbers: Indices, signs: Signs, forms: Sequence[Enclosure]) -> NDArray[np.float64]:
        """Functions ``[w | b]`` that are positive on the side of each sign, given the stages' forms in the frame."""
        found = np.empty((len(numbers), self.frame.dim + 1))
        own = self.of_domain(numbers)
        found[own] = self.frame.rows.rows(numbers[own].tolist()).to_floats().reshape(-1, self.frame.dim + 1)
        self.fill_breaks(found, numbers, signs, forms)
        return found

    def fill_breaks(
        self, rows: NDArray[np.float64], numbers: Indices, signs: Signs, forms: Sequence[Enclosure]
    ) -> None:
        """Write the functions of those hyperplanes that are breaks into their rows, given the stages' forms."""
        for stage, places, inner in self.by_stage(numbers):
            breaks = self.network.stages[stage].activation.breaks[inner]
            functions = forms[stage].differences(breaks.plus, breaks.minus, breaks.threshold).rows
            rows[places] = signs[places, None] * functions

    def exact_rows(self, numbers: Indices, signs: Signs, pattern: Pattern, adjoint: Adjoint) -> ExactMatrix:
        """As :meth:`rows`, in rational arithmetic where a pattern holds; of breaks, positive multiples."""
        rows = []
        for number, sign in zip(numbers.tolist(), signs.tolist(), strict=True):
            if number < self.domain_count:
                rows.append(self.frame.rows.rows([number]))
            else:
                row = self.exact_row(number, pattern, adjoint)
                rows.append(ExactMatrix(fmpz_mat(1, len(row), [sign * a for a in row]), fmpz(1)))
        return stack_rows(rows)

    def exact_row(self, number: int, pattern: Pattern, adjoint: Adjoint) -> list[fmpz]:
        """One function where a pattern holds, as integers: a positive multiple of it."""
        if number < self.domain_count:
            return self.frame.rows.row(number)
        return adjoint.break_row(*self.located(number), pattern)
