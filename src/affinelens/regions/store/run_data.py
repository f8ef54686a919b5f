"""What a manifest says: what a run is of, how far it is, where its regions are, and what is still open."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from affinelens.engine import AUTO
from affinelens.network.serial import network_to_data
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.shards import Shard
from affinelens.version import __version__
from affinelens.walk import NO_DECISIONS, WHOLE_DOMAIN, Limits, Outcome, Status

_PACKAGES = ("numpy", "numba", "highspy", "python-flint", "pyarrow")


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run directory that was read.

    The ``outcome`` has chunks that say where in the ``shards`` they are, and its columns are read when they are looked
    at. ``note`` says what there is to know about how it was read; it is empty if all is as it should be.
    """

    asked: Asked
    outcome: Outcome
    shards: tuple[Shard, ...]
    note: str = ""
    restricted_sha256: str | None = None


def description(asked: Asked) -> dict[str, Any]:
    """What stays the same over all sittings, but for the limits among the options."""
    versions = {"affinelens": __version__, "python": platform.python_version()}
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in _PACKAGES},
        "holds": "regions" if asked.regions else "count",
        "model_sha256": asked.network.digest,
        "network": network_to_data(asked.network)[0],
        "domain": asked.domain.to_json(),
        "facets": asked.facets,
        "vertices": asked.vertices,
    }


def how_far(
    asked: Asked, outcome: Outcome, shards: Sequence[Shard], restricted_sha256: str | None = None
) -> dict[str, Any]:
    """How far it is."""
    jobs = outcome.open_work
    return {
        "options": asked.options,
        "engine": outcome.engine,
        "status": outcome.status.name,
        "seconds": outcome.seconds,
        "regions": outcome.regions,
        "layer_counts": list(outcome.layer_counts),
        "share": outcome.share,
        "certificate": outcome.certificate.to_json(),
        "patterns_of": "all choices" if outcome.switching is None else "switching choices",
        "restricted_sha256": restricted_sha256,
        "shards": [asdict(shard) for shard in shards],
        "chunks": [[list(chunk.place), chunk.number, chunk.regions, *chunk.made] for chunk in outcome.chunks],
        "open_work": None if jobs is None else [job.to_json() for job in jobs],
    }


def nothing_yet(asked: Asked) -> Outcome:
    """How a run stands that was just begun."""
    counts = (0,) * max(len(asked.network.stages), 1)
    return Outcome(
        str(asked.options.get("engine", AUTO)), Status.UNFINISHED, replace(NO_DECISIONS, complete=False), counts, 0.0,
        asked.request(Limits()).no_columns(), share=0.0, open_work=(WHOLE_DOMAIN,),
    )  # fmt: skip


def nothing_more(asked: Asked, outcome: Outcome) -> Outcome:
    """What is left of a walk that found everything by a checkpoint."""
    return replace(
        nothing_yet(asked), engine=outcome.engine, status=Status.COMPLETE, certificate=NO_DECISIONS,
        switching=outcome.switching, restricted=outcome.restricted, open_work=(),
    )  # fmt: skip
