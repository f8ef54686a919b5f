"""What a picture can colour regions by: a number or a class a region, by name or given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from affinelens.engine.vertex.volume import cell_volumes
from affinelens.errors import AffineLensError
from affinelens.measure.affine_maps import AffineMaps, affine_maps

if TYPE_CHECKING:
    from affinelens.regions import RegionSet

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
NEIGHBORS, CLASS, PLAIN = "neighbors", "class", "plain"


@dataclass(frozen=True, eq=False)
class Column:
    """A number a region, what it is, and whether it is shown on a logarithmic scale."""

    name: str
    values: Floats
    logarithmic: bool = False


def volumes(regions: RegionSet) -> Floats:
    """The volume of each region, in the domain's own coordinates."""
    corners = regions.corners
    return np.asarray(cell_volumes(corners.points, corners.offsets[1:], corners.tight, regions.domain.dim))


def gradient_norms(regions: RegionSet) -> Floats:
    """The largest stretch of each region's affine map: of one output, the length of its gradient."""
    norms: Floats = np.linalg.norm(affine_maps(regions).slopes, ord=2, axis=(1, 2))
    return norms


def class_functions(regions: RegionSet) -> AffineMaps:
    """The functions whose largest is the class: the outputs or, of a single one, zero and the output."""
    maps = affine_maps(regions)
    if maps.constants.shape[1] > 1:
        return maps
    pad = ((0, 0), (1, 0))
    return AffineMaps(np.pad(maps.slopes, (*pad, (0, 0))), np.pad(maps.constants, pad), np.pad(maps.error, (1, 0)))


def classes(regions: RegionSet) -> Indices:
    """The class at each region's interior point."""
    return np.asarray(class_functions(regions).at(regions.local.points).argmax(axis=1))


_BY_NAME: dict[str, tuple[str, Callable[[RegionSet], Any], bool]] = {
    "volume": ("volume", volumes, True),
    "gradient": ("gradient norm", gradient_norms, False),
    "facets": ("facets", lambda regions: np.diff(regions.facet_offsets), False),
    "vertices": ("vertices", lambda regions: np.diff(regions.vertex_offsets), False),
    "output": ("output", lambda regions: affine_maps(regions).at(regions.local.points)[:, 0], False),
}
COLORS = (NEIGHBORS, CLASS, *_BY_NAME, PLAIN)


def column(regions: RegionSet, color: Any) -> Column:
    """A column by name, or the numbers given."""
    if isinstance(color, str):
        if color not in _BY_NAME:
            raise AffineLensError(f"color {color!r:.40} is unknown; take one of {', '.join(COLORS)}, or give an array")
        name, make, logarithmic = _BY_NAME[color]
        return Column(name, np.asarray(make(regions), dtype=np.float64), logarithmic)
    try:
        values = np.asarray(color, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise AffineLensError(
            f"color must be a name ({', '.join(COLORS)}) or a number a region, but got {color!r:.40}"
        ) from error
    if values.shape != (len(regions),):
        raise AffineLensError(f"color must be one number a region, {len(regions)} in all, but has shape {values.shape}")
    return Column("", values)
