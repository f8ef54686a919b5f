"""The part of a network that can switch on a domain: bounds that prove it, and what is left."""

from __future__ import annotations

from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict.accurate import AccurateRows
from affinelens.restrict.bounds import StageBounds
from affinelens.restrict.compact import CompactRows, compact_rows
from affinelens.restrict.kept import Kept, KeptStage
from affinelens.restrict.parts import bound_by_parts

__all__ = ["AccurateRows", "CompactRows", "Kept", "KeptStage", "StageBounds", "compact_rows", "restrict"]


def restrict(network: Network, frame: Frame) -> Kept:
    """The units of a network that may switch on a domain; all others are proved not to."""
    return Kept(network, bound_by_parts(network, frame), frame.chart)
