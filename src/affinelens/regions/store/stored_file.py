"""One file of regions of a large run, read a row group at a time; damage is noticed where it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from affinelens.errors import AffineLensError
from affinelens.files.saved_directory import plain_file_inside
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.shards import Shard, rows_of_groups

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet


class StoredFile:
    """A file of a run, as it was when the run was loaded.

    If its pages have checksums, these are compared whenever a page is read; otherwise the hash of the whole file is
    when it is first read.
    """

    def __init__(self, folder: Path, shard: Shard, asked: Asked) -> None:
        self._folder = folder
        self._shard = shard
        self._asked = asked
        self.path = plain_file_inside(folder.absolute(), shard.file)
        self._state = self._state_now()

    @cached_property
    def metadata(self) -> pyarrow.parquet.FileMetaData:
        """What the file's footer says."""
        import pyarrow.parquet as pq

        with self.reading():
            if not self._shard.checks_pages:
                self._shard.require_whole(self._folder)
            with pq.ParquetFile(self.path) as parquet:
                rows, names = rows_of_groups(parquet, self.path), parquet.schema_arrow.names
                if sum(rows) != self._shard.rows:
                    raise AffineLensError("it holds another number of regions than its manifest says")
                if (self._asked.facets, self._asked.vertices) != ("facets" in names, "vertices" in names):
                    raise AffineLensError("it has other columns than its manifest says")
                return parquet.metadata

    @cached_property
    def rows(self) -> list[int]:
        """How many regions are in each row group."""
        return [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.metadata.schema.to_arrow_schema().names)

    def read(self, group: int, columns: Sequence[str], *, use_threads: bool = True) -> pyarrow.Table:
        """Some columns of a row group."""
        import pyarrow.parquet as pq

        metadata = self.metadata
        with (
            self.reading(),
            pq.ParquetFile(self.path, metadata=metadata, page_checksum_verification=True) as parquet,
        ):
            return parquet.read_row_group(group, columns=list(columns), use_threads=use_threads)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Name the file in whatever goes wrong with it."""
        if self._state_now() != self._state:
            raise AffineLensError(
                f"{self._folder}: {self._shard.file} was changed since the run was loaded; load it again"
            )
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:  # it fails in many ways, and all of them mean the same here
            reason = " ".join(str(error).split())[:200]
            raise AffineLensError(
                f"{self._folder}: damaged run: {self._shard.file} cannot be read ({reason})"
            ) from None

    def _state_now(self) -> tuple[int, ...]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise AffineLensError(
                f"{self._folder}: {self._shard.file} cannot be read any more ({error.strerror})"
            ) from None
        return found.st_ino, found.st_size, found.st_mtime_ns
