"""A domain walked subdomain by subdomain, and what is found put together as if it had been walked at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from affinelens.convex.volume import cell_volumes
from affinelens.deadline import TimeIsUp
from affinelens.domain import Frame
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.state import State
from affinelens.engine.vertex.polytope_vertices import polytope_vertices
from affinelens.progress import Progress
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import (
    EVERYTHING, NO_DECISIONS, Columns, Facets, HandedTo, Hyperplanes, Job, Outcome, Selected, Status,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Part:
    """A subdomain in which something wanted may be: its number, what is selected there, and what is open of it."""

    number: int
    subdomain: RestrictedNetwork
    selected: Selected
    open_states: tuple[State, ...] | None


class SubdividedWalk:
    """One enumeration or count of a domain in subdomains; the next one is compiled while one is walked."""

    def __init__(self, task: Task, restricted: RestrictedNetwork) -> None:
        self._task = task
        self._asked = task.request
        self._restricted = restricted
        self._counts = np.zeros(len(task.request.network.stages), dtype=np.int64)

    def run(self) -> Outcome:
        """Walk all subdomains, or until a limit or Ctrl-C stops it."""
        walked: list[tuple[_Part, Outcome]] = []
        status, limit = Status.COMPLETE, self._asked.limits.max_regions
        parts = self._parts()
        try:
            for part, compiled in self._compiled(parts):
                found = int(self._counts[-1])
                if limit is not None and found >= limit:
                    status = Status.REGION_LIMIT
                    break
                outcome = self._walk(part, compiled, found)
                walked.append((part, outcome))
                self._counts += outcome.layer_counts
                status = outcome.status
                if status is not Status.COMPLETE:
                    break
        except TimeIsUp:
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = Status.CANCELLED
        certificate = sum((outcome.certificate for _, outcome in walked), NO_DECISIONS)
        chunks = [
            chunk._replace(place=(part.number, *chunk.place)) for part, outcome in walked for chunk in outcome.chunks
        ]
        share = 1.0 if status is Status.COMPLETE else self._share(walked)
        open_work = self._open_work(walked, parts[len(walked) :])
        return self._task.outcome(status, certificate, tuple(self._counts.tolist()), chunks, share, open_work)

    def _parts(self) -> list[_Part]:
        """Subdomains in which something wanted may be, or those that an earlier walk left open."""
        subdomains = self._restricted.subdomains
        states: dict[int, tuple[State, ...] | None] = dict.fromkeys(range(len(subdomains)))
        if not self._asked.begins:
            grouped = groupby(self._asked.open_work, key=lambda job: job.place[0])
            states = {number: _states(list(jobs)) for number, jobs in grouped}
        condition, found = self._asked.condition, []
        for number, open_states in states.items():
            subdomain = subdomains[number]
            if condition and not subdomain.open_clauses(condition):
                continue
            selection = self._asked.selection
            selected = EVERYTHING if selection is None else selection.read_by(subdomain)
            if len(selected.patterns):
                found.append(_Part(number, subdomain, selected, open_states))
        return found

    def _compiled(self, parts: Sequence[_Part]) -> Iterator[tuple[_Part, Compiled]]:
        with ThreadPoolExecutor(1) as beside:
            coming = None
            for own, following in zip(parts, [*parts[1:], None], strict=True):
                compiled = self._compile(own) if coming is None else coming.result()
                coming = None if following is None else beside.submit(self._compile, following)
                yield own, compiled

    def _compile(self, part: _Part) -> Compiled:
        return replace(self._task, restricted=part.subdomain).compiled(part.selected)

    def _walk(self, part: _Part, compiled: Compiled, found: int) -> Outcome:
        limits = self._asked.limits
        left = None if limits.max_regions is None else limits.max_regions - found
        translated = _Translation(self._asked.frame, self._restricted, part.subdomain)
        sink, progress = self._asked.sink, self._asked.progress
        asked = replace(
            self._asked,
            limits=replace(limits, max_regions=left),
            progress=None if progress is None else self._report,
            sink=HandedTo(translated) if sink is None else HandedTo(lambda columns: sink.write(translated(columns))),
        )
        return Walk(replace(self._task, request=asked, restricted=part.subdomain), compiled, part.open_states).run()

    def _report(self, progress: Progress) -> None:
        """Report what a walk has found together with all before it."""
        assert self._asked.progress is not None
        counts = tuple((self._counts + progress.layer_counts).tolist())
        self._asked.progress(replace(progress, regions=counts[-1], layer_counts=counts, share=None))

    def _open_work(self, walked: Sequence[tuple[_Part, Outcome]], waiting: Sequence[_Part]) -> tuple[Job, ...] | None:
        jobs, name = [], self._task.engine
        for part, outcome in walked:
            if outcome.open_work is None:
                return None
            jobs += [Job(name, (part.number, *job.place), job.state) for job in outcome.open_work]
        for part in waiting:
            states = (None,) if part.open_states is None else part.open_states
            jobs += [Job(name, (part.number, place), state) for place, state in enumerate(states)]
        return tuple(jobs)

    def _share(self, walked: Sequence[tuple[_Part, Outcome]]) -> float:
        """How much of the domain's volume was walked."""
        if not walked:
            return 0.0
        done = sum(_volume(part.subdomain.frame) * (outcome.share or 0.0) for part, outcome in walked)
        return done / _volume(self._asked.frame)


def _states(jobs: Sequence[Job]) -> tuple[State, ...] | None:
    """What is open of one subdomain; None if it was not begun."""
    return None if jobs[0].state is None else tuple(job.state for job in jobs)


def _volume(frame: Frame) -> float:
    vertices = polytope_vertices(frame)
    return float(cell_volumes(vertices.points, vertices.offsets[1:], vertices.tight, frame.dim)[0])


class _Translation:
    """Reads what was found in a subdomain as found in the domain."""

    def __init__(self, frame: Frame, restricted: RestrictedNetwork, subdomain: RestrictedNetwork) -> None:
        self._found, self._wanted = subdomain.switching, restricted.switching.choices
        hyperplanes, sides = Hyperplanes(restricted.network, frame), subdomain.sides
        rows = hyperplanes.domain_count
        crossed = hyperplanes.of_breaks(np.array(list(sides), dtype=np.int64))
        self._numbers = np.concatenate([np.arange(rows), crossed])
        self._signs = np.concatenate([np.ones(rows), list(sides.values())]).astype(np.int8)
        self._shift = rows - len(self._numbers)

    def __call__(self, columns: Columns) -> Columns:
        patterns = self._found.pieces(columns.patterns, self._wanted)
        facets = None if columns.facets is None else self._facets(columns.facets)
        return replace(columns, patterns=patterns, facets=facets)

    def _facets(self, facets: Facets) -> Facets:
        """Facets with the numbers that hyperplanes have in the domain and the network, again in their order."""
        on_border = facets.numbers < len(self._numbers)
        number = np.where(on_border, 0, facets.numbers + self._shift)
        number[on_border] = self._numbers[facets.numbers[on_border]]
        sign = facets.signs.copy()
        sign[on_border] = self._signs[facets.numbers[on_border]]
        region = np.repeat(np.arange(len(facets.offsets) - 1), np.diff(facets.offsets))
        order = np.lexsort((number, region))
        bits = None if facets.bits is None else facets.bits[order]
        return Facets(number[order], sign[order], facets.offsets, bits)
