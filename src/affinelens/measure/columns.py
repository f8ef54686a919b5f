"""Quantities of single regions, by name: what there is, and how each is computed.

Several that come from one pass over the regions are computed together. All are in the domain's own coordinates: on a
slice, lengths, volumes and slopes are those of the slice's coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.measure.affine_maps import affine_maps
from affinelens.measure.border import border_distances
from affinelens.measure.inscribed_balls import inscribed_balls, vertex_stretch
from affinelens.measure.slopes import slopes
from affinelens.measure.volumes import centroids, volume_errors, volumes
from affinelens.regions import RegionSet

Array = NDArray[Any]
Computed = dict[str, Array]

DESCRIPTIONS = {
    "volume": "volume (length, area)",
    "volume_error": "how far the volume may be off, proven",
    "centroid": "centre of mass",
    "inradius": "radius of the largest ball inside",
    "inradius_error": "how far the inradius may be off, proven",
    "center": "Chebyshev centre: the centre of that ball",
    "facet_count": "number of facets",
    "vertex_count": "number of vertices",
    "slopes": "Jacobian of the affine map",
    "constants": "constant of the affine map",
    "gradient_norm": "Euclidean norm of each output's gradient",
    "jacobian_norm": "spectral norm of the Jacobian",
    "jacobian_norm_linf": "largest absolute row sum of the Jacobian",
    "output": "outputs at the interior point",
    "class": "largest output at the interior point; of a single output, whether it is positive",
    "crossed": "whether points of the region are of different classes",
    "border_distance": "distance from the domain's border",
    "vertex_stretch": "by how much, at most, rounding stretches the hull of the vertices",
}


def require_columns(names: Iterable[str]) -> None:
    """Refuse a name that no column has."""
    for name in names:
        if name not in DESCRIPTIONS:
            near = get_close_matches(str(name), DESCRIPTIONS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AffineLensError(f"there is no column {name!r}{hint} (columns: {', '.join(DESCRIPTIONS)})")


def compute_column(regions: RegionSet, name: str) -> Computed:
    """A column and those that come with it."""
    require_columns([name])
    return _WAYS[name](regions)


def flat_columns(regions: RegionSet, names: Iterable[str]) -> Computed:
    """Columns with one number a region: of those with more, a column an entry, numbered."""
    found: Computed = {}
    for name in names:
        column = regions.column(name)
        if column.ndim == 1:
            found[name] = column
            continue
        for place in np.ndindex(*column.shape[1:]):
            found[f"{name}_{'_'.join(map(str, place))}"] = column[:, *place]
    return found


def _balls(regions: RegionSet) -> Computed:
    balls = inscribed_balls(regions)
    return {"center": balls.centers, "inradius": balls.radii, "inradius_error": balls.errors}


def _slopes(regions: RegionSet) -> Computed:
    found = slopes(regions)
    return {
        "gradient_norm": found.gradient_norms,
        "jacobian_norm": found.spectral,
        "jacobian_norm_linf": found.row_sums,
        "output": found.outputs,
        "class": found.classes,
    }


def _maps(regions: RegionSet) -> Computed:
    maps = affine_maps(regions)
    return {"slopes": maps.slopes, "constants": maps.constants}


def _crossed(regions: RegionSet) -> Computed:
    crossed = np.zeros(len(regions), dtype=np.bool_)
    crossed[regions.decision_boundary().crossed_regions] = True
    return {"crossed": crossed}


_WAYS: dict[str, Callable[[RegionSet], Computed]] = {
    **dict.fromkeys(("center", "inradius", "inradius_error"), _balls),
    **dict.fromkeys(("gradient_norm", "jacobian_norm", "jacobian_norm_linf", "output", "class"), _slopes),
    **dict.fromkeys(("slopes", "constants"), _maps),
    "volume": lambda regions: {"volume": volumes(regions)},
    "volume_error": lambda regions: {"volume_error": volume_errors(regions)},
    "centroid": lambda regions: {"centroid": centroids(regions)},
    "facet_count": lambda regions: {"facet_count": np.diff(regions.facet_offsets)},
    "vertex_count": lambda regions: {"vertex_count": np.diff(regions.vertex_offsets)},
    "crossed": _crossed,
    "border_distance": lambda regions: {"border_distance": border_distances(regions)},
    "vertex_stretch": lambda regions: {"vertex_stretch": vertex_stretch(regions)},
}
