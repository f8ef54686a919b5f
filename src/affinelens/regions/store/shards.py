"""Files of regions: chunks are row groups of Parquet files of bounded size, and a finished file never changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from affinelens.errors import AffineLensError
from affinelens.files.durable import sync_file
from affinelens.files.saved_directory import plain_file_inside
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.constant_bits import ConstantBits
from affinelens.regions.store.pattern_bits import bits_for
from affinelens.restrict import SwitchingChoices
from affinelens.walk import Chunk, Columns

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

SHARD_ROWS = 1_000_000
# A file is full as well when it has so many bytes, before compression.
SHARD_BYTES = 1 << 30
# In place of a row group: all of them, as in runs of format version 1.
WHOLE_SHARD = -1
_NAME = "regions-{:05d}.parquet"
_ALL_NAMES = "regions-*.parquet"
_SMALL_ENOUGH = 64 * 2**20
_LARGEST_RATIO = 1000


class RowGroup(NamedTuple):
    """Where a chunk is: the place of a shard among all, and a row group of it."""

    shard: int
    group: int


@dataclass(frozen=True)
class Shard:
    """A finished file: its name, how many regions it has, and the hash of its bytes."""

    file: str
    rows: int
    sha256: str
    # Whether damage is noticed where it is read, so that the whole need not be read for that.
    checks_pages: bool = False

    def require_whole(self, folder: Path) -> Path:
        """The file, which must be what it was."""
        file = plain_file_inside(folder, self.file)
        if sha256(file) != self.sha256:
            raise AffineLensError(f"{file.name} does not match the hash in its manifest")
        return file


class ShardWriter:
    """Writes chunks one after another, and begins another file when one is full.

    The file that is written to is among the ``shards``, but what is said of it there is true when it was closed.
    """

    def __init__(
        self, folder: Path, asked: Asked, shards: Iterable[Shard] = (), names: Iterator[str] | None = None
    ) -> None:
        self.folder = folder
        self.shards = list(shards)
        self._domain = asked.domain
        self._bits = bits_for(asked.network)
        self._names = _free_names({shard.file for shard in self.shards}) if names is None else names
        self._number = 0
        self._file: Path | None = None
        self._stream: pyarrow.OSFile | None = None
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._rows = self._bytes = self._groups = 0
        self._constant: list[ConstantBits] = []

    def write(self, columns: Columns) -> RowGroup:
        """Write a chunk."""
        from affinelens.regions.store.arrow_table import columns_to_table

        table = columns_to_table(columns, self._domain, bits=self._bits)
        if self._writer is not None and not self._writer.schema.equals(table.schema):
            self.close()
        if self._writer is None:
            self._writer = self._opened(table.schema)
        self._writer.write_table(table, row_group_size=max(len(table), 1))
        place = RowGroup(self._number, self._groups)
        self._constant.append(ConstantBits.of(table))
        self._rows += len(table)
        self._bytes += table.nbytes
        self._groups += 1
        if self._rows >= SHARD_ROWS or self._bytes >= SHARD_BYTES:
            self.close()
        return place

    def adopt(self, shards: Sequence[Shard]) -> int:
        """Take finished files of others; returns the place of the first among all."""
        self.shards += shards
        return len(self.shards) - len(shards)

    def _opened(self, schema: pyarrow.Schema) -> pyarrow.parquet.ParquetWriter:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._file = self.folder / next(self._names)
        self._stream = pa.OSFile(str(self._file), "wb")
        self._number = len(self.shards)
        self.shards.append(Shard(self._file.name, 0, ""))
        return pq.ParquetWriter(
            self._stream, schema, compression="zstd", use_dictionary=False, write_statistics=False,
            write_page_checksum=True, column_encoding=encodings(schema),
        )  # fmt: skip

    def close(self) -> None:
        """Finish the file that is written to, if any: from here on it is on the disk."""
        if self._writer is None or self._file is None or self._stream is None:
            return
        self._writer.add_key_value_metadata(ConstantBits.to_metadata(self._constant))
        self._writer.close()
        self._stream.close()
        sync_file(self._file)
        self.shards[self._number] = Shard(self._file.name, self._rows, sha256(self._file), checks_pages=True)
        self._writer = self._file = self._stream = None
        self._rows = self._bytes = self._groups = 0
        self._constant = []

    def discard(self) -> None:
        """Give up the file that is written to, if any."""
        if self._writer is not None:
            self._writer.is_open = False  # it would try to finish the file, which may be what fails
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
        self._writer = self._file = self._stream = None


def encodings(schema: pyarrow.Schema) -> dict[str, str]:
    """How columns are written that are not written plainly: of coordinates, bytes of the same weight together.

    That is smaller by a tenth, and read several times faster.
    """
    names = (("point", 1), ("coordinates", 1), ("vertices", 2))
    return {name + ".list.element" * depth: "BYTE_STREAM_SPLIT" for name, depth in names if name in schema.names}


def _free_names(taken: set[str]) -> Iterator[str]:
    """Names for further files."""
    number = len(taken)
    while True:
        name = _NAME.format(number)
        if name not in taken:
            yield name
        number += 1


def remove_others(folder: Path, shards: Iterable[Shard]) -> None:
    """Remove the files of regions that a walk left behind without a word in the manifest."""
    named = {shard.file for shard in shards}
    for file in folder.glob(_ALL_NAMES):
        if file.name not in named:
            file.unlink()


def read_chunks(
    folder: Path, shards: Sequence[Shard], chunks: Sequence[Chunk], asked: Asked, switching: SwitchingChoices | None
) -> Columns:
    """The regions of chunks in the order given."""
    choices = int(asked.network.choice_offsets[-1]) if switching is None else len(switching.choices)
    none = Columns.of_no_regions(
        choices, asked.domain.dim, asked.network.pattern_type, facets=asked.facets, vertices=asked.vertices
    )
    found: dict[RowGroup, Columns] = {}
    for number, shard in enumerate(shards):
        columns, rows = _read_shard(shard.require_whole(folder), asked, switching)
        if len(columns) != shard.rows:
            raise AffineLensError(f"{shard.file} holds another number of regions than its manifest says")
        if (columns.facets is None, columns.vertices is None) != (none.facets is None, none.vertices is None):
            raise AffineLensError(f"{shard.file} has other columns than its manifest says")
        found[RowGroup(number, WHOLE_SHARD)] = columns
        start = 0
        for group, count in enumerate(rows):
            found[RowGroup(number, group)] = columns[start : start + count]
            start += count
    parts = [found.get(chunk.made) for chunk in chunks]
    if any(part is None or len(part) != chunk.regions for part, chunk in zip(parts, chunks, strict=True)):
        raise AffineLensError("it has other chunks than its manifest says")
    return Columns.joined([none, *(part for part in parts if part is not None)])


def _read_shard(file: Path, asked: Asked, switching: SwitchingChoices | None) -> tuple[Columns, list[int]]:
    """A file's regions, and how many of them are in each row group."""
    import pyarrow.parquet as pq

    from affinelens.regions.store.arrow_table import columns_from_table

    with pq.ParquetFile(file) as parquet:
        rows = rows_of_groups(parquet, file)
        table = parquet.read()
    return columns_from_table(table, asked.network, asked.domain, switching), rows


def rows_of_groups(parquet: pyarrow.parquet.ParquetFile, file: Path) -> list[int]:
    """How many rows are in each of a file's row groups; one that would fill the memory when it is read is refused."""
    groups: list[Any] = [parquet.metadata.row_group(i) for i in range(parquet.metadata.num_row_groups)]
    unpacked = sum(group.total_byte_size for group in groups)
    if unpacked > max(_SMALL_ENOUGH, _LARGEST_RATIO * file.stat().st_size):
        raise AffineLensError(f"{file.name} would unpack to {unpacked} bytes, far more than it holds")
    return [group.num_rows for group in groups]


def stored_columns(file: Path) -> set[str]:
    """The names of a file's columns."""
    import pyarrow.parquet as pq

    return set(pq.read_schema(file).names)


def sha256(file: Path) -> str:
    """The hash of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
