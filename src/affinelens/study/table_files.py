"""A table of rows as files: Parquet, and CSV for whoever has no reader for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_table(rows: Sequence[Mapping[str, Any]], folder: Path, stem: str) -> None:
    """Write rows to a folder; columns are whatever rows have, in the order in which they first come."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    pyarrow.parquet.write_table(table, folder / f"{stem}.parquet")
    pyarrow.csv.write_csv(table, folder / f"{stem}.csv")
