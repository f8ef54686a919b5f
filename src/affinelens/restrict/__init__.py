"""The part of a network that can switch on a domain: bounds that prove it, and what is left."""

from __future__ import annotations

from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict.accurate import AccurateRows
from affinelens.restrict.bounds import StageBounds
from affinelens.restrict.compact import CompactRows, compact_rows
from affinelens.restrict.exact_breaks import ExactBreaks
from affinelens.restrict.kept import Clauses, Kept, KeptStage
from affinelens.restrict.parts import bound_by_parts
from affinelens.restrict.switching_part import SwitchingPart

__all__ = [
    "AccurateRows", "Clauses", "CompactRows", "ExactBreaks", "Kept", "KeptStage", "StageBounds", "SwitchingPart",
    "compact_rows", "restrict",
]  # fmt: skip


def restrict(network: Network, frame: Frame, deadline: Deadline = NEVER) -> Kept:
    """The units of a network that may switch on a domain; all others are proved not to."""
    return Kept(network, bound_by_parts(network, frame, deadline), frame.chart)
