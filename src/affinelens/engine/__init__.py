"""Engines: a network on a domain in, regions as columns out. All return the same regions."""

from __future__ import annotations

from dataclasses import replace

from affinelens.domain import Frame
from affinelens.engine import linear_program, vertex
from affinelens.engine.choice import ENGINES, Choice, choose, require_known
from affinelens.engine.outcome import (
    NO_DECISIONS,
    Certificate,
    Columns,
    Facets,
    Limits,
    Outcome,
    Progress,
    ProgressFunction,
    Sink,
    Status,
    Switching,
    Vertices,
    shown_counts,
)  # fmt: skip
from affinelens.network import Network

__all__ = [
    "ENGINES", "NO_DECISIONS", "Certificate", "Choice", "Columns", "Facets", "Limits", "Outcome", "Progress",
    "ProgressFunction", "Sink", "Status", "Switching", "Vertices", "choose", "require_known", "run", "shown_counts",
]  # fmt: skip


def run(
    network: Network,
    frame: Frame,
    limits: Limits,
    *,
    engine: str = "auto",
    keep: bool = True,
    facets: bool = True,
    vertices: bool = False,
    progress: ProgressFunction | None = None,
    sink: Sink | None = None,
) -> Outcome:
    """Walk all regions; with ``keep`` off, only count them.

    ``facets`` and ``vertices`` say which geometry is wanted with each region. Regions go to the sink as they are
    found, if there is one; otherwise they are in the outcome.
    """
    chosen = choose(network, frame, engine, keep=keep, progress=progress)
    if chosen.name == linear_program.NAME:
        outcome = linear_program.run(network, frame, limits, facets=facets, keep=keep, progress=progress)
        return outcome if sink is None else replace(outcome, chunks=(sink(outcome.table),))
    return vertex.run(
        network, frame, limits, name=chosen.name, kept=chosen.kept, facets=facets, vertices=vertices, keep=keep,
        progress=progress, sink=sink,
    )  # fmt: skip
