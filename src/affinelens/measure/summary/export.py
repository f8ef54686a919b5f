"""A set and its columns as tables of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from affinelens.errors import MissingExtraError
from affinelens.measure.summary.quantities import flat_columns
from affinelens.regions import Regions

if TYPE_CHECKING:
    import pandas
    import pyarrow


def to_arrow(regions: Regions, columns: Sequence[str]) -> pyarrow.Table:
    """An Arrow table, with the given columns behind."""
    from affinelens.regions.store.arrow_table import columns_to_table, with_columns

    table = columns_to_table(regions.outcome.table, regions.domain)
    names = [_pattern_name(regions) if name == "pattern" else name for name in table.column_names]
    return with_columns(table.rename_columns(names), flat_columns(regions, columns))


def to_pandas(regions: Regions, columns: Sequence[str]) -> pandas.DataFrame:
    """A data frame with one row a region, with the given columns behind."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError.for_extra("pandas", "pandas", "to_pandas()") from error
    own = regions.domain.has_own_coordinates
    letter, points = ("t", regions.local.points) if own else ("x", regions.points)
    frame = pandas.DataFrame(points, columns=[f"{letter}{i}" for i in range(points.shape[1])])
    frame[_pattern_name(regions)] = list(regions.switching_patterns)
    if regions.outcome.table.facets is not None:
        frame["facets"] = np.diff(regions.facet_offsets)
    frame = frame.assign(**flat_columns(regions, columns))
    frame.index.name = "region"
    return frame


def _pattern_name(regions: Regions) -> str:
    return "pattern" if regions.outcome.switching is None else "switching_pattern"
