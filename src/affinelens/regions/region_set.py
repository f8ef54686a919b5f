"""All regions of one enumeration, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import ArrayLike, NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import stack_rows
from affinelens.domain import Domain
from affinelens.engine import Certificate, Facets, Outcome, Status, Vertices
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network.adjoint import Adjoint
from affinelens.regions.corners import corners
from affinelens.regions.local import LocalRegions
from affinelens.regions.locate import located, located_coordinates
from affinelens.regions.neighbors import Neighbors
from affinelens.regions.pattern_table import PatternTable
from affinelens.regions.region import Region
from affinelens.regions.summary import as_html, summary
from affinelens.restrict import SwitchingPart, restrict

if TYPE_CHECKING:
    import networkx
    import pandas
    import pyarrow

    from affinelens.measure.adjacency import Adjacency
    from affinelens.measure.audit import AuditReport
    from affinelens.measure.boundary_distance import Distance, Distances
    from affinelens.measure.bounds import RegionBounds
    from affinelens.measure.decision import Decision
    from affinelens.measure.decision_boundary import DecisionBoundary
    from affinelens.measure.linear_regions import LinearRegions
    from affinelens.measure.output_range import OutputRange
    from affinelens.measure.regularity import Regularity

Floats = NDArray[np.float64]
# Patterns are written out for whole networks up to this many bytes.
_LARGEST_PATTERNS = 4 * 2**30


class RegionSet:
    """The regions of a network on a domain.

    Columns come first: ``points``, ``patterns``, facets as values with offsets (``facet_values``, ``facet_offsets``),
    and on request vertices likewise (``vertex_values``, ``vertex_offsets``). ``rs[i]`` and iteration give
    :class:`Region` views of single rows. Points and vertices are inputs; ``rs.local`` has them in the domain's own
    coordinates.
    """

    def __init__(self, network: Network, domain: Domain, outcome: Outcome, options: dict[str, Any]) -> None:
        self.network = network
        self.domain = domain
        self.outcome = outcome
        self.options = options
        self._boundaries: dict[Decision, DecisionBoundary] = {}
        self._measured: dict[str, NDArray[Any]] = {}

    @property
    def status(self) -> Status:
        """How the walk ended; ``print(rs.status)`` says it in a sentence."""
        return self.outcome.status

    @property
    def certificate(self) -> Certificate:
        """How the verdicts were reached and what they prove."""
        return self.outcome.certificate

    @property
    def engine(self) -> str:
        return self.outcome.engine

    @property
    def seconds(self) -> float:
        """How long the walk took."""
        return self.outcome.seconds

    @property
    def layer_counts(self) -> tuple[int, ...]:
        """The paper's R_1 .. R_L: how many cells the first l stages make."""
        return self.outcome.layer_counts

    @cached_property
    def points(self) -> Floats:
        """An interior point a region, in input coordinates."""
        return self.domain.frame.to_inputs(self.outcome.points)

    @property
    def local(self) -> LocalRegions:
        """Points and vertices in the domain's own coordinates: those of a slice, or the inputs that are not fixed."""
        return LocalRegions(self)

    @property
    def patterns(self) -> NDArray[np.unsignedinteger[Any]]:
        """A row a region: which piece each unit is on, stages in order.

        Of a large network, only the columns of :attr:`switching` differ between regions; see
        :attr:`switching_patterns`.
        """
        switching = self.outcome.switching
        if switching is None:
            return self.outcome.patterns
        size = len(self.outcome.patterns) * switching.pattern.nbytes
        if size > _LARGEST_PATTERNS:
            raise AffineLensError(
                f"the patterns of {len(self)} regions over {len(switching.pattern)} choices would take "
                f"{size / 2**30:.0f} GiB; use switching_patterns, which leaves out what is the same in all regions, or "
                f"the pattern of one"
            )
        return switching.whole(self.outcome.patterns)

    @property
    def switching(self) -> NDArray[np.int64]:
        """The columns of :attr:`patterns` that can differ between regions; all others are proved to be constant."""
        if self.outcome.switching is None:
            return np.arange(self.network.choice_offsets[-1])
        return self.outcome.switching.choices

    @property
    def switching_patterns(self) -> NDArray[np.unsignedinteger[Any]]:
        """The columns :attr:`switching` of the patterns, which is all that is stored of them."""
        return self.outcome.patterns

    def pattern(self, index: int) -> NDArray[np.unsignedinteger[Any]]:
        """The pattern of one region."""
        switching, stored = self.outcome.switching, self.outcome.patterns[index]
        return stored if switching is None else switching.whole(stored)

    @property
    def share(self) -> float | None:
        """How much of the domain's volume the regions cover: 1 if the set is complete, None if that is not known."""
        return 1.0 if self.status is Status.COMPLETE else self.outcome.share

    @property
    def _facets(self) -> Facets:
        facets = self.outcome.table.facets
        if facets is None:
            raise AffineLensError("this set was made without facets; enumerate with facets=True to have them")
        return facets

    @property
    def facet_values(self) -> NDArray[np.int64]:
        """Hyperplane numbers of all facets; region i's are from ``facet_offsets[i]`` to ``facet_offsets[i + 1]``."""
        return self._facets.numbers

    @property
    def facet_offsets(self) -> NDArray[np.int64]:
        return self._facets.offsets

    @property
    def vertex_values(self) -> Floats:
        """All vertices in input coordinates; region i's are from ``vertex_offsets[i]`` to ``vertex_offsets[i + 1]``."""
        return self.domain.frame.to_inputs(self.local.vertex_values)

    @property
    def vertex_offsets(self) -> NDArray[np.int64]:
        return self.corners.offsets

    @cached_property
    def corners(self) -> Vertices:
        """The regions' vertices in the domain's own coordinates; found again if they were not kept."""
        return corners(self)

    def exact_halfspaces(self, index: int) -> ExactMatrix:
        """One region's minimal description in rationals: rows ``[W | b]`` of ``W t + b >= 0``, a row a facet."""
        frame, pattern = self.domain.frame, self.pattern(index)
        rows = []
        for number, sign in zip(self.facet_numbers(index).tolist(), self.facet_signs(index).tolist(), strict=True):
            if number < frame.rows.shape[0]:
                rows.append(frame.rows.rows([number]))
                continue
            stage, inner = self.network.locate_break(number - frame.rows.shape[0])
            row = self.adjoint.break_row(stage, inner, pattern)
            rows.append(ExactMatrix(fmpz_mat(1, len(row), [sign * a for a in row]), fmpz(1)))
        return stack_rows(rows)

    @cached_property
    def neighbor_values(self) -> NDArray[np.int64]:
        """The region beyond each facet, in the order of ``facet_values``; -1 on the domain's border.

        In an incomplete set it is -1 as well where the region beyond was not found.
        """
        return self._neighbors.beyond(np.arange(len(self._facets.numbers)))

    def neighbors(self, index: int) -> NDArray[np.int64]:
        """The region beyond each facet of one region, or -1."""
        return self._neighbors.beyond(np.arange(self.facet_offsets[index], self.facet_offsets[index + 1]))

    @cached_property
    def _neighbors(self) -> Neighbors:
        frame, table = self.domain.frame, self.outcome.table
        return Neighbors(
            self.network, frame, table, self._facets, self.outcome.switching, self._pattern_table,
            lambda: self.switching_part,
        )  # fmt: skip

    def places(self, switching_patterns: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int64]:
        """Where each of some patterns of the choices :attr:`switching` is in the set, or -1."""
        return self._pattern_table.places(switching_patterns)

    @cached_property
    def _pattern_table(self) -> PatternTable:
        return PatternTable(self.switching_patterns, self.most_pieces)

    @property
    def most_pieces(self) -> int:
        """How many pieces a choice of the network has at most."""
        return int(self.network.choice_pieces.max(initial=1))

    def adjacency(self) -> Adjacency:
        """Which regions share a facet, and which hyperplane lies between them: a sparse matrix, a row a region."""
        return self._adjacency

    @cached_property
    def _adjacency(self) -> Adjacency:
        from affinelens.measure.adjacency import adjacency

        return adjacency(self)

    def to_networkx(self) -> networkx.Graph[int]:
        """A graph with a node a region and an edge wherever two share a facet.

        Nodes have ``point``, ``facets`` (how many) and ``on_border`` (whether the domain bounds it); edges have
        ``hyperplane`` (its number) and ``unit`` (the same in words).
        """
        from affinelens.measure.adjacency import to_networkx

        return to_networkx(self)

    def linear_regions(self) -> LinearRegions:
        """The maximal connected unions of regions with the same affine map, compared exactly."""
        return self._linear_regions

    @cached_property
    def _linear_regions(self) -> LinearRegions:
        from affinelens.measure.linear_regions import linear_regions

        return linear_regions(self)

    def audit(self, *, samples: int = 1000, seed: int = 0) -> AuditReport:
        """Check everything again without the engine that found it; ``print`` the report, or see ``report.passed``."""
        from affinelens.measure.audit import audit

        return audit(self, samples=samples, seed=seed)

    @cached_property
    def adjoint(self) -> Adjoint:
        """The network's functions one at a time, in rational arithmetic."""
        return Adjoint(self.network, self.domain.frame.chart)

    @cached_property
    def switching_part(self) -> SwitchingPart:
        """The units that can switch on the domain."""
        kept, frame = self.outcome.kept, self.domain.frame
        return SwitchingPart(restrict(self.network, frame) if kept is None else kept, frame)

    def facet_numbers(self, index: int) -> NDArray[np.int64]:
        """Hyperplane numbers of one region's facets."""
        facets = self._facets
        return facets.numbers[facets.offsets[index] : facets.offsets[index + 1]]

    def facet_signs(self, index: int) -> NDArray[np.int8]:
        """On which side of each of its facets' hyperplanes a region lies."""
        facets = self._facets
        return facets.signs[facets.offsets[index] : facets.offsets[index + 1]]

    def describe_hyperplane(self, number: int) -> str:
        """A hyperplane by its number: a constraint of the domain or a unit of the network."""
        frame = self.domain.frame
        if number < frame.rows.shape[0]:
            return f"domain, {self.domain.describe_constraint(frame.constraints[number])}"
        return self.network.describe_break(number - frame.rows.shape[0])

    def exact_point(self, index: int) -> list[Fraction]:
        """An interior point of one region, in rationals and input coordinates."""
        chart = self.domain.frame.chart
        homogeneous = [*self[index].local.exact_point, Fraction(1)]
        return [
            sum((chart.entry(i, k) * homogeneous[k] for k in range(chart.shape[1])), Fraction(0))
            for i in range(chart.shape[0])
        ]

    def __len__(self) -> int:
        return self.outcome.regions

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> list[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | list[Region]:
        if isinstance(index, slice):
            return [Region(self, i) for i in range(*index.indices(len(self)))]
        position = int(index) + len(self) if index < 0 else int(index)
        if not 0 <= position < len(self):
            raise IndexError(f"there is no region {index}; there are {len(self)}")
        return Region(self, position)

    def __iter__(self) -> Iterator[Region]:
        return (Region(self, i) for i in range(len(self)))

    def locate(self, x: ArrayLike) -> Any:
        """The region that contains x: its index, or -1 where there is none.

        That is outside the domain or, in an incomplete set, where none was found.

        Takes one point or several (a row each; the answer is then an array). A point on a border is assigned to one
        of the regions that meet there, always the same one. On a slice, points may be inputs that lie on it (up to the
        rounding of computing them) or, where the two differ in number, slice coordinates.
        """
        return located(self, x)

    def locate_coordinates(self, coordinates: Floats) -> NDArray[np.int64]:
        """As :meth:`locate`, for points of the domain in its own coordinates."""
        return located_coordinates(self, coordinates, np.ones(len(coordinates), dtype=bool))

    def decision_boundary(self, *, output: int | None = None, threshold: float | None = None) -> DecisionBoundary:
        """Where the network's decision changes, exactly: the boundary's pieces, its measure and the classes' volumes.

        A network with several outputs decides for the largest one, and of equal ones for the first. With one output,
        or if ``output`` names one, the classes are 1 where it is above the threshold (0 unless given) and 0 elsewhere.
        In an incomplete set there is nothing to say about where regions are missing.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])], al.Box(-1, 1, dim=2))
        >>> boundary = rs.decision_boundary()  # |x0| - 0.5 = 0: two lines of length 2
        >>> len(boundary), boundary.measure, boundary.class_shares
        (2, 4.0, array([0.5, 0.5]))
        """
        from affinelens.measure.decision import Decision
        from affinelens.measure.decision_boundary import decision_boundary

        decision = Decision.of(self.network, output, threshold)
        if decision not in self._boundaries:
            self._boundaries[decision] = decision_boundary(self, decision)
        return self._boundaries[decision]

    def distance_to_boundary(
        self, x: ArrayLike, *, norm: str = "l2", output: int | None = None, threshold: float | None = None
    ) -> Distance | Distances:
        """How far an input is from where the decision changes within the domain, and the nearest point there.

        Takes one input or several (a row each; the answer then has columns), on a slice also slice coordinates, and the
        Euclidean norm ``"l2"`` or the maximum norm ``"linf"`` of a change to the inputs. The decision is that of
        :meth:`decision_boundary`.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])], al.Box(-1, 1, dim=2))
        >>> found = rs.distance_to_boundary([0.25, 0.0])
        >>> found.value, found.point
        (0.25, array([0.5, 0. ]))
        """
        return self.decision_boundary(output=output, threshold=threshold).distance(x, norm=norm)

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns that :meth:`column` computes, and what they hold."""
        from affinelens.measure.columns import DESCRIPTIONS

        return dict(DESCRIPTIONS)

    def column(self, name: str) -> NDArray[Any]:
        """A quantity of every region by its name, computed once; :attr:`columns` lists the names.

        On a slice, lengths, volumes and slopes are those of the slice's coordinates.
        """
        if name not in self._measured:
            from affinelens.measure.columns import compute_column

            self._measured.update(compute_column(self, name))
        return self._measured[name]

    def volumes(self) -> Floats:
        """The volume of every region, in the domain's own coordinates."""
        return self.column("volume")

    def lipschitz_constant(self, norm: str = "l2") -> float:
        """The network's local Lipschitz constant, in ``"l2"`` or ``"linf"``: its largest slope over the regions."""
        from affinelens.measure.lipschitz import lipschitz_constant

        return lipschitz_constant(self, norm)

    def output_ranges(self) -> list[OutputRange]:
        """The exact range of each output over the regions."""
        from affinelens.measure.output_range import output_ranges

        return output_ranges(self)

    def output_means(self) -> Floats:
        """The mean of each output over the regions."""
        from affinelens.measure.output_mean import output_means

        return output_means(self)

    def bounds(self) -> RegionBounds:
        """What theory says about how many regions such a network can have."""
        from affinelens.measure.bounds import region_bounds

        return region_bounds(self.network, self.domain.dim)

    def metrics(self) -> dict[str, float]:
        """Numbers that sum up the set, under names that stay the same; see :mod:`affinelens.measure.metrics`."""
        from affinelens.measure.metrics import metrics

        return metrics(self)

    def regularity(self) -> Regularity:
        """How much the partition of a plane looks like a grid; see :mod:`affinelens.measure.regularity`."""
        from affinelens.measure.regularity import regularity

        return regularity(self)

    def to_arrow(self, columns: Sequence[str] = ()) -> pyarrow.Table:
        """The set as an Arrow table, with the given :attr:`columns` behind."""
        from affinelens.measure.export import to_arrow

        return to_arrow(self, columns)

    def to_pandas(self, columns: Sequence[str] = ()) -> pandas.DataFrame:
        """A data frame with one row a region: its point, pattern and number of facets, then the given columns.

        The point is in inputs ``x0, x1, ...`` or, on a slice, in slice coordinates ``t0, t1, ...``. A column of
        :attr:`columns` with several numbers a region becomes one column each, as ``center_0, center_1, ...``.
        """
        from affinelens.measure.export import to_pandas

        return to_pandas(self, columns)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the set with matplotlib and return the axes: on ``ax``, or on a figure of their own, ``ax.figure``.

        In the plane (:func:`affinelens.plot.partition`) options are ``color`` (``"neighbors"``, ``"class"``,
        ``"volume"``, ``"gradient"``, ``"facets"``, ``"vertices"``, ``"output"``, ``"plain"`` or a number a region),
        ``boundary``, ``hyperplanes``, ``points`` and ``labels``, ``window`` and ``legend``. In space
        (:func:`affinelens.plot.solid`) they are ``color``, ``cut``, ``explode`` and ``legend``; on a line the
        function's graph is drawn (:func:`affinelens.plot.graph`).
        """
        from affinelens.plot import display

        return display(self, ax, **options)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the set as a run directory (Parquet and a JSON manifest) that :func:`affinelens.load` reads."""
        from affinelens.regions.run_directory import save

        return save(self, Path(path), overwrite=overwrite)

    def summary(self) -> dict[str, str]:
        """What the set is, as labels and short texts."""
        return summary(self)

    def __repr__(self) -> str:
        return f"RegionSet({len(self):,} regions, {self.status.name}, dimension {self.domain.dim}, by {self.engine})"

    def _repr_html_(self) -> str:
        return as_html(self.summary())
