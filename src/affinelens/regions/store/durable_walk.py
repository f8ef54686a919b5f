"""A walk in sittings: what one has found and left open is in a run directory, from which the next goes on."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from affinelens.engine import Choice, choose, run
from affinelens.errors import AffineLensError, AffineLensWarning
from affinelens.files.lock import Lock
from affinelens.progress import Progress, ProgressFunction
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.manifest import MANIFEST, is_run
from affinelens.regions.store.run_data import SavedRun, nothing_more
from affinelens.regions.store.run_reader import read_run
from affinelens.regions.store.run_writer import RunWriter
from affinelens.regions.store.stored_regions import StoredRegions
from affinelens.walk import Columns, Limits, Outcome, Request, Status


def walked(path: Path, asked: Asked, limits: Limits, *, overwrite: bool = False) -> SavedRun:
    """Begin a run and walk, as far as the limits allow."""
    with RunWriter.beginning(path, asked, overwrite=overwrite) as writer:
        found = writer.finish(run(asked.request(limits, writer)))
    return _read_later(path, found)


def walked_on(path: Path, limits: Limits, options: dict[str, Any], asked: Asked | None = None) -> SavedRun:
    """Go on with a run, as far as the limits allow: on regions of all sittings together, on the time of this one.

    ``options`` are the limits as plain data. If it is said what is ``asked``, the run must be of just that. One that is
    complete is returned.
    """
    if not is_run(path):
        raise AffineLensError(f"{path}: there is no run to go on with (it has no {MANIFEST}); begin one there")
    with ExitStack() as held:
        lock = _lock(path)
        held.callback(lock.release)
        earlier = read_run(path, columns=False)
        if earlier.note:
            warnings.warn(AffineLensWarning(earlier.note), stacklevel=4)
        if asked is not None:
            try:
                asked.require_same(earlier.asked, earlier.outcome)
            except AffineLensError as error:
                raise error.located(str(path)) from None
        outcome = earlier.outcome
        if outcome.status is Status.COMPLETE:
            return _read_later(path, earlier)
        if outcome.open_work is None:
            raise AffineLensError(
                f"{path}: does not say what is left to do, as sets saved from memory and runs of earlier versions do "
                f"not; begin it again in another directory, or with overwrite (--overwrite)"
            )
        left = None if limits.max_regions is None else limits.max_regions - outcome.regions
        if left is not None and left <= 0:
            return _read_later(path, replace(earlier, outcome=replace(outcome, status=Status.REGION_LIMIT)))
        again = earlier.asked.with_limits_of(options)
        with RunWriter.going_on(path, again, earlier, lock) as writer:
            if not outcome.open_work:  # it ended between the last checkpoint and its end
                return _read_later(path, writer.finish(nothing_more(again, outcome)))
            request = again.request(replace(limits, max_regions=left), writer)
            rest = replace(request, open_work=outcome.open_work, progress=_together(request, outcome))
            return _read_later(path, writer.finish(run(rest, _chosen(rest, outcome))))


def _chosen(rest: Request, earlier: Outcome) -> Choice | None:
    """The same engine on the same restricted network, where there was one."""
    return None if earlier.restricted is None else choose(rest, restricted=earlier.restricted)


def _lock(path: Path) -> Lock:
    try:
        return Lock(path)
    except OSError as error:
        raise AffineLensError(
            f"{path}: cannot be written to ({error.strerror or error}); copy it to where it can, to go on with it"
        ) from error


def _read_later(path: Path, found: SavedRun) -> SavedRun:
    """With columns that are read when they are first looked at or, if they are many, where they are looked at."""

    def columns() -> Columns:
        return read_run(path).outcome.table

    outcome, asked = found.outcome, found.asked
    if not asked.regions or not StoredRegions.suits(path, found.shards):
        return replace(found, outcome=replace(outcome, columns=columns))
    stored = StoredRegions(path, found.shards, outcome.chunks, asked, outcome.switching)
    return replace(found, outcome=replace(outcome, columns=stored))


def _together(request: Request, earlier: Outcome) -> ProgressFunction | None:
    """Who is told of progress hears of all sittings together."""
    told = request.progress
    if told is None:
        return None

    def tell(progress: Progress) -> None:
        if progress.note:
            told(progress)
            return
        counts = [a + b for a, b in zip(earlier.layer_counts, progress.layer_counts, strict=True)]
        share = None if progress.share is None or earlier.share is None else earlier.share + progress.share
        seconds = earlier.seconds + progress.seconds
        told(Progress(counts[-1], tuple(counts), seconds, share=share, workers=progress.workers))

    return tell
