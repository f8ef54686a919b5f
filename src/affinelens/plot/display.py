"""The right picture for a set: by its domain's dimension, or by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from affinelens.errors import AffineLensError
from affinelens.plot.graph import graph
from affinelens.plot.partition import partition
from affinelens.plot.solid import solid

if TYPE_CHECKING:
    from affinelens.regions import RegionSet

_BY_DIMENSION = {1: graph, 2: partition, 3: solid}


def display(regions: RegionSet, ax: Any = None, **options: Any) -> Any:
    """Draw a set: the function's graph on a line, the partition of a plane, or the one of a space."""
    dim = regions.domain.dim
    draw: Any = _BY_DIMENSION.get(dim)
    if draw is None:
        raise AffineLensError(
            f"a domain of dimension {dim} cannot be drawn; enumerate on a Slice of dimension 1, 2 or 3"
        )
    given = {name: value for name, value in options.items() if value is not None}
    unknown = sorted(set(given) - set(draw.__kwdefaults__))
    if unknown:
        raise AffineLensError(
            f"the picture of a domain of dimension {dim} does not take {', '.join(unknown)}; it takes "
            f"{', '.join(draw.__kwdefaults__)}"
        )
    return draw(regions, ax, **given)
