"""What a user is given of a walk for regions: the set or, after Ctrl-C, the interruption that holds it."""

from __future__ import annotations

from pathlib import Path

from affinelens.errors import Interrupted
from affinelens.region_set import RegionSet
from affinelens.regions.store.run_data import SavedRun
from affinelens.regions.store.run_writer import command_to_go_on
from affinelens.short_text import counted
from affinelens.walk import Status


def regions_of(saved: SavedRun) -> RegionSet:
    return RegionSet(saved.asked.network, saved.asked.domain, saved.outcome, saved.asked.options, saved.note)


def unless_interrupted(regions: RegionSet, path: Path | None = None) -> RegionSet:
    if regions.status is Status.CANCELLED:
        saved = "" if path is None else f" and in {path}, where they go on with: {command_to_go_on(path)}"
        raise Interrupted(f"stopped by Ctrl-C; {counted(len(regions), 'region')} are in .found{saved}", regions)
    return regions
