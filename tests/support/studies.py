"""Studies shrunk to seconds, and what is the same every time one is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet

import affinelens.study

SMALL: dict[str, dict[str, Any]] = {
    "width": {"widths": (2, 4), "dimensions": (2, 3), "epochs": 2},
    "depth": {
        "widths": (3,), "depths": (2, 3), "table_widths": (3,), "table_depths": (2, 3), "table_dimensions": (3, 4),
        "epochs": 2,
    },
    "layers": {"width": 3, "layers": 2, "widened": (4,), "epochs": (1, 2)},
    "residual": {"width": 3, "blocks": (1, 2), "norms": ("batch",), "epochs": (1, 2)},
    "activation": {"width": 3, "layers": 2, "epochs": (1, 2)},
}  # fmt: skip


def run(name: str, directory: Path, **options: Any) -> Path:
    """A shrunk study, in this process unless something else is asked for."""
    return affinelens.study.run(name, directory, **{"seeds": 2, "workers": 1, "samples": 40, **SMALL[name], **options})


def rows(directory: Path) -> list[dict[str, Any]]:
    """The table without its times."""
    table = pyarrow.parquet.read_table(directory / "table.parquet").to_pylist()
    return [{name: value for name, value in row.items() if not name.endswith("_seconds")} for row in table]
