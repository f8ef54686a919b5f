"""A domain walked patch by patch, and what is found put together as if it had been walked at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
import numpy as np

from affinelens.deadline import Deadline, TimeIsUp
from affinelens.domain import Frame
from affinelens.engine.outcome import (
    NO_DECISIONS, Columns, Facets, Limits, Outcome, Progress, Status, Switching,
)  # fmt: skip
from affinelens.engine.selection import EVERYTHING, Selected, Selection
from affinelens.engine.vertex.driver import Request, Walk
from affinelens.engine.vertex.program import Compiled, compile_program
from affinelens.engine.vertex.share import domain_volume
from affinelens.network import Network
from affinelens.restrict import Clauses, Kept, Patch

_Walked = tuple[Patch, Outcome]


class Patchwork:
    """One enumeration or count of a domain in patches; the next one is compiled while one is walked."""

    def __init__(
        self,
        network: Network,
        frame: Frame,
        kept: Kept,
        wanted: Clauses,
        selection: Selection | None,
        deadline: Deadline,
        asked: Request,
    ) -> None:
        self._network = network
        self._frame = frame
        self._kept = kept
        self._wanted = wanted
        self._selection = selection
        self._deadline = deadline
        self._asked = asked
        self._counts = np.zeros(len(network.stages), dtype=np.int64)

    def run(self, limits: Limits) -> Outcome:
        """Walk all patches, or until a limit or Ctrl-C stops it."""
        walked: list[_Walked] = []
        status = Status.COMPLETE
        try:
            for patch, compiled in self._compiled():
                found = int(self._counts[-1])
                if limits.max_regions is not None and found >= limits.max_regions:
                    status = Status.REGION_LIMIT
                    break
                outcome = self._walk(patch, compiled, limits, found)
                walked.append((patch, outcome))
                self._counts += outcome.layer_counts
                status = outcome.status
                if status is not Status.COMPLETE:
                    break
        except TimeIsUp:
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = Status.CANCELLED
        return self._joined(status, walked)

    def _compiled(self) -> Iterator[tuple[Patch, Compiled]]:
        """Patches in which something wanted may be, each with its program."""
        patches = [
            (patch, selected)
            for patch in self._kept.patches
            if not self._wanted or patch.kept.open_clauses(self._wanted)
            if len((selected := self._selected(patch)).patterns)
        ]
        with ThreadPoolExecutor(1) as beside:
            coming = None
            for own, following in zip(patches, [*patches[1:], None], strict=True):
                compiled = self._compile(*own) if coming is None else coming.result()
                coming = None if following is None else beside.submit(self._compile, *following)
                yield own[0], compiled

    def _selected(self, patch: Patch) -> Selected:
        return EVERYTHING if self._selection is None else self._selection.read_by(patch.kept)

    def _compile(self, patch: Patch, selected: Selected) -> Compiled:
        return compile_program(self._network, patch.area.frame, patch.kept, self._wanted, self._deadline, selected)

    def _walk(self, patch: Patch, compiled: Compiled, limits: Limits, found: int) -> Outcome:
        left = None if limits.max_regions is None else limits.max_regions - found
        translated = _Translation(self._frame, self._kept, patch)
        sink, progress = self._asked.sink, self._asked.progress
        asked = replace(
            self._asked,
            progress=None if progress is None else self._report,
            sink=translated if sink is None else lambda columns: sink(translated(columns)),
        )
        return Walk(self._network, patch.kept, compiled, replace(limits, max_regions=left), asked).run()

    def _report(self, progress: Progress) -> None:
        """Report what a walk has found together with all before it."""
        assert self._asked.progress is not None
        counts = tuple((self._counts + progress.layer_counts).tolist())
        self._asked.progress(
            Progress(int(self._counts[-1]) + progress.regions, counts, progress.seconds, progress.note)
        )

    def _joined(self, status: Status, walked: Sequence[_Walked]) -> Outcome:
        outcomes = [outcome for _, outcome in walked]
        chunks = [chunk for outcome in outcomes for chunk in outcome.chunks]
        certificate = sum((outcome.certificate for outcome in outcomes), NO_DECISIONS)
        return Outcome(
            self._asked.name,
            status,
            replace(certificate, complete=status is Status.COMPLETE),
            tuple(self._counts.tolist()),
            time.monotonic() - self._asked.started,
            Columns.joined(chunks) if chunks and self._asked.sink is None else self._no_columns(),
            () if self._asked.sink is None else tuple(chunks),
            1.0 if status is Status.COMPLETE else self._share(walked),
            Switching(self._kept.choices, self._kept.pattern),
        )

    def _no_columns(self) -> Columns:
        choices, kind = len(self._kept.choices), self._network.pattern_type
        return Columns.of_no_regions(
            choices, self._frame.dim, kind, facets=self._asked.facets, vertices=self._asked.vertices
        )

    def _share(self, walked: Sequence[_Walked]) -> float:
        """How much of the domain's volume was walked."""
        if not walked:
            return 0.0
        done = sum(self._volume(patch.area.frame) * (outcome.share or 0.0) for patch, outcome in walked)
        return done / self._volume(self._frame)

    def _volume(self, frame: Frame) -> float:
        """Volume of a domain, on which nothing need switch for that."""
        nothing = Kept(replace(self._network, stages=()), (), frame.chart)
        compiled = compile_program(self._network, frame, nothing)
        return domain_volume(compiled) * float(np.prod(compiled.scale))


class _Translation:
    """Reads what was found in a patch as found in the domain."""

    def __init__(self, frame: Frame, kept: Kept, patch: Patch) -> None:
        self._pattern = patch.kept.pattern[kept.choices]
        self._columns = np.searchsorted(kept.choices, patch.kept.choices)
        rows = frame.rows.shape[0]
        sides = patch.area.sides
        self._numbers = np.concatenate([np.arange(rows), rows + np.array(list(sides), dtype=np.int64)])
        self._signs = np.concatenate([np.ones(rows), list(sides.values())]).astype(np.int8)
        self._shift = rows - len(self._numbers)

    def __call__(self, columns: Columns) -> Columns:
        patterns = np.broadcast_to(self._pattern, (len(columns), len(self._pattern))).copy()
        patterns[:, self._columns] = columns.patterns
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
