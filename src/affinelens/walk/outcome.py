"""What a walk returns: the regions, how it ended, how its verdicts were proved, and what work is left open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, cast

from affinelens.array_types import Floats, Indices, Patterns
from affinelens.restrict import RestrictedNetwork, SwitchingChoices
from affinelens.walk.certificate import Certificate
from affinelens.walk.column_source import ColumnSource, Rows
from affinelens.walk.columns import Columns
from affinelens.walk.job import Job, Place
from affinelens.walk.status import Status


class Chunk(NamedTuple):
    """Regions that follow each other, and what the sink made of them.

    Chunks sorted by ``place`` and ``number`` have all regions in their order, also those of several walks that went on
    with each other's open work.
    """

    place: Place
    number: int
    regions: int
    made: Any


def in_order(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """Chunks by the order of their regions."""
    return tuple(sorted(chunks, key=lambda chunk: chunk[:2]))


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a walk ended and what it found.

    ``columns`` holds the regions, or says how to have them if they went elsewhere or are in parts; of a
    :class:`ColumnSource`, only what is looked at is read. ``chunks`` is what
    the sink made of them, in order. ``share`` is how much of the domain's volume the regions cover, if known.
    ``switching`` says which choices patterns are stored for, if not for all, and ``restricted`` is the network on the
    domain, if it was restricted. ``open_work`` is what a stopped walk has left: none if it is complete, and None if it
    cannot be gone on with (a count that went beyond its limit).
    """

    engine: str
    status: Status
    certificate: Certificate
    layer_counts: tuple[int, ...]
    seconds: float
    columns: Columns | Callable[[], Columns]
    chunks: tuple[Chunk, ...] = ()
    share: float | None = None
    switching: SwitchingChoices | None = None
    restricted: RestrictedNetwork | None = None
    open_work: tuple[Job, ...] | None = ()

    def then(self, later: Outcome) -> Outcome:
        """This walk, and one that went on with some of its open work, as one; what is open is left as the later's."""
        return replace(
            later,
            certificate=replace(self.certificate + later.certificate, complete=later.certificate.complete),
            layer_counts=tuple(a + b for a, b in zip(self.layer_counts, later.layer_counts, strict=True)),
            seconds=self.seconds + later.seconds,
            chunks=in_order([*self.chunks, *later.chunks]),
            share=None if self.share is None or later.share is None else min(1.0, self.share + later.share),
        )

    @property
    def regions(self) -> int:
        return self.layer_counts[-1] if self.layer_counts else 0

    @cached_property
    def table(self) -> Columns:
        """The columns, read or put together if need be: all of them, in memory."""
        return self.columns if isinstance(self.columns, Columns) else self.columns()

    @property
    def source(self) -> ColumnSource | None:
        """Where the regions are, if there are too many to have them in memory; None if they are there."""
        return self.columns if isinstance(self.columns, ColumnSource) and "table" not in self.__dict__ else None

    @property
    def has_facets(self) -> bool:
        return self.table.facets is not None if self.source is None else self.source.has_facets

    @property
    def has_vertices(self) -> bool:
        return self.table.vertices is not None if self.source is None else self.source.has_vertices

    def taken(self, rows: Rows) -> Columns:
        """Some regions, in the order given."""
        if self.source is not None:
            return self.source.taken(rows)
        return self.table[rows] if isinstance(rows, slice) else self.table.taken(rows)

    @property
    def patterns(self) -> Patterns:
        """Patterns of all regions: an array or, of a source, what stands for one."""
        return self.table.patterns if self.source is None else cast(Patterns, self.source.patterns)

    def pieces(self, choices: Indices) -> Patterns:
        """The regions' pieces of some of the network's choices, whether patterns are stored for them or not."""
        return self.patterns[:, choices] if self.switching is None else self.switching.pieces(self.patterns, choices)

    def pattern(self, index: int | Indices) -> Patterns:
        """The pattern of a region, or of several, a row each, over all of the network's choices."""
        return self.patterns[index] if self.switching is None else self.switching.whole(self.patterns[index])

    @property
    def points(self) -> Floats:
        """Interior points of all regions: an array or, of a source, what stands for one."""
        return self.table.points if self.source is None else cast(Floats, self.source.points)

    def exact_point(self, index: int) -> tuple[Fraction, ...] | None:
        """The rational interior point of a region that is too thin to contain a float64 one."""
        if self.source is None:
            return self.table.exact_points.get(index)
        return self.source.taken(slice(index, index + 1)).exact_points.get(0)

    @property
    def exact_points(self) -> dict[int, tuple[Fraction, ...]]:
        if self.source is None:
            return self.table.exact_points
        return self.source.exact_points
