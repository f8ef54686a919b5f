"""Engines: a network on a domain in, regions as columns out. All return the same regions."""

from __future__ import annotations

import time
from dataclasses import replace

from affinelens.deadline import NEVER, Deadline, TimeIsUp
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
from affinelens.engine.selection import Selection
from affinelens.network import Network

__all__ = [
    "ENGINES", "NO_DECISIONS", "Certificate", "Choice", "Columns", "Facets", "Limits", "Outcome", "Progress",
    "ProgressFunction", "Selection", "Sink", "Status", "Switching", "Vertices", "choose", "require_known", "run",
    "shown_counts",
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
    found, if there is one; otherwise they are in the outcome. Time is counted from here, without
    that of compiling kernels.
    """
    started = time.monotonic()
    deadline = NEVER if limits.time_limit is None else Deadline(started + limits.time_limit)
    name, spent = engine, 0.0
    try:
        chosen = choose(network, frame, engine, keep=keep, progress=progress, deadline=deadline)
        name, spent = chosen.name, time.monotonic() - started
        left = replace(limits, time_limit=deadline.left)
        if name == linear_program.NAME:
            outcome = linear_program.run(network, frame, left, facets=facets, keep=keep, progress=progress)
            outcome = outcome if sink is None else replace(outcome, chunks=(sink(outcome.table),))
        else:
            outcome = vertex.run(
                network, frame, left, name=name, kept=chosen.kept, facets=facets, vertices=vertices, keep=keep,
                progress=progress, sink=sink, deadline=deadline,
            )  # fmt: skip
            outcome = replace(outcome, kept=chosen.kept)
    except TimeIsUp:
        columns = Columns.of_no_regions(
            int(network.choice_offsets[-1]), frame.dim, network.pattern_type, facets=facets and keep,
            vertices=vertices and keep,
        )  # fmt: skip
        none = replace(NO_DECISIONS, complete=False)
        counts, spent = (0,) * max(len(network.stages), 1), time.monotonic() - started
        outcome = Outcome(name, Status.TIME_LIMIT, none, counts, 0.0, columns, share=0.0)
    return replace(outcome, seconds=spent + outcome.seconds)
