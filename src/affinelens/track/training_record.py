"""What was measured while a model trained: a table with a row a measurement, and snapshots to look at again."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affinelens.domain import Domain
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.files.given_path import given_path
from affinelens.network import Network
from affinelens.region_set import RegionSet

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]

# Columns of words, and of the cells that the first stages make.
WORDS = ("status", "problem")
LAYER = re.compile(r"layer_[0-9]+")


class Snapshot:
    """A model as it was at one step: its network, and its regions, which are found when they are first asked for.

    Attributes
    ----------
    step : int
        The number of the epoch or step.
    label : str
        The same with its unit, as ``"epoch 3"``.
    """

    def __init__(self, step: int, unit: str, regions: Callable[[], RegionSet], network: Network | None = None) -> None:
        self.step = step
        self.label = f"{unit} {step}"
        self._find = regions
        self._found: RegionSet | None = None
        self._network = network

    def regions(self) -> RegionSet:
        """All regions, as :func:`affinelens.enumerate` finds them; costs one walk, or reading a saved run, once."""
        if self._found is None:
            self._found = self._find()
        return self._found

    @property
    def network(self) -> Network:
        """The model, compiled; where the record was loaded, that reads its regions."""
        return self.regions().network if self._network is None else self._network

    def __repr__(self) -> str:
        return f"Snapshot({self.label!r})"


class TrainingRecord:
    """What was measured while a model trained: a table with a row a step, and snapshots to look at again.

    It is what :func:`affinelens.load_record` returns; a :class:`Tracker` is one that still grows.

    Attributes
    ----------
    domain : Domain
        Where regions were counted.
    unit : str
        What a step is called: the name of the table's first column.

    Examples
    --------
    >>> import affinelens as al
    >>> record = al.track(al.Box(-1, 1, dim=1))
    >>> for epoch in range(3):
    ...     record([([[1.0]], [0.75 * epoch]), ([[1.0]], [0.0])], epoch)
    >>> [row["regions"] for row in record.table]
    [2, 2, 1]
    >>> record.snapshots[1].regions()
    RegionSet(2 regions, COMPLETE, dimension 1, by vertex)
    """

    def __init__(self, domain: Domain, unit: str, rows: dict[int, Row], snapshots: dict[int, Snapshot]) -> None:
        self.domain = domain
        self.unit = unit
        self._rows = rows
        self._snapshots = snapshots

    def wait(self) -> None:
        """Wait until everything that was begun is in the table; nothing is left to wait for in one that was loaded.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1))
        >>> record([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
        >>> record.wait()
        >>> len(record)
        1
        """

    @property
    def table(self) -> list[Row]:
        """A plain dictionary a measurement, in the order of steps.

        It has the step, ``regions``, the cells that the first l stages make as ``layer_l``, ``status``, the chosen
        metrics and the ``seconds`` that it took. Where the regions could not all be counted, ``regions`` is None and
        ``problem``, which is otherwise empty, says why in a sentence.
        """
        self.wait()
        return [dict(self._rows[step]) for step in sorted(self._rows)]

    @property
    def snapshots(self) -> list[Snapshot]:
        """The snapshots that were kept, in the order of steps."""
        return [self._snapshots[step] for step in sorted(self._snapshots)]

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns; rows of networks with fewer stages leave some out.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1), metrics=["volume_max"])
        >>> record([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
        >>> record.columns
        ['epoch', 'regions', 'layer_1', 'volume_max', 'status', 'seconds', 'problem']
        """
        names = dict.fromkeys(name for row in self.table for name in row)
        layers = sorted(filter(LAYER.fullmatch, names), key=lambda name: (len(name), name))
        first, last = [self.unit, "regions"], ["status", "seconds", "problem"]
        others = [name for name in names if name not in (*first, *layers, *last)]
        return [name for name in (*first, *layers, *others, *last) if name in names]

    def plot(self, ax: Any = None, *, columns: str | Sequence[str] = ()) -> Any:
        """Draw the table over the steps with matplotlib and return the axes.

        The regions of the snapshots, side by side or as an animation, are drawn by
        ``affinelens.plot.evolution(record.snapshots)`` and ``affinelens.plot.animation``.

        Parameters
        ----------
        ax
            Axes to draw on; otherwise they get a figure of pyplot's, ``ax.figure``, which notebooks show.
        columns
            The name of a column with numbers, or several; without any, the cells that the first l stages make, for each
            l, of which the last are the regions.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        AffineLensError
            If there is no such column, or nothing was measured yet.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1))
        >>> for epoch in range(3):
        ...     record([([[1.0]], [0.75 * epoch]), ([[1.0]], [0.0])], epoch)
        >>> ax = record.plot()
        >>> ax.get_xlabel(), ax.lines[0].get_ydata().tolist()
        ('epoch', [2, 2, 1])
        """
        from affinelens.plot import training_curves

        table, known = self.table, self.columns
        if columns:
            chosen = [columns] if isinstance(columns, str) else list(columns)
            numbers = [name for name in known if name not in (self.unit, *WORDS)]
            unknown = [name for name in chosen if name not in numbers]
            if unknown:
                near = get_close_matches(str(unknown[0]), numbers, 1)
                advice = f"did you mean {near[0]}" if near else "see columns"
                raise AffineLensError(f"there is no column {unknown[0]!r:.60} with numbers; {advice}")
            return training_curves(table, dict(zip(chosen, chosen, strict=True)), ax)
        layers = list(filter(LAYER.fullmatch, known))[:-1]
        stages = {name: f"after stage {number}" for number, name in enumerate(layers, start=1)}
        return training_curves(table, {**stages, "regions": "regions"}, ax, counts=True)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a data frame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1))
        >>> record([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
        >>> record.to_pandas()["regions"].tolist()
        [2]
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtraError.for_extra("pandas", "pandas", "to_pandas()") from None
        return pandas.DataFrame(self.table, columns=self.columns)

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as a CSV file, and return where.

        Parameters
        ----------
        path
            The file, which is replaced if it is there.

        Raises
        ------
        AffineLensError
            If it cannot be written.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1))
        >>> record([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     print(record.to_csv(Path(folder) / "training.csv").read_text()[:28])
        epoch,regions,layer_1,status
        """
        file = given_path(path, "a table")
        try:
            file.write_text(self.as_csv(), encoding="utf-8")
        except OSError as error:
            raise AffineLensError(
                f"{file}: could not be written ({error.strerror}); choose another place for the table"
            ) from None
        return file

    def as_csv(self) -> str:
        """The table as the text of a CSV file.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1))
        >>> record([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
        >>> print(record.as_csv()[:28])
        epoch,regions,layer_1,status
        """
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.table)
        return text.getvalue()

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the record as a directory: the table (JSON and CSV) and a run directory a snapshot.

        Parameters
        ----------
        path
            The directory; it is written whole or not at all.
        overwrite
            Replace a record that is already there.

        Raises
        ------
        AffineLensError
            If something is there already, or it cannot be written.

        Notes
        -----
        Costs one walk for each snapshot whose regions were not looked at yet.

        Examples
        --------
        >>> import affinelens as al
        >>> record = al.track(al.Box(-1, 1, dim=1))
        >>> record([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     record.save(Path(folder) / "training").name
        'training'
        """
        from affinelens.track.record_directory import save

        return save(self, given_path(path, "a training record"), overwrite=overwrite)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows, {len(self._snapshots)} snapshots, {self.domain!r})"
