"""The regions of a set, cut further by what the network decides: convex cells with one class each.

They are the regions of the network with the decision as its last stage, so that engines find them as exactly as regions
are found: where outputs tie, and whether a boundary runs along a facet or only touches a vertex, is settled there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.domain import Frame
from affinelens.engine import Columns, Facets, Limits, Outcome, Switching, choose, vertex
from affinelens.engine.vertex.volume import cell_volumes
from affinelens.errors import AffineLensError
from affinelens.measure.affine_maps import affine_maps
from affinelens.measure.decision import Decision
from affinelens.measure.last_stage import last_stage_on_region
from affinelens.network import Network
from affinelens.regions import RegionSet
from affinelens.restrict import Kept, restrict

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassCells:
    """Cell i is the part of region ``regions[i]`` where class ``classes[i]`` wins; ``parts`` has its geometry."""

    of: RegionSet
    decision: Decision
    parts: RegionSet
    regions: Indices
    classes: Indices

    def __len__(self) -> int:
        return len(self.regions)

    @cached_property
    def volumes(self) -> Floats:
        """The cells' volumes in the domain's own coordinates."""
        corners = self.parts.corners
        return cell_volumes(corners.points, corners.offsets[1:], corners.tight, self.of.domain.dim)

    @cached_property
    def tied(self) -> Bools:
        """On which cells other outputs are as large as the winner's all over the cell (or equal to the threshold).

        Where they are, they are so at the cell's interior point, and nowhere else inside a cell.
        """
        maps, points = affine_maps(self.of), self.parts.local.points
        outputs = np.einsum("nkd,nd->nk", maps.slopes[self.regions], points) + maps.constants[self.regions]
        size = np.einsum("nkd,nd->nk", np.abs(maps.slopes[self.regions]), np.abs(points))
        size += np.abs(maps.constants[self.regions])
        off = upward(maps.error + 2 * gamma(points.shape[1] + 1) * size)
        if self.decision.output is None:
            rows = np.arange(len(self))
            lead = outputs[rows, self.classes][:, None] - outputs
            off = off + off[rows, self.classes][:, None] + 4 * UNIT_ROUNDOFF * np.abs(lead)
            lead[rows, self.classes] = np.inf
        else:
            lead = np.abs(outputs[:, self.decision.output, None] - self.decision.threshold)
            off = off[:, self.decision.output, None] + 4 * UNIT_ROUNDOFF * lead
        tied = np.zeros(len(self), dtype=bool)
        for i in np.flatnonzero((lead <= off).any(axis=1)).tolist():
            tied[i] = any(self._vanishes(i, j) for j in np.flatnonzero(lead[i] <= off[i]).tolist())
        return tied

    def _vanishes(self, cell: int, rival: int) -> bool:
        """Whether the winner's lead over a rival, or over the threshold, is zero all over a cell."""
        network = self.parts.network
        stage = len(network.stages) - 1
        breaks = network.stages[stage].activation.breaks
        number = 0
        if self.decision.output is None:
            pair = sorted((int(self.classes[cell]), rival))
            number = int(np.flatnonzero((breaks.plus == pair[0]) & (breaks.minus == pair[1]))[0])
        row: list[fmpz] = self.parts.adjoint.break_row(stage, number, self.parts.pattern(cell))
        return not any(row)


def class_cells(regions: RegionSet, decision: Decision) -> ClassCells:
    """Cut the regions of a set where the class changes.

    A complete set is walked again with the decision as a last stage; of an incomplete one each region is walked by
    itself.
    """
    network, frame = decision.added_to(regions.network), regions.domain.frame
    chosen = choose(network, frame, "auto", keep=True)
    if chosen.name != vertex.NAME:
        raise AffineLensError(f"a decision boundary cannot be found here: {chosen.reason}; try a smaller domain")
    if regions.outcome.certificate.complete:
        outcome = vertex.run(network, frame, Limits(), kept=chosen.kept, facets=True, vertices=True)
        origin = _places(regions, outcome)
    else:
        kept = chosen.kept or restrict(network, frame)
        outcomes = [_cut_region(regions, kept, i) for i in range(len(regions))]
        origin = np.repeat(np.arange(len(regions)), [len(outcome.table) for outcome in outcomes])
        outcome = _joined(regions, network, outcomes)
    classes = _classes(network, outcome)
    parts = RegionSet(network, regions.domain, _with_patterns(regions, network, outcome, origin, classes), {})
    return ClassCells(regions, decision, parts, origin, classes)


def _cut_region(regions: RegionSet, kept: Kept, index: int) -> Outcome:
    """The cells of one region, walked as a domain of its own; facets have the numbers of the whole domain."""
    frame, rows = regions.domain.frame, regions.exact_halfspaces(index)
    count = rows.shape[0]
    domain = Frame(frame.chart, rows, tuple(range(count)), frame.lower, frame.upper)
    switching = last_stage_on_region(kept, regions.pattern(index))
    outcome = vertex.run(kept.network, domain, Limits(), kept=switching, facets=True, vertices=True)
    facets = outcome.table.facets
    assert facets is not None
    numbers, signs = facets.numbers + (frame.rows.shape[0] - count), facets.signs.copy()
    own = facets.numbers < count
    numbers[own] = regions.facet_numbers(index)[facets.numbers[own]]
    signs[own] = regions.facet_signs(index)[facets.numbers[own]]
    renamed = Facets(numbers, signs, facets.offsets, facets.bits)
    return replace(outcome, columns=replace(outcome.table, facets=renamed))


def _joined(regions: RegionSet, network: Network, outcomes: list[Outcome]) -> Outcome:
    """Cells of single regions as one outcome, with patterns of the class alone."""
    choices, dim, kind = network.choice_offsets[-1], regions.domain.dim, network.pattern_type
    tables = [Columns.of_no_regions(1, dim, kind, facets=True, vertices=True)]
    for outcome in outcomes:
        tables.append(replace(outcome.table, patterns=_classes(network, outcome).astype(kind)[:, None]))
    columns = Columns.joined(tables)
    only_class = Switching(np.array([choices - 1]), np.zeros(choices, dtype=kind))
    counts = (*regions.layer_counts, len(columns))
    return replace(regions.outcome, columns=columns, layer_counts=counts, switching=only_class)


def _classes(network: Network, outcome: Outcome) -> Indices:
    """The class of each cell: the last choice."""
    return _column(outcome, network.choice_offsets[-1] - 1).astype(np.int64)


def _column(outcome: Outcome, choice: int) -> NDArray[np.unsignedinteger]:
    """One choice of every region, whether patterns are kept for it or not."""
    if outcome.switching is None:
        return outcome.patterns[:, choice]
    place = int(np.searchsorted(outcome.switching.choices, choice))
    if place < len(outcome.switching.choices) and outcome.switching.choices[place] == choice:
        return outcome.patterns[:, place]
    return np.full(len(outcome.patterns), outcome.switching.pattern[choice])


def _places(regions: RegionSet, outcome: Outcome) -> Indices:
    """Which region of a complete set each cell of the network with a decision lies in."""
    stored = regions.switching_patterns
    whole = np.zeros((len(outcome.patterns), stored.shape[1]), dtype=stored.dtype)
    for column, choice in enumerate(regions.switching.tolist()):
        whole[:, column] = _column(outcome, choice)
    keys, wanted = _as_keys(stored), _as_keys(whole)
    order = np.argsort(keys, kind="stable")
    places = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    if len(np.unique(places)) < len(keys) or (keys[places] != wanted).any():
        raise AffineLensError(
            "the set is said to be complete, but does not have the network's regions; enumerate again"
        )
    return places


def _as_keys(patterns: NDArray[np.unsignedinteger]) -> NDArray[np.void]:
    """Rows as single values that can be sorted and compared."""
    padded = np.pad(patterns, ((0, 0), (0, 1)))
    return np.ascontiguousarray(padded).view(np.dtype((np.void, padded.shape[1] * padded.itemsize)))[:, 0]


def _with_patterns(
    regions: RegionSet, network: Network, outcome: Outcome, origin: Indices, classes: Indices
) -> Outcome:
    """The cells with patterns of the same choices as their regions, and the class."""
    kind = network.pattern_type
    patterns = np.hstack([regions.switching_patterns[origin].astype(kind), classes[:, None].astype(kind)])
    kept, last = regions.outcome.switching, network.choice_offsets[-1] - 1
    switching = None if kept is None else Switching(
        np.append(kept.choices, last), np.append(kept.pattern.astype(kind), kind.type(0))
    )  # fmt: skip
    return replace(outcome, columns=replace(outcome.table, patterns=patterns), switching=switching)
