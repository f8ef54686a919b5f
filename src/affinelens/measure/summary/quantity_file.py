"""Columns of a region set written to a file that spreadsheets and data frames read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.measure.summary.quantities import flat_columns, require_columns
from affinelens.regions import Regions

USUAL_COLUMNS = ("volume", "inradius", "facet_count", "jacobian_norm", "class", "border_distance")
_WRITERS = {".csv": pyarrow.csv.write_csv, ".parquet": pyarrow.parquet.write_table}


def require_column_file(path: Path, names: Sequence[str]) -> None:
    """Refuse a file of a kind that is not written, or columns that there are not, before anything is computed."""
    if path.suffix.lower() not in _WRITERS:
        raise AffineLensError(f"columns are written to .csv and .parquet files, but got {str(path)!r}; end it in .csv")
    require_columns(names)


def write_columns(regions: Regions, names: Sequence[str], path: Path) -> None:
    """Write a row a region: its number, its interior point and the named columns."""
    require_column_file(path, names)
    letter, points = ("t", regions.local.points) if regions.domain.has_own_coordinates else ("x", regions.points)
    columns: dict[str, NDArray[Any]] = {"region": np.arange(len(regions))}
    columns |= {f"{letter}{k}": points[:, k] for k in range(points.shape[1])}
    columns |= flat_columns(regions, names)
    table = pa.table({name: pa.array(np.ascontiguousarray(values)) for name, values in columns.items()})
    try:
        _WRITERS[path.suffix.lower()](table, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AffineLensError(f"{path}: cannot be written ({reason}); give another file") from error
