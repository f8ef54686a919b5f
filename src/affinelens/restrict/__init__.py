"""The part of a network that can switch on a domain: bounds that prove it, and what is left."""

from __future__ import annotations

from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict.accurate import AccurateRows
from affinelens.restrict.areas import Report, bound_areas
from affinelens.restrict.bounds import StageBounds
from affinelens.restrict.compact import CompactRows, compact_rows
from affinelens.restrict.exact_breaks import ExactBreaks
from affinelens.restrict.kept import Clauses, Kept, KeptStage, Patch
from affinelens.restrict.parts import merged
from affinelens.restrict.switching_part import SwitchingPart
from affinelens.restrict.zero_functions import ZeroFunctions

__all__ = [
    "AccurateRows", "Clauses", "CompactRows", "ExactBreaks", "Kept", "KeptStage", "Patch", "StageBounds",
    "SwitchingPart", "ZeroFunctions", "compact_rows", "restrict",
]  # fmt: skip


def restrict(
    network: Network, frame: Frame, deadline: Deadline = NEVER, report: Report = lambda finished, waiting: None
) -> Kept:
    """The units of a network that may switch on a domain; all others are proved not to.

    Where many can, the domain is divided into patches; how many are finished and waiting is reported now and then.
    """
    areas = bound_areas(network, frame, deadline, report)
    patches = tuple(Patch(area, Kept(network, bounds, frame.chart)) for area, bounds in areas)
    if len(patches) == 1:
        return patches[0].kept
    return Kept(network, merged([bounds for _, bounds in areas]), frame.chart, patches)
