"""What a walk is asked for and by whom, and the outcome that it hands back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from affinelens.deadline import NEVER, Deadline
from affinelens.engine.vertex.layout.program import Compiled, compile_program
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import Certificate, Chunk, Columns, Job, JoinedLater, Outcome, Request, Selected, Status, in_order


@dataclass(frozen=True, eq=False)
class Task:
    """A request, the engine that walks it, and the part of the network it walks, if not all of it.

    Its time began at ``started``, by the monotonic clock; laying the network out ends at the deadline. With
    ``counts_sections`` the last stage's cells are counted without being built.
    """

    engine: str
    request: Request
    restricted: RestrictedNetwork | None = None
    deadline: Deadline = NEVER
    counts_sections: bool = False
    started: float = field(default_factory=time.monotonic)

    def compiled(self, selected: Selected, subdomain: int | None = None) -> Compiled:
        """What is to be walked, laid out for the kernels: once for all walks of a request that keeps layouts."""
        asked, restricted = self.request, self.restricted
        frame = asked.frame if restricted is None else restricted.frame

        def compile_now() -> Compiled:
            return compile_program(asked.network, frame, restricted, asked.condition, self.deadline, selected)

        if asked.layouts is None or asked.selection is not None:
            return compile_now()
        return asked.layouts.kept((self.engine, subdomain), compile_now)

    def outcome(
        self, status: Status, certificate: Certificate, counts: tuple[int, ...], chunks: Iterable[Chunk],
        share: float | None, open_work: tuple[Job, ...] | None,
    ) -> Outcome:  # fmt: skip
        """How the walk ended; what was made of chunks are their columns, unless there is a sink."""
        chunks, none = in_order(chunks), self.request.no_columns(self.restricted)
        columns: Columns | JoinedLater = none
        if self.request.sink is None:
            columns, chunks = JoinedLater([none, *(chunk.made for chunk in chunks)]), ()
        return Outcome(
            self.engine, status, replace(certificate, complete=status is Status.COMPLETE), counts,
            time.monotonic() - self.started, columns, chunks, share,
            None if self.restricted is None else self.restricted.switching, self.restricted, open_work,
        )  # fmt: skip
