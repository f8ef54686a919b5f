"""The regions of a large run, read from its files when they are looked at."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Indices, Patterns
from affinelens.errors import AffineLensError
from affinelens.files.saved_directory import plain_file_inside
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.constant_bits import ConstantBits
from affinelens.regions.store.matching_rows import WantedRows
from affinelens.regions.store.pattern_bits import bits_for, packed
from affinelens.regions.store.shards import WHOLE_SHARD, RowGroup, Shard
from affinelens.regions.store.stored_file import StoredFile
from affinelens.restrict import SwitchingChoices
from affinelens.walk import Chunk, Columns, ColumnSource, ColumnView, Rows

if TYPE_CHECKING:
    import pyarrow

Read = TypeVar("Read")

# Runs whose files take so many bytes are not read into memory when they are loaded.
LARGE_RUN = 50 * 2**20
# How many regions are read at once at most, and how many numbers their patterns may take.
_ROWS_AT_ONCE = 1 << 16
_PATTERN_NUMBERS = 1 << 23
# What was read last is kept, up to so many bytes: of columns as they are in files, and as arrays.
_KEPT_BYTES = 1 << 25
_THREADS = 4
# Patterns that are looked for are compared with what is known of a row group so many at a time.
_PATTERNS_AT_ONCE = 1 << 12


class _Part(NamedTuple):
    """Regions that are read at once: the place of a row group among all, and a run of its rows."""

    group: int
    rows: slice


class StoredRegions(ColumnSource):
    """Regions in the order of their chunks, which are row groups of files."""

    def __init__(
        self,
        folder: Path,
        shards: Sequence[Shard],
        chunks: Sequence[Chunk],
        asked: Asked,
        switching: SwitchingChoices | None,
    ) -> None:
        self._asked = asked
        self._switching = switching
        self._choices = int(asked.network.choice_offsets[-1]) if switching is None else len(switching.choices)
        self._files = [StoredFile(folder, shard, asked) for shard in shards]
        self.rows_at_once = max(1, min(_ROWS_AT_ONCE, _PATTERN_NUMBERS // max(self._choices, 1)))
        self.groups = [group for chunk in chunks for group in self._groups_of(RowGroup(*chunk.made))]
        rows = [count for chunk in chunks for count in self._rows_of(chunk)]
        self._group_starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        self._parts = [
            _Part(number, slice(start, min(start + self.rows_at_once, count)))
            for number, count in enumerate(rows)
            for start in range(0, count, self.rows_at_once)
        ]
        counts = [part.rows.stop - part.rows.start for part in self._parts]
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._tables, self._arrays = _LastRead(_KEPT_BYTES), _LastRead(_KEPT_BYTES)

    @staticmethod
    def suits(folder: Path, shards: Sequence[Shard]) -> bool:
        """Whether a run is so large that it had better not be read into memory."""
        return (
            bool(shards) and sum(plain_file_inside(folder, shard.file).stat().st_size for shard in shards) >= LARGE_RUN
        )

    def _groups_of(self, place: RowGroup) -> list[RowGroup]:
        if not 0 <= place.shard < len(self._files):
            raise AffineLensError("it has other chunks than its manifest says")
        if place.group != WHOLE_SHARD:
            return [place]
        return [RowGroup(place.shard, group) for group in range(len(self._files[place.shard].rows))]

    def _rows_of(self, chunk: Chunk) -> list[int]:
        shard, group = chunk.made
        return [chunk.regions] if group != WHOLE_SHARD else self._files[shard].rows

    @property
    def files(self) -> Sequence[StoredFile]:
        """The run's files; :attr:`groups` says in which of them and where each chunk is, in the regions' order."""
        return self._files

    @property
    def has_facets(self) -> bool:
        return self._asked.facets

    @property
    def has_vertices(self) -> bool:
        return self._asked.vertices

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def points(self) -> ColumnView:
        shape = (len(self), self._asked.domain.frame.dim)
        return ColumnView(shape, np.dtype(np.float64), lambda rows: self._read(rows, self._points), self.rows_at_once)

    @property
    def patterns(self) -> ColumnView:
        shape, kind = (len(self), self._choices), self._asked.network.pattern_type
        return ColumnView(shape, kind, lambda rows: self._read(rows, self._patterns), self.rows_at_once)

    @cached_property
    def exact_points(self) -> dict[int, tuple[Fraction, ...]]:
        return {
            start + i: point
            for k, start in enumerate(self._starts[:-1].tolist())
            for i, point in self._geometry(k)[0].items()
        }

    def taken(self, rows: Rows) -> Columns:
        if isinstance(rows, slice):
            parts = [self._columns(k)[inner] for k, inner in self._overlapping(rows)]
            return Columns.joined([self._none(), *parts])
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        parts = [self._columns(k).taken(inner) for k, inner in self._overlapping(ascending)]
        found = Columns.joined([self._none(), *parts])
        if np.array_equal(ascending, rows):
            return found
        places = np.empty(len(rows), dtype=np.int64)
        places[order] = np.arange(len(rows))
        return found.taken(places)

    def _none(self) -> Columns:
        return Columns.of_no_regions(
            self._choices,
            self._asked.domain.frame.dim,
            self._asked.network.pattern_type,
            facets=self.has_facets,
            vertices=self.has_vertices,
        )

    def _read(self, rows: Rows, column: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
        """A column of a run of regions, or of some in ascending order."""
        parts = [column(k)[inner] for k, inner in self._overlapping(rows)]
        if not parts:
            return self._none().points if column == self._points else self._none().patterns
        return np.concatenate(parts)  # also of a single one: what is kept is nobody's to change

    def _overlapping(self, rows: Rows) -> Iterator[tuple[int, Any]]:
        """The parts that regions are in, and which of the part's regions they are."""
        if isinstance(rows, slice):
            first = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
            for k in range(first, len(self._parts)):
                start, stop = int(self._starts[k]), int(self._starts[k + 1])
                if start >= rows.stop:
                    return
                yield k, slice(max(rows.start - start, 0), min(rows.stop, stop) - start)
            return
        which = np.searchsorted(self._starts, rows, side="right") - 1
        cuts = np.flatnonzero(np.diff(which, prepend=-1, append=-1))
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            k = int(which[low])
            yield k, rows[low:high] - self._starts[k]

    def _columns(self, k: int) -> Columns:
        return Columns(self._patterns(k), self._points(k), *self._geometry(k))

    def _points(self, k: int) -> NDArray[Any]:
        from affinelens.regions.store.arrow_table import point_column, points_from_table

        domain = self._asked.domain
        return self._decoded(k, [point_column(domain)], lambda table: points_from_table(table, domain))

    def _patterns(self, k: int) -> NDArray[Any]:
        from affinelens.regions.store.arrow_table import pattern_column, patterns_from_table

        names = [pattern_column(self._file(k).names)]
        return self._decoded(k, names, lambda t: patterns_from_table(t, self._asked.network, self._switching))

    def _geometry(self, k: int) -> Any:
        from affinelens.regions.store.arrow_table import GEOMETRY, geometry_from_table

        there = self._file(k).names
        names = [name for name in GEOMETRY if name in there or name == GEOMETRY[0]]
        return self._decoded(k, names, lambda t: geometry_from_table(t, self._asked.network, self._asked.domain))

    def _file(self, k: int) -> StoredFile:
        return self._files[self.groups[self._parts[k].group].shard]

    def _decoded(self, k: int, names: list[str], decode: Callable[[pyarrow.Table], Read]) -> Read:
        """What some columns of a part hold."""
        part, key = self._parts[k], tuple(names)

        def read() -> tuple[Read, int]:
            table = self._tables.get((part.group, key), lambda: _with_size(self._group(part.group, names)))
            own = table.slice(part.rows.start, part.rows.stop - part.rows.start)
            with self._file(k).reading():
                return decode(own), 4 * own.nbytes + len(own) * self._choices

        return self._arrays.get((k, key), read)

    def _group(self, number: int, names: list[str], *, use_threads: bool = True) -> pyarrow.Table:
        """Columns of a row group, by its place among all; it must have as many rows as the manifest says."""
        shard, group = self.groups[number]
        file = self._files[shard]
        rows = self._group_starts[number + 1] - self._group_starts[number]
        stated = file.rows
        with file.reading():
            if group >= len(stated) or stated[group] != rows:
                raise AffineLensError("it has other chunks than its manifest says")
        return file.read(group, names, use_threads=use_threads)

    def places(self, patterns: Patterns) -> Indices:
        """Read the patterns of those row groups that may hold one of the given; much else is known not to."""
        bits = bits_for(self._asked.network)
        if not len(patterns) or not self._choices:
            return np.full(len(patterns), 0 if len(self) else -1, dtype=np.int64)
        wanted, which = np.unique(packed(patterns, bits), axis=0, return_inverse=True)
        rows = WantedRows(wanted)
        by_file: dict[int, list[int]] = {}
        for number, group in enumerate(self.groups):
            by_file.setdefault(group.shard, []).append(number)
        found = np.full(len(wanted), np.iinfo(np.int64).max)
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
            for here in threads.map(lambda numbers: self._places_in_file(numbers, wanted, rows), by_file.values()):
                np.minimum(found, np.where(here < 0, found, here), out=found)
        result: Indices = np.where(found < len(self), found, -1)[which.ravel()]
        return result

    def _places_in_file(self, numbers: list[int], wanted: NDArray[np.uint8], rows: WantedRows) -> Indices:
        """Where wanted patterns are in some row groups of a file, which are given by their places among all."""
        from affinelens.regions.store.arrow_table import pattern_bytes_from_table, pattern_column

        file = self._files[self.groups[numbers[0]].shard]
        names = [pattern_column(file.names)]
        known = ConstantBits.from_metadata(file.metadata.metadata, len(file.rows), wanted.shape[1])
        found = np.full(len(wanted), -1, dtype=np.int64)
        for number in numbers:
            group = self.groups[number].group
            if known is not None and group < len(known) and not _may_hold(known[group], wanted):
                continue
            table = self._group(number, names, use_threads=False)
            with file.reading():
                own = pattern_bytes_from_table(table, self._asked.network, self._switching)
            rows.find(own, int(self._group_starts[number]), found)
        return found


def _with_size(table: pyarrow.Table) -> tuple[pyarrow.Table, int]:
    return table, table.nbytes


def _may_hold(known: ConstantBits, wanted: NDArray[np.uint8]) -> bool:
    parts = (wanted[start : start + _PATTERNS_AT_ONCE] for start in range(0, len(wanted), _PATTERNS_AT_ONCE))
    return any(bool(known.may_hold(part).any()) for part in parts)


class _LastRead:
    """What was read last, up to so many bytes; the last one always stays."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._found: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Any, read: Callable[[], tuple[Read, int]]) -> Read:
        """What is kept under a key, or is read."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            else:
                self._found[key] = read()
                self._bytes += self._found[key][1]
                while self._bytes > self._most and len(self._found) > 1:
                    _, (_, size) = self._found.popitem(last=False)
                    self._bytes -= size
            value: Read = self._found[key][0]
            return value
