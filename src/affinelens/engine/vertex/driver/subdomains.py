"""A domain walked subdomain by subdomain, and what is found put together as if it had been walked at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from math import inf
from typing import Any

import numpy as np

from affinelens.deadline import TimeIsUp
from affinelens.domain import Frame
from affinelens.errors import AffineLensError
from affinelens.engine.vertex.driver.open_work import volume_of_cells
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.driver.way import Way, together
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.polytope_vertices import polytope_vertices
from affinelens.progress import Progress
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import (
    EVERYTHING, NO_DECISIONS, Columns, Facets, Hyperplanes, Job, Outcome, Place, Selected, Status,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Part:
    """A subdomain in which something wanted may be: its number, what is selected there, and what is open of it."""

    number: int
    subdomain: RestrictedNetwork
    selected: Selected
    left_open: tuple[Way, ...] | None


class SubdividedWalk:
    """One enumeration or count of a domain in subdomains; the next one is compiled while one is walked."""

    def __init__(self, task: Task, restricted: RestrictedNetwork) -> None:
        self._task = task
        self._asked = task.request
        self._restricted = restricted
        self._parts = self._parts_to_walk()
        self._walked: list[tuple[_Part, Outcome]] = []
        self._counts = np.zeros(len(task.request.network.stages), dtype=np.int64)
        self._volumes: dict[Frame, float | None] = {}
        self._next_checkpoint = time.monotonic() + self._asked.limits.checkpoint_every

    def run(self) -> Outcome:
        """Walk all subdomains, or until a limit or Ctrl-C stops it."""
        status, limit = Status.COMPLETE, self._asked.limits.max_regions
        try:
            for part, compiled in self._compiled():
                found = int(self._counts[-1])
                if limit is not None and found >= limit:
                    status = Status.REGION_LIMIT
                    break
                outcome = self._walk(part, compiled, found)
                self._walked.append((part, outcome))
                self._counts += outcome.layer_counts
                status = outcome.status
                if status is not Status.COMPLETE:
                    break
                if self._asked.sink is not None and time.monotonic() >= self._next_checkpoint:
                    self._write_checkpoint()
        except TimeIsUp:
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = Status.CANCELLED
        return self._outcome(status, self._walked)

    def _parts_to_walk(self) -> list[_Part]:
        """Subdomains in which something wanted may be, or those that an earlier walk left open."""
        subdomains = self._restricted.subdomains
        open_work: dict[int, tuple[Way, ...] | None] = dict.fromkeys(range(len(subdomains)))
        if not self._asked.begins:
            grouped = groupby(
                sorted(self._asked.open_work, key=_place), key=lambda job: _subdomain(job, len(subdomains))
            )
            open_work = {number: _ways(list(jobs)) for number, jobs in grouped}
        condition, found = self._asked.condition, []
        for number, left_open in open_work.items():
            subdomain = subdomains[number]
            if condition and not subdomain.open_clauses(condition):
                continue
            selection = self._asked.selection
            selected = EVERYTHING if selection is None else selection.read_by(subdomain)
            if len(selected.patterns):
                found.append(_Part(number, subdomain, selected, left_open))
        return found

    def _compiled(self) -> Iterator[tuple[_Part, Compiled]]:
        with ThreadPoolExecutor(1) as beside:
            coming = None
            for own, following in zip_longest(self._parts, self._parts[1:]):
                compiled = self._compile(own) if coming is None else coming.result()
                coming = None if following is None else beside.submit(self._compile, following)
                yield own, compiled

    def _compile(self, part: _Part) -> Compiled:
        return replace(self._task, restricted=part.subdomain).compiled(part.selected, part.number)

    def _walk(self, part: _Part, compiled: Compiled, found: int) -> Outcome:
        limits = self._asked.limits
        left = None if limits.max_regions is None else limits.max_regions - found
        until_checkpoint = inf if self._asked.sink is None else max(0.0, self._next_checkpoint - time.monotonic())
        translated = _Translation(self._asked.frame, self._restricted, part.subdomain)
        asked = replace(
            self._asked,
            limits=replace(limits, max_regions=left, checkpoint_every=until_checkpoint),
            progress=None if self._asked.progress is None else self._report,
            sink=_SubdomainSink(self, part, translated),
        )
        return Walk(replace(self._task, request=asked, restricted=part.subdomain), compiled, part.left_open).run()

    def written(self, columns: Columns) -> Any:
        """What stands for some regions of the domain: what the sink makes of them or, without one, they themselves."""
        return columns if self._asked.sink is None else self._asked.sink.write(columns)

    def checkpoint(self, part: _Part, so_far: Outcome) -> None:
        """Tell the sink how the walk stands in the middle of a subdomain."""
        if self._asked.sink is not None:
            self._write_checkpoint((part, so_far))

    def _write_checkpoint(self, *current: tuple[_Part, Outcome]) -> None:
        assert self._asked.sink is not None
        self._asked.sink.checkpoint(self._outcome(Status.UNFINISHED, [*self._walked, *current]))
        self._next_checkpoint = time.monotonic() + self._asked.limits.checkpoint_every

    def _report(self, progress: Progress) -> None:
        """Report what a walk has found together with all before it."""
        assert self._asked.progress is not None
        counts = tuple((self._counts + progress.layer_counts).tolist())
        self._asked.progress(replace(progress, regions=counts[-1], layer_counts=counts, share=None))

    def _outcome(self, status: Status, walked: Sequence[tuple[_Part, Outcome]]) -> Outcome:
        certificate = sum((outcome.certificate for _, outcome in walked), NO_DECISIONS)
        counts = sum((np.array(outcome.layer_counts) for _, outcome in walked), np.zeros_like(self._counts))
        chunks = [
            chunk._replace(place=(part.number, *chunk.place)) for part, outcome in walked for chunk in outcome.chunks
        ]
        return self._task.outcome(
            status, certificate, tuple(counts.tolist()), chunks, self._share(status, walked), self._open_work(walked)
        )

    def _open_work(self, walked: Sequence[tuple[_Part, Outcome]]) -> tuple[Job, ...] | None:
        jobs, name = [], self._task.engine
        for part, outcome in walked:
            if outcome.open_work is None:
                return None
            jobs += [Job(name, (part.number, *job.place), job.state) for job in outcome.open_work]
        for part in self._parts[len(walked) :]:
            if part.left_open is None:
                jobs.append(Job(name, (part.number,), None))
            else:
                jobs += [Job(name, (part.number, *way.place), way.to_json()) for way in part.left_open]
        return tuple(jobs)

    def _share(self, status: Status, walked: Sequence[tuple[_Part, Outcome]]) -> float | None:
        """How much of the domain's volume was walked."""
        if status is Status.COMPLETE and self._asked.begins:
            return 1.0
        whole = self._volume(self._asked.frame)
        done = together(_product(self._volume(part.subdomain.frame), outcome.share) for part, outcome in walked)
        return None if whole is None or done is None else done / whole

    def _volume(self, frame: Frame) -> float | None:
        if frame not in self._volumes:
            vertices = polytope_vertices(frame)
            self._volumes[frame] = volume_of_cells(vertices.points, vertices.offsets[1:], vertices.tight)
        return self._volumes[frame]


def _product(volume: float | None, share: float | None) -> float | None:
    return None if volume is None or share is None else volume * share


def _place(job: Job) -> Place:
    return job.place


def _subdomain(job: Job, count: int) -> int:
    """The number of the subdomain that a job is in."""
    if not job.place or not 0 <= job.place[0] < count:
        raise AffineLensError("a piece of open work is not there: it is of another network or domain, or damaged")
    return job.place[0]


def _ways(jobs: Sequence[Job]) -> tuple[Way, ...] | None:
    """What is open of one subdomain; None if it was not begun."""
    return None if jobs[0].state is None else tuple(Way.from_json(job.state) for job in jobs)


@dataclass(frozen=True, eq=False)
class _SubdomainSink:
    """Takes what is found in one subdomain for the walk of the domain."""

    walk: SubdividedWalk
    part: _Part
    translated: _Translation

    def write(self, columns: Columns) -> Any:
        return self.walk.written(self.translated(columns))

    def checkpoint(self, so_far: Outcome) -> None:
        self.walk.checkpoint(self.part, so_far)


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
