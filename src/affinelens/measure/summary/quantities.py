"""Quantities of single regions, by name: what there is, and how each is computed.

Several that come from one pass over the regions are computed together. All are in the domain's own coordinates: on a
slice, lengths, volumes and slopes are those of the slice's coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.measure.decision.decision_boundary import decision_boundary
from affinelens.measure.geometry.border_distance import border_distances
from affinelens.measure.geometry.inscribed_balls import inscribed_balls, vertex_stretch
from affinelens.measure.geometry.volumes import centroids, volume_errors, volumes
from affinelens.measure.maps.affine_maps import affine_maps
from affinelens.measure.maps.slopes import slopes
from affinelens.progress import doing
from affinelens.regions import Regions, all_vertices, kept, parts

Array = NDArray[Any]
Computed = dict[str, Array]


def quantity_names() -> dict[str, str]:
    """The names of all quantities, and what they hold."""
    return {name: description for name, (description, _) in _QUANTITIES.items()}


def require_columns(names: Collection[str]) -> None:
    """Refuse a name that no column has, and a single name where several are expected."""
    if isinstance(names, str):
        raise AffineLensError(f"columns are given as a list of names, but got {names!r}; write [{names!r}]")
    if not isinstance(names, Collection):
        raise AffineLensError(f"columns are given as a list of names, but got {names!r:.40}; leave it out for none")
    for name in names:
        if not isinstance(name, str) or name not in _QUANTITIES:
            near = get_close_matches(str(name), _QUANTITIES, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AffineLensError(f"there is no column {name!r}{hint} (columns: {', '.join(_QUANTITIES)})")


def quantity(regions: Regions, name: str) -> NDArray[Any]:
    """A quantity of every region by its name; what it is made from is computed once and kept with the set."""
    require_columns([name])
    return _quantity(regions, name)


@kept
def _quantity(regions: Regions, name: str) -> NDArray[Any]:
    with doing(f"computing {name}"):
        found = [_QUANTITIES[name][1](part) for part in parts(regions)]
        return found[0] if len(found) == 1 else np.concatenate(found)


def flat_columns(regions: Regions, names: Collection[str]) -> Computed:
    """Columns with one number a region: of those with more, a column an entry, numbered."""
    require_columns(names)
    found: Computed = {}
    for name in names:
        values = quantity(regions, name)
        if values.ndim == 1:
            found[name] = values
            continue
        for place in np.ndindex(*values.shape[1:]):
            found[f"{name}_{'_'.join(map(str, place))}"] = values[:, *place]
    return found


@kept
def _crossed(regions: Regions) -> NDArray[np.bool_]:
    crossed = np.zeros(len(regions), dtype=np.bool_)
    crossed[decision_boundary(regions).crossed_regions] = True
    return crossed


_QUANTITIES: dict[str, tuple[str, Callable[[Regions], Array]]] = {
    "volume": ("volume (length, area)", volumes),
    "volume_error": ("how far the volume may be off, proven", volume_errors),
    "centroid": ("center of mass", centroids),
    "inradius": ("radius of the largest ball inside", lambda regions: inscribed_balls(regions).radii),
    "inradius_error": ("how far the inradius may be off, proven", lambda regions: inscribed_balls(regions).errors),
    "center": ("Chebyshev center: the center of that ball", lambda regions: inscribed_balls(regions).centers),
    "facet_count": ("number of facets", lambda regions: np.diff(regions.facet_offsets)),
    "vertex_count": ("number of vertices", lambda regions: np.diff(all_vertices(regions).offsets)),
    "slopes": ("Jacobian of the affine map", lambda regions: affine_maps(regions).slopes),
    "constants": ("constant of the affine map", lambda regions: affine_maps(regions).constants),
    "gradient_norm": ("Euclidean norm of each output's gradient", lambda regions: slopes(regions).gradient_norms),
    "jacobian_norm": ("spectral norm of the Jacobian", lambda regions: slopes(regions).spectral),
    "jacobian_norm_linf": ("largest absolute row sum of the Jacobian", lambda regions: slopes(regions).row_sums),
    "output": ("outputs at the interior point", lambda regions: slopes(regions).outputs),
    "class": (
        "largest output at the interior point; of a single output, whether it is positive",
        lambda regions: slopes(regions).classes,
    ),
    "crossed": ("whether points of the region are of different classes", _crossed),
    "border_distance": ("distance from the domain's border", border_distances),
    "vertex_stretch": ("by how much, at most, rounding stretches the hull of the vertices", vertex_stretch),
}
