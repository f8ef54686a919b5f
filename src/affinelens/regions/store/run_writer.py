"""A run directory that a walk writes to while it goes on: what was written by a checkpoint is there to stay."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from affinelens.engine import AUTO
from affinelens.errors import AffineLensError
from affinelens.files.durable import sync_folder, write_npz
from affinelens.files.lock import Lock
from affinelens.files.saved_directory import move_into_place, not_saved, require_place
from affinelens.network.serial import network_to_data
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.manifest import MANIFEST, is_run, write_manifest
from affinelens.regions.store.restricted_file import write_restricted
from affinelens.regions.store.run_data import SavedRun, description, how_far, nothing_yet
from affinelens.regions.store.run_reader import NETWORK
from affinelens.regions.store.shards import RowGroup, ShardWriter, remove_others
from affinelens.regions.store.shared_run import share, share_no_longer, told_shards
from affinelens.regions.store.switching_file import same_switching, write_switching
from affinelens.short_text import counted
from affinelens.walk import Columns, Outcome, SharedPlace, Status


def require_writable(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a destination before any work is done for it."""
    require_place(path, overwrite=overwrite, marker=MANIFEST, content="a run")


class RunWriter:
    """A sink that keeps regions, and how a walk stands, in a run directory: to be used in a ``with`` statement.

    A run is there as soon as it is begun, but one that replaces another only when there is something to write. If it
    cannot be written any more, that is said in a sentence, and what the last checkpoint says stays.
    """

    def __init__(self, path: Path, asked: Asked, earlier: SavedRun | None, lock: Lock | None) -> None:
        """Write a run of what is asked, or go on with an earlier one. The lock is that of a run that is there."""
        self._path = path
        self._asked = asked
        self._earlier = earlier
        self._lock = lock
        self._has_begun = earlier is not None
        self._has_kept = earlier is not None
        self._last = nothing_yet(asked) if earlier is None else earlier.outcome
        self._restricted_sha256 = None if earlier is None else earlier.restricted_sha256
        self._description = description(asked)
        self._shared: SharedPlace | None = None
        self._shards = ShardWriter(path, asked, () if earlier is None else earlier.shards)

    @classmethod
    def beginning(cls, path: Path, asked: Asked, *, overwrite: bool = False) -> RunWriter:
        """A run that there is nothing of yet."""
        require_writable(path, overwrite=overwrite)
        return cls(path, asked, None, Lock(path) if is_run(path) else None)

    @classmethod
    def going_on(cls, path: Path, asked: Asked, earlier: SavedRun, lock: Lock) -> RunWriter:
        """A run that was begun; its lock is held."""
        return cls(path, asked, earlier, lock)

    def __enter__(self) -> RunWriter:
        try:
            if self._earlier is not None:
                unfinished = replace(self._last, status=Status.UNFINISHED)
                self._keep(unfinished, keep_previous=not self._earlier.note)
                remove_others(self._path, self._earlier.shards)
            elif self._lock is None:
                self._begin()
        except BaseException as error:
            self._close(error)
            raise
        return self

    def write(self, columns: Columns) -> RowGroup:
        """Write regions that follow each other; what is returned says where they are."""
        self._require_begun()
        return self._shards.write(columns)

    def shared(self) -> SharedPlace | None:
        """The directory, for jobs that reach it; not before the run was begun."""
        if self._shared is None and self._has_begun:
            self._shared = share(self._path, self._asked.domain)
        return self._shared

    def adopt(self, kept: dict[str, Any], regions: Sequence[int]) -> list[RowGroup]:
        """Take shards that a job has written here."""
        shards, groups = told_shards(self._path, kept, regions)
        first = self._shards.adopt(shards)
        return [RowGroup(first + group.shard, group.group) for group in groups]

    def checkpoint(self, so_far: Outcome) -> None:
        """From here on the walk can go on where it stands now."""
        self._require_begun()
        self._shards.close()
        whole = self._with_earlier(so_far)
        certificate = replace(whole.certificate, complete=False)
        self._keep(replace(whole, status=Status.UNFINISHED, certificate=certificate))

    def finish(self, outcome: Outcome) -> SavedRun:
        """The walk has ended. Of a count that went beyond its limit, the last checkpoint is kept, to go on from."""
        self._require_begun()
        self._shards.close()
        whole = self._with_earlier(outcome)
        goes_on_from_last = whole.open_work is None and not self._asked.regions
        self._keep(replace(self._last, status=whole.status) if goes_on_from_last else whole)
        if self._shared is not None:
            share_no_longer(self._path)
            remove_others(self._path, self._shards.shards)
        return SavedRun(self._asked, whole, tuple(self._shards.shards))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close(error)

    def _close(self, error: BaseException | None) -> None:
        self._shards.discard()
        if self._shared is not None:
            with suppress(OSError):
                share_no_longer(self._path)
        if self._has_begun and not self._has_kept and isinstance(error, AffineLensError):
            shutil.rmtree(self._path, ignore_errors=True)  # refused before anything was found
        if self._lock is not None:
            self._lock.release()
        if isinstance(error, OSError):
            raise self._not_written(error) from error

    def _require_begun(self) -> None:
        if not self._has_begun:
            self._begin()

    def _begin(self) -> None:
        """Make the directory beside its place and move it there."""
        parent = self._path.resolve().parent
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=".affinelens-"))
        try:
            write_network(folder, self._asked)
            write_manifest(folder, self._description | how_far(self._asked, self._last, ()))
            folder.chmod(0o755)
            if self._lock is None:
                self._move_to_free_place(folder)
            else:
                move_into_place(folder, self._path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        replaced, self._lock = self._lock, Lock(self._path)
        self._has_begun = True
        if replaced is not None:
            replaced.release()
        sync_folder(parent)

    def _move_to_free_place(self, folder: Path) -> None:
        try:
            folder.replace(self._path)
        except OSError:
            require_writable(self._path)  # somebody else may have been quicker
            raise

    def _with_earlier(self, later: Outcome) -> Outcome:
        """What was found before, and what is found now."""
        if self._earlier is None:
            return later
        earlier = self._earlier.outcome
        whole = earlier.then(later)
        if later.engine == AUTO:  # the time was up before an engine was chosen
            whole = replace(whole, engine=earlier.engine, switching=earlier.switching)
        if earlier.chunks and not same_switching(earlier.switching, whole.switching):
            raise AffineLensError(
                f"{self._path}: other units switch on the domain now than when it was begun; begin it again"
            )
        return whole

    def _keep(self, outcome: Outcome, *, keep_previous: bool = True) -> None:
        if outcome.switching is not None and self._last.switching is None:
            write_switching(self._path, outcome.switching)
        if outcome.restricted is not None and self._restricted_sha256 is None:
            self._restricted_sha256 = write_restricted(self._path, outcome.restricted)
        entries = self._description | how_far(self._asked, outcome, self._shards.shards, self._restricted_sha256)
        write_manifest(self._path, entries, keep_previous=keep_previous)
        self._last = outcome
        self._has_kept = True

    def _not_written(self, error: OSError) -> AffineLensError:
        if not self._has_begun:
            return not_saved(self._path, error)
        kept = f"{counted(self._last.regions, 'region')} of the last checkpoint are kept"
        return AffineLensError(
            f"{self._path}: could not be written any more ({error.strerror or error}); {kept}: free some space, then "
            f"go on with: {command_to_go_on(self._path)}"
        )


def command_to_go_on(path: str | Path) -> str:
    """What to say on the command line to go on with a run."""
    return f"affinelens resume {shlex.quote(str(path))}"


def write_network(folder: Path, asked: Asked) -> None:
    """Write the numbers of the network, whose structure is in the manifest."""
    write_npz(folder / NETWORK, network_to_data(asked.network)[1])
