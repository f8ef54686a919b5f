"""All regions of one walk, as columns: the core that measures and pictures are functions of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast, overload

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Bools, Floats, Indices, Patterns
from affinelens.domain import Domain
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.regions.keeping import Results
from affinelens.regions.local_view import LocalRegions
from affinelens.regions.region import Region
from affinelens.regions.region_vertices import known_vertices
from affinelens.regions.subset import one_row, row_or_rows, selected_outcome
from affinelens.short_text import counted
from affinelens.walk import Certificate, ColumnView, Facets, Outcome, Status
from affinelens.walk.hyperplanes import Hyperplanes

# Patterns are written out for whole networks up to this many bytes.
_LARGEST_PATTERNS = 4 * 2**30


class Regions:
    """The regions of a network on a domain, as a walk found them; no property here walks.

    Attributes
    ----------
    network : Network
        Whose regions they are.
    domain : Domain
        Where they lie.
    outcome : Outcome
        What the walk returned.
    options : dict
        What it was asked for, as plain data.
    note : str
        What there is to know about how it was loaded: that its last checkpoint is damaged. Empty as a rule.

    Notes
    -----
    What functions of the set find stays with it (:mod:`affinelens.regions.keeping`), so that nothing is computed twice.
    """

    def __init__(
        self, network: Network, domain: Domain, outcome: Outcome, options: dict[str, Any], note: str = ""
    ) -> None:
        self.network = network
        self.domain = domain
        self.outcome = outcome
        self.options = options
        self.note = note
        self._results: Results = {}

    @property
    def status(self) -> Status:
        """How the walk ended, a :class:`Status`; ``print(rs.status)`` says it in a sentence."""
        return self.outcome.status

    @property
    def certificate(self) -> Certificate:
        """How the verdicts were reached and what they prove, a :class:`Certificate`."""
        return self.outcome.certificate

    @property
    def engine(self) -> str:
        """The name of the engine that found the regions."""
        return self.outcome.engine

    @property
    def seconds(self) -> float:
        """How long the walk took, in seconds."""
        return self.outcome.seconds

    @property
    def layer_counts(self) -> tuple[int, ...]:
        """The paper's R_1 .. R_L: how many cells the first l stages make; the last is the number of regions."""
        return self.outcome.layer_counts

    @property
    def share(self) -> float | None:
        """How much of the domain's volume the regions cover: 1 if the set is complete, None if that is not known."""
        return 1.0 if self.status is Status.COMPLETE else self.outcome.share

    @cached_property
    def points(self) -> Floats:
        """An interior point a region, in input coordinates: float64 of shape (regions, inputs).

        Of a large set on disk (:func:`affinelens.load`), what stands for the array: rows are read when they are looked
        at; so are those of :attr:`patterns`.
        """
        frame, source = self.domain.frame, self.outcome.source
        if source is None:
            return frame.to_inputs(self.outcome.points)
        points, shape = source.points, (len(self), self.network.input_size)
        return cast(
            Floats, ColumnView(shape, points.dtype, lambda rows: frame.to_inputs(points[rows]), source.rows_at_once)
        )

    @property
    def local(self) -> LocalRegions:
        """Points and vertices in the domain's own coordinates: those of a slice, or the inputs that are not fixed."""
        return LocalRegions(self)

    @property
    def patterns(self) -> Patterns:
        """Which piece each unit is on, stages in order: unsigned integers of shape (regions, choices).

        Of a large network, only the columns of :attr:`switching` differ between regions; see
        :attr:`switching_patterns`.

        Raises
        ------
        AffineLensError
            If they would take more than 4 GiB.
        """
        switching, source = self.outcome.switching, self.outcome.source
        if switching is None:
            return self.outcome.patterns
        if source is not None:
            stored, shape = source.patterns, (len(self), len(switching.pattern))
            whole = ColumnView(shape, stored.dtype, lambda rows: switching.whole(stored[rows]), source.rows_at_once)
            return cast(Patterns, whole)
        size = len(self.outcome.patterns) * switching.pattern.nbytes
        if size > _LARGEST_PATTERNS:
            raise AffineLensError(
                f"the patterns of {len(self)} regions over {len(switching.pattern)} choices would take "
                f"{size / 2**30:.0f} GiB; use switching_patterns, which leaves out what is the same in all regions, or "
                f"the pattern of one"
            )
        return switching.whole(self.outcome.patterns)

    @property
    def switching(self) -> Indices:
        """The columns of :attr:`patterns` that can differ between regions, as int64; all others are proved constant."""
        if self.outcome.switching is None:
            return np.arange(self.network.choice_offsets[-1])
        return self.outcome.switching.choices

    @property
    def switching_patterns(self) -> Patterns:
        """The columns :attr:`switching` of the patterns, which is all that is stored of them.

        Unsigned integers of shape (regions, switching choices).
        """
        return self.outcome.patterns

    def pattern(self, index: int) -> Patterns:
        """The pattern of one region, over all of the network's choices: unsigned integers of shape (choices,).

        Parameters
        ----------
        index
            The region's row.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.pattern(1)
        array([1, 0], dtype=uint8)
        """
        return self.outcome.pattern(one_row(index, len(self)))

    @property
    def facet_values(self) -> Indices:
        """Hyperplane numbers of all facets; region i's are from ``facet_offsets[i]`` to ``facet_offsets[i + 1]``.

        int64 of shape (facets,); :meth:`describe_hyperplane` says what a number stands for.

        Raises
        ------
        AffineLensError
            If the set was made with ``facets=False``; so do :attr:`facet_signs` and :attr:`facet_offsets`.
        """
        return self.facets.numbers

    @property
    def facet_signs(self) -> NDArray[np.int8]:
        """On which side of each of :attr:`facet_values` its region lies, 1 or -1: int8 of shape (facets,)."""
        return self.facets.signs

    @property
    def facet_offsets(self) -> Indices:
        """Where each region's facets begin in :attr:`facet_values`: int64 of shape (regions + 1,)."""
        return self.facets.offsets

    @property
    def facets(self) -> Facets:
        """The facets of all regions, as they were found: their numbers, signs and offsets in one object."""
        facets = self.outcome.table.facets if self.outcome.has_facets else None
        if facets is None:
            raise AffineLensError("this set was made without facets; enumerate with facets=True to have them")
        return facets

    @property
    def vertex_values(self) -> Floats:
        """All vertices in input coordinates; region i's are from ``vertex_offsets[i]`` to ``vertex_offsets[i + 1]``.

        float64 of shape (vertices, inputs). They are here if they were asked for with ``vertices=True``, and after
        :meth:`RegionSet.vertices`.

        Raises
        ------
        AffineLensError
            If they were not found yet; so does :attr:`vertex_offsets`.
        """
        return self.domain.frame.to_inputs(known_vertices(self).points)

    @property
    def vertex_offsets(self) -> Indices:
        """Where each region's vertices begin in :attr:`vertex_values`: int64 of shape (regions + 1,)."""
        return known_vertices(self).offsets

    @cached_property
    def hyperplanes(self) -> Hyperplanes:
        """What the numbers of hyperplanes stand for: first the domain's constraints, then the units' breaks."""
        return Hyperplanes(self.network, self.domain.frame)

    def describe_hyperplane(self, number: int) -> str:
        """A hyperplane in words: a constraint of the domain or a unit of the network.

        Parameters
        ----------
        number
            One of :attr:`facet_values`.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> [rs.describe_hyperplane(number) for number in rs[2].facet_numbers]
        ['domain, x[0] <= 1', 'stage 1, unit 1']
        """
        frame = self.domain.frame
        if not 0 <= number < len(self.hyperplanes):
            raise AffineLensError(
                f"there is no hyperplane {number!r:.40}; they are numbered from 0 to {len(self.hyperplanes) - 1}"
            )
        if number < self.hyperplanes.domain_count:
            return f"domain, {self.domain.describe_constraint(frame.constraints[number])}"
        return self.network.describe_break(number - self.hyperplanes.domain_count)

    def __len__(self) -> int:
        return self.outcome.regions

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | Indices | Bools) -> Self: ...
    def __getitem__(self, index: int | slice | Sequence[int] | Indices | Bools) -> Region | Self:
        chosen = row_or_rows(index, len(self))
        if isinstance(chosen, int):
            return Region(self, chosen)
        return type(self)(self.network, self.domain, selected_outcome(self, chosen), self.options, self.note)

    def __iter__(self) -> Iterator[Region]:
        return (Region(self, i) for i in range(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: the regions, without what was computed of them."""
        outcome = replace(self.outcome, columns=self.outcome.table)
        return {
            "network": self.network,
            "domain": self.domain,
            "outcome": outcome,
            "options": self.options,
            "note": self.note,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _results={})

    def __repr__(self) -> str:
        name, size, dim = type(self).__name__, counted(len(self), "region"), self.domain.dim
        return f"{name}({size}, {self.status.name}, dimension {dim}, by {self.engine})"
