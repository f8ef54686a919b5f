"""The vertex and count engines: cells as vertices and the hyperplanes they lie on, walked in compiled kernels."""

from __future__ import annotations

import time

from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.engine.outcome import Limits, Outcome, ProgressFunction, Sink
from affinelens.engine.selection import EVERYTHING, Selection
from affinelens.network import Network
from affinelens.restrict import Clauses, Kept

NAME = "vertex"
COUNT_NAME = "count"


def run(
    network: Network,
    frame: Frame,
    limits: Limits,
    *,
    name: str = NAME,
    kept: Kept | None = None,
    facets: bool = True,
    vertices: bool = False,
    keep: bool = True,
    progress: ProgressFunction | None = None,
    sink: Sink | None = None,
    wanted: Clauses = (),
    selection: Selection | None = None,
    deadline: Deadline = NEVER,
) -> Outcome:
    """Enumerate every region; with ``keep`` off, only count.

    ``kept`` is the part of the network that can switch, if it is to be walked in place of the whole.

    Under the name ``count`` the last stage's cells are counted without being built. If ``wanted`` is
    given, only those regions are found that lie above all breaks of the last stage listed in one of its clauses. If
    there is a selection, only what lies in one of its regions is found. The
    deadline is for what comes before the walk, whose limits are its own.
    """
    from affinelens.engine.vertex.patchwork import Patchwork
    from affinelens.engine.vertex.program import compile_program
    from affinelens.engine.vertex.ready import prepare
    from affinelens.engine.vertex.driver import Request, Walk

    called = time.monotonic()
    prepare(progress)
    started = time.monotonic()
    deadline = deadline.postponed(started - called)
    asked = Request(started, name, facets and keep, vertices and keep, keep, progress, sink)
    if kept is not None and kept.patches:
        return Patchwork(network, frame, kept, wanted, selection, deadline, asked).run(limits)
    selected = EVERYTHING if selection is None else selection.read_by(kept)
    return Walk(network, kept, compile_program(network, frame, kept, wanted, deadline, selected), limits, asked).run()
