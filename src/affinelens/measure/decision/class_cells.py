"""The regions of a set, cut further by what the network decides: convex cells with one class each.

They are the regions of the network with the decision as its last stage, so that engines find them as exactly as regions
are found: where outputs tie, and whether a boundary runs along a facet or only touches a vertex, is settled there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import fmpz

from affinelens.arithmetic import UNIT_ROUNDOFF
from affinelens.array_types import Bools, Floats, Indices
from affinelens.engine import asked_again, run
from affinelens.errors import AffineLensError
from affinelens.measure.decision.decision_stage import Decision
from affinelens.measure.geometry.volumes import relative_volumes, volumes
from affinelens.measure.maps.affine_maps import affine_maps
from affinelens.network import Network
from affinelens.regions import Regions, exact_functions, pattern_index
from affinelens.walk import Outcome, Request, Selection


@dataclass(frozen=True, eq=False)
class ClassCells:
    """Cell i is the part of region ``regions[i]`` where class ``classes[i]`` wins; ``parts`` has its geometry."""

    of: Regions
    decision: Decision
    parts: Regions
    regions: Indices
    classes: Indices

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def volumes(self) -> Floats:
        """The cells' volumes in the domain's own coordinates."""
        return volumes(self.parts)

    @property
    def sizes(self) -> Floats:
        """The same in a unit in which none overflows, to be compared."""
        return relative_volumes(self.parts)

    @cached_property
    def tied(self) -> Bools:
        """On which cells other outputs are as large as the winner's all over the cell (or equal to the threshold).

        Where they are, they are so at the cell's interior point, and nowhere else inside a cell.
        """
        maps, points = affine_maps(self.of).of(self.regions), self.parts.local.points
        outputs, off = maps.at(points), 2 * maps.error_at(points)
        if self.decision.output is None:
            rows = np.arange(len(self))
            lead = outputs[rows, self.classes][:, None] - outputs
            off = off + off[rows, self.classes][:, None] + 4 * UNIT_ROUNDOFF * np.abs(lead)
            lead[rows, self.classes], off[rows, self.classes] = np.inf, 0.0
        else:
            lead = np.abs(outputs[:, self.decision.output, None] - self.decision.threshold)
            off = off[:, self.decision.output, None] + 4 * UNIT_ROUNDOFF * lead
        tied = np.zeros(len(self), dtype=bool)
        open_leads = ~(lead > off)
        for i in np.flatnonzero(open_leads.any(axis=1)).tolist():
            tied[i] = any(self._vanishes(i, j) for j in np.flatnonzero(open_leads[i]).tolist())
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
        row: list[fmpz] = exact_functions(self.parts).break_row(stage, number, self.parts.pattern(cell))
        return not any(row)


def class_cells(regions: Regions, decision: Decision) -> ClassCells:
    """Cut the regions of a set where the class changes: they are walked again with the decision as a last stage."""
    network, frame = decision.added_to(regions.network), regions.domain.frame
    is_complete = regions.outcome.certificate.complete
    selection = None if is_complete else Selection(regions.outcome, len(regions.network.stages))
    outcome = run(asked_again(Request(network, frame, vertices=True, selection=selection), regions.engine))
    origin = _places(regions, outcome)
    classes = outcome.pieces(np.array([network.choice_offsets[-1] - 1]))[:, 0].astype(np.int64)
    parts = Regions(network, regions.domain, _as_cells(regions, network, outcome, origin, classes), {})
    return ClassCells(regions, decision, parts, origin, classes)


def _places(regions: Regions, outcome: Outcome) -> Indices:
    """Which region of a set each cell of the network with a decision lies in."""
    places = pattern_index(regions).places(outcome.pieces(regions.switching))
    if len(np.unique(places)) < len(regions) or (places < 0).any():
        raise AffineLensError("the set does not have the network's regions; enumerate again")
    return places


def _as_cells(regions: Regions, network: Network, outcome: Outcome, origin: Indices, classes: Indices) -> Outcome:
    """The cells with patterns of the same choices as their regions, and the class; as complete as the regions are."""
    kind, whole = network.pattern_type, regions.outcome
    patterns = np.hstack([regions.switching_patterns[origin].astype(kind), classes[:, None].astype(kind)])
    switching = None if whole.switching is None else whole.switching.with_one_more(kind)
    certificate = replace(outcome.certificate, complete=whole.certificate.complete)
    return replace(
        outcome, status=whole.status, share=whole.share, certificate=certificate,
        columns=replace(outcome.table, patterns=patterns), switching=switching,
    )  # fmt: skip
