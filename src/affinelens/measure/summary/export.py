"""A set and its columns as tables: those of other packages, and files that spreadsheets and data frames read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.files.output_file import require_writable_file, written_whole_file
from affinelens.measure.summary.quantities import flat_columns, require_columns
from affinelens.regions import Regions, parts

if TYPE_CHECKING:
    import pandas
    import pyarrow

USUAL_COLUMNS = ("volume", "inradius", "facet_count", "jacobian_norm", "class", "border_distance")
_BATCH_ROWS = 1 << 16
_KINDS_OF_FILES = (".csv", ".parquet")


def to_arrow(regions: Regions, columns: Sequence[str]) -> pyarrow.Table:
    """An Arrow table, with the given columns behind."""
    import pyarrow

    return pyarrow.concat_tables(_tables(regions, columns))


def to_batches(regions: Regions, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """The same a run of regions at a time."""
    require_columns(columns)
    return (batch for table in _tables(regions, columns) for batch in table.to_batches(max_chunksize=_BATCH_ROWS))


def _tables(regions: Regions, columns: Sequence[str]) -> Iterator[pyarrow.Table]:
    return (_table(part, columns) for part in parts(regions))


def _table(regions: Regions, columns: Sequence[str]) -> pyarrow.Table:
    from affinelens.regions.store.arrow_table import columns_to_table

    table = columns_to_table(regions.outcome.table, regions.domain)
    table = table.rename_columns([_pattern_name(regions) if name == "pattern" else name for name in table.column_names])
    for name, values in flat_columns(regions, columns).items():
        table = table.append_column(name, [np.ascontiguousarray(values)])
    return table


def to_pandas(regions: Regions, columns: Sequence[str]) -> pandas.DataFrame:
    """A data frame with one row a region, with the given columns behind."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError.for_extra("pandas", "pandas", "to_pandas()") from None
    frames = [_frame(part, columns) for part in parts(regions)]
    frame = frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
    frame.index.name = "region"
    return frame


def _frame(regions: Regions, columns: Sequence[str]) -> pandas.DataFrame:
    import pandas

    shown: dict[str, Any] = {**_points(regions), _pattern_name(regions): list(regions.switching_patterns)}
    if regions.outcome.has_facets:
        shown["facets"] = np.diff(regions.facet_offsets)
    return pandas.DataFrame(shown | flat_columns(regions, columns))


def require_column_file(path: Path, names: Sequence[str]) -> None:
    """Refuse a file that cannot be written, or columns that there are not, before anything is computed."""
    if path.suffix.lower() not in _KINDS_OF_FILES:
        raise AffineLensError(f"columns are written to .csv and .parquet files, but got {str(path)!r}; end it in .csv")
    require_columns(names)
    require_writable_file(path)


def write_columns(regions: Regions, names: Sequence[str], path: Path) -> None:
    """Write a row a region: its number, its interior point and the named columns."""
    import pyarrow.csv
    import pyarrow.parquet

    require_column_file(path, names)
    tables = _flat_tables(regions, names)
    kind = pyarrow.csv.CSVWriter if path.suffix.lower() == ".csv" else pyarrow.parquet.ParquetWriter
    first = next(tables)
    with written_whole_file(path) as file, kind(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _flat_tables(regions: Regions, names: Sequence[str]) -> Iterator[pyarrow.Table]:
    """Each region's number, point and named columns."""
    import pyarrow

    start = 0
    for part in parts(regions):
        columns = {"region": np.arange(start, start + len(part)), **_points(part), **flat_columns(part, names)}
        yield pyarrow.table({name: np.ascontiguousarray(values) for name, values in columns.items()})
        start += len(part)


def _points(regions: Regions) -> dict[str, NDArray[Any]]:
    """Interior points, a column an input or, on a slice, a coordinate of it."""
    letter, points = ("t", regions.local.points) if regions.domain.has_own_coordinates else ("x", regions.points)
    return {f"{letter}{i}": points[:, i] for i in range(points.shape[1])}


def _pattern_name(regions: Regions) -> str:
    return "pattern" if regions.outcome.switching is None else "switching_pattern"
