"""Shards that are written where jobs are run, into a run directory that these machines reach by the same path.

Who walks puts a file with a word of its own there. Only who finds this word at that path, and may write there, writes
shards, each under a name that nobody else uses. A shard belongs to the run once the manifest names it, which it does
after it was told of in a reply: what a lost worker left behind is never named, and is removed with the other leftovers.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from affinelens.domain import Domain, domain_from_json
from affinelens.errors import AffineLensError
from affinelens.files.durable import replace_file, sync_folder
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.shards import RowGroup, Shard, ShardWriter
from affinelens.walk import Columns, Request, SharedPlace

WORD = "workers.json"
_NAME = re.compile(r"regions-[0-9a-f]{32}\.parquet")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def share(folder: Path, domain: Domain) -> SharedPlace:
    """Let jobs write shards to a run directory, until it is shared anew or no longer."""
    word = secrets.token_hex(16)
    replace_file(folder / WORD, json.dumps({"word": word, "domain": domain.to_json()}).encode())
    return SharedPlace(reached, {"folder": str(folder.resolve()), "word": word})


def share_no_longer(folder: Path) -> None:
    """From here on no shard is finished there."""
    (folder / WORD).unlink(missing_ok=True)


def reached(told: dict[str, Any], request: Request) -> ShardDeposit | None:
    """The run directory that was told of, if it is here and can be written to."""
    folder, word = Path(told["folder"]), str(told["word"])
    said = _said_there(folder)
    if said is None or said.get("word") != word:
        return None
    return ShardDeposit(folder, word, Asked.by(request, domain_from_json(said["domain"]), {}))


def _said_there(folder: Path) -> dict[str, Any] | None:
    """What the file with the word says; None if there is none that can be read and written to."""
    try:
        with (folder / WORD).open("r+b") as stream:
            said = json.loads(stream.read())
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


class ShardDeposit:
    """The shards of one job."""

    def __init__(self, folder: Path, word: str, asked: Asked) -> None:
        self._folder = folder
        self._word = word
        self._shards = ShardWriter(folder, asked, names=_own_names())
        self._groups: list[RowGroup] = []
        self._rows: list[int] = []

    def write(self, columns: Columns) -> None:
        """Write a row group."""
        try:
            self._groups.append(self._shards.write(columns))
        except BaseException:
            self.discard()
            raise
        self._rows.append(len(columns))

    def close(self) -> dict[str, Any] | None:
        """The shards, which are on the disk; None, and no shards, if the run was ended or is shared anew."""
        try:
            self._shards.close()
            sync_folder(self._folder)
            said = _said_there(self._folder)
        except BaseException:
            self.discard()
            raise
        if said is None or said.get("word") != self._word:
            self.discard()
            return None
        shards = [
            {"file": s.file, "rows": s.rows, "sha256": s.sha256, "bytes": (self._folder / s.file).stat().st_size}
            for s in self._shards.shards
        ]
        return {"shards": shards, "groups": [list(group) for group in self._groups], "rows": self._rows}

    def discard(self) -> None:
        """Remove the shards."""
        self._shards.discard()
        for shard in self._shards.shards:
            (self._folder / shard.file).unlink(missing_ok=True)


def _own_names() -> Iterator[str]:
    while True:
        yield f"regions-{secrets.token_hex(16)}.parquet"


def told_shards(folder: Path, kept: dict[str, Any], regions: Sequence[int]) -> tuple[list[Shard], list[RowGroup]]:
    """The shards that a reply tells of, and where the regions of each write are, if all are there as it says.

    Damage to them is noticed whenever they are read.
    """
    try:
        shards = [
            Shard(str(entry["file"]), int(entry["rows"]), str(entry["sha256"]), checks_pages=True)
            for entry in kept["shards"]
        ]
        sizes = [int(entry["bytes"]) for entry in kept["shards"]]
        groups = [RowGroup(int(shard), int(group)) for shard, group in kept["groups"]]
        rows = [int(count) for count in kept["rows"]]
    except (KeyError, TypeError, ValueError) as error:
        raise AffineLensError("what a job kept cannot be read") from error
    held = [0] * len(shards)
    for group, count in zip(groups, rows, strict=False):
        if not 0 <= group.shard < len(shards):
            raise AffineLensError("what a job kept does not fit together")
        held[group.shard] += count
    fits = (
        rows == list(regions)
        and len(set(groups)) == len(groups) == len(rows)
        and held == [shard.rows for shard in shards]
        and all(_NAME.fullmatch(shard.file) and _SHA256.fullmatch(shard.sha256) for shard in shards)
    )
    if not fits:
        raise AffineLensError("what a job kept does not fit together")
    for shard, size in zip(shards, sizes, strict=True):
        file = folder / shard.file
        if file.is_symlink() or not file.is_file() or file.stat().st_size != size:
            raise AffineLensError(f"{shard.file}, which a job has written, is not there or another file")
    return shards, groups
