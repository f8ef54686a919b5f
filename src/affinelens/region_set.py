"""RegionSet, the public front: the columns of a walk, and every measure and picture of them as a method."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.files.given_path import given_path
from affinelens.measure import (
    Adjacency,
    AuditReport,
    DecisionBoundary,
    Distance,
    Distances,
    LinearRegions,
    OutputRange,
    RegionBounds,
    Regularity,
    adjacency,
    audit,
    decision_boundary,
    linear_regions,
    lipschitz_constant,
    metrics,
    output_means,
    output_ranges,
    quantity,
    quantity_names,
    region_bounds,
    regularity,
    summary,
    to_arrow,
    to_batches,
    to_networkx,
    to_pandas,
)
from affinelens.progress_display import ProgressOption, shown
from affinelens.regions import Region, Regions, all_vertices, located, neighbor_values, region_at
from affinelens.regions.store.dataset import dataset
from affinelens.regions.store.run_directory import save
from affinelens.short_text import as_html

if TYPE_CHECKING:
    import networkx
    import pandas
    import pyarrow
    import pyarrow.dataset


class RegionSet(Regions):
    """The regions of a network on a domain.

    Columns come first: ``points``, ``patterns``, facets as values with offsets (``facet_values``, ``facet_offsets``),
    and on request vertices likewise (``vertex_values``, ``vertex_offsets``). ``rs[i]`` and iteration give
    :class:`Region` views of single rows; ``rs[2:5]``, ``rs[[1, 4]]`` and ``rs[rs.volumes() > 0.1]`` are sets of some of
    the regions. Points and vertices are inputs; ``rs.local`` has them in the domain's own coordinates.

    A property never walks the network again. A method may; what that costs is said there, and what was found is kept
    with the set, so that nothing is walked twice.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.enumerate([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=2))
    >>> rs
    RegionSet(4 regions, COMPLETE, dimension 2, by vertex)
    >>> rs.points.shape, rs.patterns.shape, rs.patterns.dtype
    ((4, 2), (4, 2), dtype('uint8'))
    >>> rs.facet_values[rs.facet_offsets[0] : rs.facet_offsets[1]]
    array([0, 2, 4, 5])
    """

    def locate(self, x: ArrayLike) -> Any:
        """The region that contains x: its index, or -1 where there is none.

        That is outside the domain or, in an incomplete set, where none was found. A point on a border is assigned to
        one of the regions that meet there, always the same one.

        Parameters
        ----------
        x
            One point, or several, a row each. On a slice, points may be inputs that lie on it (up to the rounding of
            computing them) or, where the two differ in number, slice coordinates.

        Returns
        -------
        int or numpy.ndarray
            One index, or an int64 array of as many as there are points.

        Notes
        -----
        Costs one evaluation of the units that can switch; the first call of a large network bounds them.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.locate([0.5]), rs.locate([[-0.5], [2.0]])
        (1, array([ 0, -1]))
        """
        return located(self, x)

    def at(self, x: ArrayLike) -> Region:
        """The region that contains a point; one of those that meet there, always the same, if it is on a border.

        Parameters
        ----------
        x
            One point, as :meth:`locate` takes it.

        Raises
        ------
        AffineLensError
            If no region contains the point; the message says where it lies.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.at([0.5]).affine
        (array([[1.]]), array([0.]))
        >>> rs.at([2.0])
        Traceback (most recent call last):
            ...
        affinelens.errors.AffineLensError: the point lies outside the domain: x[0] <= 1 does not hold; ...
        """
        return self[region_at(self, x)]

    def filter(
        self, column: str, *, at_least: float | None = None, at_most: float | None = None, equals: float | None = None
    ) -> RegionSet:
        """The regions for which a column is within bounds, as a set of their own.

        Parameters
        ----------
        column
            One of :attr:`columns` that has one number a region.
        at_least, at_most
            Bounds, which count as inside.
        equals
            The one value that is kept, such as a class.

        Returns
        -------
        RegionSet
            Its status is :attr:`Status.SELECTION`. Measures of it are those of the selected regions.

        Notes
        -----
        Costs what :meth:`column` says. Any other condition is a mask: ``rs[mask]``.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.filter("volume", at_least=1)
        RegionSet(1 region, SELECTION, dimension 1, by vertex)
        """
        values = self.column(column)
        if values.ndim != 1:
            raise AffineLensError(
                f"column {column!r} has several numbers a region; filter takes a column of one, and rs[mask] any "
                f"condition"
            )
        inside = np.ones(len(self), dtype=np.bool_)
        for bound, keeps in ((at_least, np.greater_equal), (at_most, np.less_equal), (equals, np.equal)):
            if bound is not None:
                if np.ndim(bound) or not isinstance(bound, Real | np.bool_) or np.isnan(float(bound)):
                    raise AffineLensError(f"filter compares a column with numbers, but got {bound!r:.40}")
                inside &= keeps(values, bound)
        return self[inside]

    @property
    def neighbor_values(self) -> NDArray[np.int64]:
        """The region beyond each facet, in the order of ``facet_values``; -1 on the domain's border.

        int64 of shape (facets,). In an incomplete set it is -1 as well where the region beyond was not found. They are
        looked up once.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.neighbor_values
        array([-1,  1, -1,  0])
        """
        return neighbor_values(self)

    def vertices(self, *, progress: ProgressOption = None) -> Floats:
        """The vertices of all regions, in input coordinates.

        Parameters
        ----------
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Returns
        -------
        numpy.ndarray
            float64 of shape (vertices, inputs); region i's are from ``vertex_offsets[i]`` to ``vertex_offsets[i + 1]``.

        Notes
        -----
        Walks once more, unless they were asked for with ``vertices=True``; they are kept then.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.vertices().ravel(), rs.vertex_offsets
        (array([-1.,  0.,  0.,  1.]), array([0, 2, 4]))
        """
        with shown(progress):
            return self.domain.frame.to_inputs(all_vertices(self).points)

    def volumes(self, *, progress: ProgressOption = None) -> Floats:
        """The volume of every region, in the domain's own coordinates.

        Parameters
        ----------
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Returns
        -------
        numpy.ndarray
            float64 of shape (regions,); ``column("volume_error")`` bounds what rounding did to each.

        Notes
        -----
        Needs vertices: walks once more, unless they were kept.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.volumes()
        array([0.5, 1.5])
        """
        with shown(progress):
            return quantity(self, "volume")

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns that :meth:`column` computes, and what they hold.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.columns["inradius"]
        'radius of the largest ball inside'
        """
        return quantity_names()

    def column(self, name: str, *, progress: ProgressOption = None) -> NDArray[Any]:
        """A quantity of every region by its name, computed once; :attr:`columns` lists the names.

        On a slice, lengths, volumes and slopes are those of the slice's coordinates.

        Parameters
        ----------
        name
            One of :attr:`columns`.
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Returns
        -------
        numpy.ndarray
            Of shape (regions, ...).

        Notes
        -----
        Those that need vertices, and ``crossed``, walk once more where their geometry was not kept.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.column("jacobian_norm")
        array([0., 1.])
        """
        with shown(progress):
            return quantity(self, name)

    def metrics(self, *, progress: ProgressOption = None) -> dict[str, float]:
        """Numbers that sum up the set, under names that stay the same; see :mod:`affinelens.measure.summary.metrics`.

        Parameters
        ----------
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Notes
        -----
        Walks for vertices and for the decision boundary, unless they were found already.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.metrics()["volume_max"]
        1.5
        """
        with shown(progress):
            return metrics(self)

    def adjacency(self, *, progress: ProgressOption = None) -> Adjacency:
        """Which regions share a facet, and which hyperplane lies between them: a sparse matrix, a row a region.

        Parameters
        ----------
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Notes
        -----
        Needs facets. Looks every facet up once, and does not walk.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.adjacency().pairs
        array([[0, 1]])
        """
        with shown(progress):
            return adjacency(self)

    def linear_regions(self, *, progress: ProgressOption = None) -> LinearRegions:
        """The maximal connected unions of regions with the same affine map, compared exactly.

        Parameters
        ----------
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Notes
        -----
        Needs facets. Compares affine maps, in rationals where float64 cannot tell them apart; does not walk.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])], al.Box(-1, 1, dim=1)).linear_regions()
        LinearRegions(1 of 2 regions, 1 affine map)
        """
        with shown(progress):
            return linear_regions(self)

    def decision_boundary(
        self, *, output: int | None = None, threshold: float | None = None, progress: ProgressOption = None
    ) -> DecisionBoundary:
        """Where the network's decision changes, exactly: the boundary's pieces, its measure and the classes' volumes.

        A network with several outputs decides for the largest one, and of equal ones for the first. With one output,
        or if one is named, the classes are 1 where it is above the threshold and 0 elsewhere. In an incomplete set
        there is nothing to say about where regions are missing.

        Parameters
        ----------
        output
            The number of the output that decides alone.
        threshold
            What it is compared with; 0 unless given. Of a model that ends in a sigmoid or tanh, which the network
            leaves out, it is compared with the model's own output: 0.5 is the probability.
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Notes
        -----
        Walks once, with the decision as a last stage, and keeps what it found for each decision asked for.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])], al.Box(-1, 1, dim=2))
        >>> boundary = rs.decision_boundary()  # |x0| - 0.5 = 0: two lines of length 2
        >>> len(boundary), boundary.measure, boundary.class_shares
        (2, 4.0, array([0.5, 0.5]))
        """
        with shown(progress):
            return decision_boundary(self, output, threshold)

    def distance_to_boundary(
        self, x: ArrayLike, *, norm: str = "l2", output: int | None = None, threshold: float | None = None
    ) -> Distance | Distances:
        """How far an input is from where the decision changes within the domain, and the nearest point there.

        Parameters
        ----------
        x
            One input or several, a row each; on a slice also slice coordinates.
        norm
            What the change to the inputs is measured in: ``"l2"``, the Euclidean norm, or ``"linf"``, the maximum norm.
        output, threshold
            Which decision, as for :meth:`decision_boundary`.

        Returns
        -------
        Distance or Distances
            ``value`` and ``point`` for one input; columns of them for several.

        Notes
        -----
        Costs the walk of :meth:`decision_boundary`, unless that was asked for before.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])], al.Box(-1, 1, dim=2))
        >>> found = rs.distance_to_boundary([0.25, 0.0])
        >>> found.value, found.point
        (0.25, array([0.5, 0. ]))
        """
        return self.decision_boundary(output=output, threshold=threshold).distance(x, norm=norm)

    def lipschitz_constant(self, norm: str = "l2") -> float:
        """The network's local Lipschitz constant: its largest slope over the regions.

        Parameters
        ----------
        norm
            Of inputs and outputs: ``"l2"`` or ``"linf"``.

        Notes
        -----
        Composes every region's affine map once; does not walk.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[2.0]], [0.5]), ([[1.5]], [0.0])], al.Box(-1, 1, dim=1)).lipschitz_constant()
        3.0
        """
        return lipschitz_constant(self, norm)

    def output_ranges(self, *, progress: ProgressOption = None) -> list[OutputRange]:
        """The exact range of each output over the regions.

        Of a model that ends in a sigmoid, tanh or softmax, which the network leaves out, it is the range of what goes
        into that; the range's ``before`` names it.

        Parameters
        ----------
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Notes
        -----
        Needs facets, and vertices: walks once more, unless these were kept.

        Examples
        --------
        >>> import affinelens as al
        >>> found = al.enumerate([([[2.0]], [0.5]), ([[1.5]], [0.0])], al.Box(-1, 1, dim=1)).output_ranges()
        >>> float(found[0].lowest), float(found[0].highest)
        (0.0, 3.75)
        """
        with shown(progress):
            return output_ranges(self)

    def output_means(self) -> Floats:
        """The mean of each output over the regions, by volume: float64 of shape (outputs,).

        Notes
        -----
        Needs vertices: walks once more, unless they were kept.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).output_means()
        array([0.25])
        """
        return output_means(self)

    def bounds(self) -> RegionBounds:
        """What theory says about how many regions such a network can have; costs nothing.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).bounds().zaslavsky
        2
        """
        return region_bounds(self.network, self.domain.dim)

    def regularity(self) -> Regularity:
        """How much the partition of a plane looks like a grid; see :mod:`affinelens.measure.geometry.regularity`.

        Notes
        -----
        Needs vertices: walks once more, unless they were kept.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=2))
        >>> rs.regularity().grid_order
        1.0
        """
        return regularity(self)

    def audit(self, *, samples: int = 1000, seed: int = 0, progress: ProgressOption = None) -> AuditReport:
        """Check everything again without the engine that found it; ``print`` the report, or see ``report.passed``.

        Parameters
        ----------
        samples
            Of what is too much to check in full, so many are drawn at random.
        seed
            Of that.
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Notes
        -----
        About a minute for a million regions. Volumes need vertices, and walk once more unless they were kept.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).audit().passed
        True
        """
        with shown(progress):
            return audit(self, samples=samples, seed=seed)

    def to_arrow(self, columns: Sequence[str] = ()) -> pyarrow.Table:
        """The set as an Arrow table, one row a region.

        Parameters
        ----------
        columns
            Which of :attr:`columns` to add behind; these cost what :meth:`column` says.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> rs.to_arrow(["volume"]).column_names
        ['point', 'pattern', 'facets', 'facet_signs', 'exact_coordinates', 'volume']
        """
        return to_arrow(self, columns)

    def to_batches(self, columns: Sequence[str] = ()) -> Iterator[pyarrow.RecordBatch]:
        """What :meth:`to_arrow` gives, some ten thousands of regions at a time, in order.

        Of a set on disk (:func:`affinelens.load`), no more than a batch is in memory.

        Parameters
        ----------
        columns
            As for :meth:`to_arrow`.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> [batch.num_rows for batch in rs.to_batches()]
        [2]
        >>> next(rs.to_batches(["volume"])).to_pandas()["volume"].sum()
        np.float64(2.0)
        """
        return to_batches(self, columns)

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The set as a dataset of Arrow's, for DuckDB, Polars, Dask or whatever else reads one a piece at a time.

        Of a large set on disk (:func:`affinelens.load`) it is the run's Parquet files themselves, of which a query
        reads what it needs; of any other set it is a table in memory.

        Returns
        -------
        pyarrow.dataset.Dataset
            Columns are ``point`` and, where the domain has coordinates of its own, ``coordinates``; ``pattern_bits``;
            ``exact_coordinates``, which is null but for regions too thin to contain a float64 point; and ``facets``,
            ``facet_signs``, ``vertices`` and ``vertex_facets``, if these were asked for.

        Notes
        -----
        ``pattern_bits`` has the choices :attr:`switching` of a pattern in bytes: choice c is in bits b c to b c + b - 1
        (the lowest first) where b is 1, or more if some choice of the network has more than two pieces. Bit k is bit
        k % 8 of byte k // 8: ``numpy.unpackbits(..., bitorder="little")``.

        Rows have no number. In the files they do not stand in the order of the regions, but the dataset's fragments do,
        each with the row groups that belong there: what scans these one after another, as ``to_batches`` of a dataset
        does, has row i for region i. Row groups of a walk that went no further than its last checkpoint are left out.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1), facets=False)
        >>> rs.dataset().schema.names
        ['point', 'pattern_bits', 'exact_coordinates']
        >>> rs.dataset().to_table(columns=["point"]).num_rows
        2
        """
        return dataset(self)

    def to_pandas(self, columns: Sequence[str] = ()) -> pandas.DataFrame:
        """A data frame with one row a region: its point, pattern and number of facets, then the given columns.

        The point is in inputs ``x0, x1, ...`` or, on a slice, in slice coordinates ``t0, t1, ...``.

        Parameters
        ----------
        columns
            Which of :attr:`columns` to add behind; these cost what :meth:`column` says. One with several numbers a
            region becomes one column each, as ``center_0, center_1, ...``.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> print(rs.to_pandas(["volume"]).to_string(index=False))
           x0 pattern  facets  volume
        -0.75     [0]       2     0.5
         0.25     [1]       2     1.5
        """
        return to_pandas(self, columns)

    def to_networkx(self) -> networkx.Graph[int]:
        """A graph with a node a region and an edge wherever two share a facet; costs an :meth:`adjacency`.

        Nodes have ``point``, ``facets`` (how many) and ``on_border`` (whether the domain bounds it); edges have
        ``hyperplane`` (its number) and ``unit`` (the same in words).

        Raises
        ------
        MissingExtraError
            If networkx is not installed.

        Examples
        --------
        >>> import affinelens as al
        >>> graph = al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).to_networkx()
        >>> graph.nodes[0]["point"], graph.edges[0, 1]["unit"]
        ((-0.75,), 'stage 1, unit 0')
        """
        return to_networkx(self)

    def plot(self, ax: Any = None, *, progress: ProgressOption = None, **options: Any) -> Any:
        """Draw the set with matplotlib and return the axes.

        Parameters
        ----------
        ax
            Axes to draw on; otherwise they get a figure of pyplot's, ``ax.figure``, which notebooks show.
        options
            In the plane (:func:`affinelens.plot.partition`) ``color`` (``"neighbors"``, ``"class"``, ``"volume"``,
            ``"gradient"``, ``"facets"``, ``"vertices"``, ``"output"``, ``"plain"`` or a number a region), ``boundary``,
            ``hyperplanes``, ``points`` and ``labels``, ``window`` and ``legend``. In space
            (:func:`affinelens.plot.solid`) ``color``, ``cut``, ``explode`` and ``legend``. On a line the function's
            graph is drawn (:func:`affinelens.plot.graph`).
        progress
            True to show how far it is, or a function, as for :func:`affinelens.enumerate`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.

        Notes
        -----
        Walks once for vertices, unless they were kept, or by class once for the decision boundary.

        Examples
        --------
        >>> import affinelens as al
        >>> rs = al.enumerate([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [-0.5])], al.Box(-1, 1, dim=2))
        >>> ax = rs.plot(color="class")
        >>> ax.figure.savefig("regions.png")  # doctest: +SKIP
        """
        from affinelens.plot import display

        with shown(progress):
            return display(self, ax, **options)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the set as a run directory (Parquet and a JSON manifest) that :func:`affinelens.load` reads.

        Parameters
        ----------
        path
            The directory; it is written whole or not at all.
        overwrite
            Replace a run that is already there.

        Raises
        ------
        AffineLensError
            If something is there already, or it cannot be written.

        Examples
        --------
        >>> import affinelens as al
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
        >>> with TemporaryDirectory() as folder:
        ...     rs.save(Path(folder) / "run").name
        'run'
        """
        return save(self, given_path(path, "a run directory"), overwrite=overwrite)

    def summary(self) -> dict[str, str]:
        """What the set is, as labels and short texts.

        Examples
        --------
        >>> import affinelens as al
        >>> al.enumerate([([[1.0]], [0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)).summary()["network"]
        'Network(1-1-1, 1 units in 1 stage)'
        """
        return summary(self)

    def _repr_html_(self) -> str:
        """The summary and, of a few thousand regions of dimension 1 to 3 at most, a small picture."""
        return as_html(self.summary()) + self._picture_html()

    def _picture_html(self) -> str:
        try:
            from affinelens.plot.thumbnail import thumbnail
        except MissingExtraError:
            return ""
        png = thumbnail(self)
        return "" if png is None else f'<img src="data:image/png;base64,{b64encode(png).decode()}"/>'
