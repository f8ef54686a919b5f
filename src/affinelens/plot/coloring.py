"""What a picture can color regions by: a number or a class a region, by name or given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.measure.summary.quantities import quantity, quantity_names

if TYPE_CHECKING:
    from affinelens.regions import Regions

NEIGHBORS, CLASS, PLAIN = "neighbors", "class", "plain"


@dataclass(frozen=True, eq=False)
class Column:
    """A number a region, what it is, and whether it is shown on a logarithmic scale."""

    name: str
    values: Floats
    logarithmic: bool = False


# Shorter names for columns, and what they are called in a legend.
_SHORT = {
    "gradient": ("jacobian_norm", "gradient norm"),
    "facets": ("facet_count", "facets"),
    "vertices": ("vertex_count", "vertices"),
}
_LOGARITHMIC = ("volume", "inradius")
COLORS = (NEIGHBORS, CLASS, "volume", *_SHORT, "output", PLAIN)


def column(regions: Regions, color: Any) -> Column:
    """A column by name, or the numbers given."""
    if isinstance(color, str):
        name, shown = _SHORT.get(color, (color, color.replace("_", " ")))
        if name not in quantity_names():
            raise AffineLensError(
                f"color {color!r:.40} is unknown; take one of {', '.join(COLORS)}, a column of rs.columns, or an array"
            )
        values = np.asarray(quantity(regions, name), dtype=np.float64)
        if values.ndim > 1 and name != "output":
            raise AffineLensError(
                f"color {color!r} has {values[0].size} numbers a region; give one of them as an array"
            )
        return Column(shown, values if values.ndim == 1 else values[:, 0], name in _LOGARITHMIC)
    try:
        values = np.asarray(color, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise AffineLensError(
            f"color must be a name ({', '.join(COLORS)}) or a number a region, but got {color!r:.40}"
        ) from error
    if values.shape != (len(regions),):
        raise AffineLensError(f"color must be one number a region, {len(regions)} in all, but has shape {values.shape}")
    return Column("", values)
