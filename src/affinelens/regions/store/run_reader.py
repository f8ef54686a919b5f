"""Reading run directories without trust: there is no pickle, files are only looked for inside the directory, and
shapes, ranges and hashes are checked. Where the last checkpoint is damaged, the one before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from affinelens.domain import domain_from_json
from affinelens.engine import AUTO, require_known
from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz
from affinelens.files.saved_directory import OtherVersionError, naming_damage, plain_file_inside
from affinelens.network import Network
from affinelens.network.serial import network_from_data
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.manifest import MANIFEST, PREVIOUS, is_run, read_manifest
from affinelens.regions.store.restricted_file import read_restricted
from affinelens.regions.store.run_data import SavedRun
from affinelens.regions.store.shards import WHOLE_SHARD, RowGroup, Shard, read_chunks, stored_columns
from affinelens.regions.store.stored_regions import StoredRegions
from affinelens.regions.store.switching_file import SWITCHING, read_switching, same_switching
from affinelens.restrict import SwitchingChoices
from affinelens.walk import WHOLE_DOMAIN, Certificate, Chunk, Job, Limits, Outcome, Status, in_order

NETWORK = "network.npz"


def read_run(folder: Path, *, columns: bool = True) -> SavedRun:
    """What a run directory holds: with its regions or, to go on with it, after a look at their hashes alone."""
    if not is_run(folder):
        raise AffineLensError(f"{folder}: not a run directory (it has no {MANIFEST}); give one that save() wrote")
    with naming_damage(folder, "run"):
        try:
            return _read(folder, MANIFEST, columns=columns)
        except OtherVersionError:
            raise
        except Exception as damage:  # it fails in many ways, and all of them mean the same here
            earlier = _previous(folder, columns=columns)
            if earlier is None:
                raise
            reason = " ".join(str(damage).split())[:200]
            note = f"{folder}: the last checkpoint is damaged ({reason}), so the one before it was read"
            return replace(earlier, note=note)


def _previous(folder: Path, *, columns: bool) -> SavedRun | None:
    """The checkpoint before the last one, if it can be read."""
    try:
        return _read(folder, PREVIOUS, columns=columns)
    except Exception:  # then the last one's damage is what there is to tell
        return None


def _read(folder: Path, name: str, *, columns: bool) -> SavedRun:
    data = read_manifest(folder, name)
    network = network_from_data(data["network"], read_npz(plain_file_inside(folder, NETWORK)))
    if network.digest != data["model_sha256"]:
        raise AffineLensError("its network does not match the hash in its manifest")
    is_first = data["format_version"] == 1
    shards = tuple(_shard(entry, "regions" if is_first else "rows") for entry in data["shards"])
    asked = _asked(folder, data, network, shards)
    if is_first:
        has_switching = (folder / SWITCHING).exists()
        chunks = [Chunk((), n, shard.rows, RowGroup(n, WHOLE_SHARD)) for n, shard in enumerate(shards)]
    else:
        has_switching = data["patterns_of"] != "all choices"
        chunks = [_chunk(entry) for entry in data["chunks"]]
    switching = read_switching(folder, network) if has_switching else None
    outcome = _outcome(data, asked, chunks, switching)
    if columns and StoredRegions.suits(folder, shards):
        stored = StoredRegions(folder, shards, outcome.chunks, asked, switching)
        return SavedRun(asked, replace(outcome, columns=stored), shards)
    if columns:
        table = read_chunks(folder, shards, outcome.chunks, asked, switching)
        return SavedRun(asked, replace(outcome, columns=table), shards)
    for shard in shards:
        shard.require_whole(folder)
    if data.get("restricted_sha256") is None:
        return SavedRun(asked, outcome, shards)
    digest = str(data["restricted_sha256"])
    restricted = read_restricted(folder, digest, asked)
    if not same_switching(switching, restricted.switching):
        raise AffineLensError("its restricted network does not fit its regions")
    return SavedRun(asked, replace(outcome, restricted=restricted), shards, restricted_sha256=digest)


def _asked(folder: Path, data: Mapping[str, Any], network: Network, shards: tuple[Shard, ...]) -> Asked:
    domain = domain_from_json(data["domain"])
    if domain.inputs != network.input_size:
        raise AffineLensError("its domain does not fit its network")
    if data["format_version"] == 1:
        names = stored_columns(shards[0].require_whole(folder))
        return Asked(network, domain, dict(data["options"]), True, "facets" in names, "vertices" in names)
    holds, facets, vertices = data["holds"], data["facets"], data["vertices"]
    if holds not in ("regions", "count") or not isinstance(facets, bool) or not isinstance(vertices, bool):
        raise AffineLensError("its manifest does not say what it holds")
    return Asked(network, domain, dict(data["options"]), holds == "regions", facets, vertices)


def _outcome(data: Mapping[str, Any], asked: Asked, chunks: list[Chunk], switching: SwitchingChoices | None) -> Outcome:
    outcome = Outcome(
        engine=str(data["engine"]),
        status=Status[data["status"]],
        certificate=_certificate(data["certificate"]),
        layer_counts=tuple(_whole(count) for count in data["layer_counts"]),
        seconds=_number(data["seconds"], "seconds"),
        columns=asked.request(Limits()).no_columns(),
        chunks=in_order(chunks),
        share=None if data.get("share") is None else _number(data["share"], "share", 1.0),
        switching=switching,
        open_work=_open_work(data.get("open_work")),
    )
    _require_consistent(outcome, asked, _whole(data["regions"]))
    return outcome


def _require_consistent(outcome: Outcome, asked: Asked, regions: int) -> None:
    stages = max(len(asked.network.stages), 1)
    in_chunks = sum(chunk.regions for chunk in outcome.chunks)
    if outcome.layer_counts[-1:] != (regions,) or in_chunks != (regions if asked.regions else 0):
        raise AffineLensError("it holds another number of regions than its manifest says")
    is_complete = outcome.status is Status.COMPLETE
    has_open_work = bool(outcome.open_work)
    places = {(chunk.place, chunk.number) for chunk in outcome.chunks}
    contradictions = (
        len(outcome.layer_counts) != stages,
        is_complete != outcome.certificate.complete,
        is_complete and has_open_work,
        len(places) != len(outcome.chunks),
        len({chunk.made for chunk in outcome.chunks}) != len(outcome.chunks),
    )
    if any(contradictions):
        raise AffineLensError("its manifest contradicts itself")


def _certificate(data: Mapping[str, Any]) -> Certificate:
    counts = {name: _whole(value) for name, value in data.items() if name not in ("complete", "proves")}
    if not isinstance(data["complete"], bool):
        raise AffineLensError("its certificate does not say whether it is complete")
    return Certificate(**counts, complete=data["complete"])


def _shard(data: Mapping[str, Any], rows: str) -> Shard:
    return Shard(str(data["file"]), _whole(data[rows]), str(data["sha256"]), data.get("checks_pages", False) is True)


def _chunk(data: Any) -> Chunk:
    place, number, regions, shard, group = data
    if not isinstance(place, list) or not all(type(n) is int for n in place):
        raise AffineLensError("it has a chunk whose place cannot be read")
    return Chunk(tuple(place), _whole(number), _whole(regions), RowGroup(_whole(shard), _whole(group)))


def _open_work(data: Any) -> tuple[Job, ...] | None:
    """Jobs of one engine, or the whole domain, or none that is known."""
    if data is None:
        return None
    if not isinstance(data, list):
        raise AffineLensError("it has something else where open work belongs")
    jobs = tuple(Job.from_json(entry) for entry in data)
    if jobs == (WHOLE_DOMAIN,):
        return jobs
    for engine in {job.engine for job in jobs}:
        require_known(engine)
    if len({job.engine for job in jobs}) > 1 or any(job.engine == AUTO for job in jobs):
        raise AffineLensError("it has open work of several engines or of none")
    return jobs


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise AffineLensError(f"it has {value!r:.40} where a count belongs")
    return value


def _number(value: Any, name: str, most: float = inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= float(value) <= most:
        raise AffineLensError(f"its {name} cannot be {value!r:.40}")
    return float(value)
