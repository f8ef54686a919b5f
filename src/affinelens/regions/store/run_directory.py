"""Saving a set of regions that is in memory as a run directory, whole or not at all.

It is written beside its destination and moved there in one step. A walk that is to be saved writes there from the
start (:mod:`affinelens.regions.store.durable_walk`).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from affinelens.files.lock import Lock
from affinelens.files.saved_directory import written_whole
from affinelens.regions.regions import Regions
from affinelens.regions.store import shards
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.manifest import is_run, write_manifest
from affinelens.regions.store.run_data import description, how_far
from affinelens.regions.store.run_writer import require_writable, write_network
from affinelens.regions.store.shards import ShardWriter
from affinelens.regions.store.switching_file import write_switching
from affinelens.walk import Chunk, Status

# Regions are written, and later read, so many at a time.
_CHUNK_ROWS = 1 << 16


def save(regions: Regions, path: Path, *, overwrite: bool = False) -> Path:
    """Write a run directory. A walk that was stopped cannot go on from it: in memory it is not known where it stood."""
    require_writable(path, overwrite=overwrite)
    outcome = regions.outcome
    asked = Asked(regions.network, regions.domain, regions.options, True, outcome.has_facets, outcome.has_vertices)
    with ExitStack() as held:
        if is_run(path):
            held.callback(Lock(path).release)
        folder = held.enter_context(written_whole(path))
        writer = ShardWriter(folder, asked)
        rows = min(_CHUNK_ROWS, shards.SHARD_ROWS)
        parts = (outcome.taken(slice(start, min(start + rows, len(regions)))) for start in range(0, len(regions), rows))
        chunks = tuple(Chunk((), number, len(part), writer.write(part)) for number, part in enumerate(parts))
        writer.close()
        write_network(folder, asked)
        if outcome.switching is not None:
            write_switching(folder, outcome.switching)
        open_work = () if outcome.status is Status.COMPLETE else None
        written = replace(outcome, chunks=chunks, open_work=open_work)
        write_manifest(folder, description(asked) | how_far(asked, written, writer.shards))
    return path
