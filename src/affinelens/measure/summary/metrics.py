"""Numbers that sum up a region set, fit for W&B, TensorBoard or a table: flat names, plain numbers.

===============================  =======================================================================================
``regions``                      how many regions there are
``complete``                     1 if these are all, 0 if the walk was stopped
``dimension``                    of the domain
``cells_stage_l``                cells that the first l stages make, l = 1, 2, ...
``log10_bound_zaslavsky``        logarithms of bounds, see :mod:`affinelens.measure.summary.theory`; the last two
``log10_bound_serra``            are for chains of ReLU layers only, the very last for those without a
``log10_bound_montufar``         layer that is narrower than the domain
``lipschitz_l2``                 the largest slope over the regions, distances being Euclidean,
``lipschitz_linf``               or the largest difference of an entry
``facets_mean``                  facets of a region
``inradius_median``, ``_max``    radius of the largest ball in a region
``vertices_mean``                vertices of a region
``volume_total``                 of all regions together
``volume_min``, ``_median``,     of a region
``_mean``, ``_max``
``volume_gini``                  0 if all regions are of one size, towards 1 if a few fill almost everything
``volume_entropy``               of the regions' shares of the volume, in nats; at most the logarithm of their number
``slope_mean``                   mean slope (spectral norm) over the volume
``output_k_min``, ``_max``,      range and mean over the volume of output k = 0, 1, ...
``_mean``
``crossed_regions``              how many regions the decision boundary crosses
``crossed_share``                how much of the volume these have
``crossed_volume_median``        volume of a region that is crossed
``uncrossed_volume_median``      volume of a region that is not
``crossed_density``              regions a volume among the crossed ones, over that among all
===============================  =======================================================================================

Volumes, lengths and slopes are those of the domain's own coordinates; on a slice, of the slice's. A set that was made
without facets has no ``facets_mean`` and no inradius; from ``vertices_mean`` on, numbers need vertices, and are left
out where these cannot be found (in high dimensions). What weighs regions by their volume is left out where all of
several are too thin for float64. Of an incomplete set all is over the regions that were found.
"""

from __future__ import annotations

from math import log10

import numpy as np

from affinelens.arithmetic.rational import nearest
from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.measure.geometry.volumes import relative_volumes
from affinelens.measure.maps.lipschitz import lipschitz_constant
from affinelens.measure.maps.output_mean import output_means
from affinelens.measure.maps.output_range import output_ranges
from affinelens.measure.summary.quantities import quantity
from affinelens.measure.summary.theory import region_bounds
from affinelens.regions import Regions, all_vertices
from affinelens.walk import Status

Metrics = dict[str, float]
# Of a network with more outputs, ranges and means are left out; rs.output_ranges() has them.
MOST_OUTPUTS = 32


def metrics(regions: Regions) -> Metrics:
    """All metrics of a set; keys that do not apply to it are left out."""
    found: Metrics = {
        "regions": len(regions),
        "complete": int(regions.status is Status.COMPLETE),
        "dimension": regions.domain.dim,
        **{f"cells_stage_{stage}": count for stage, count in enumerate(regions.layer_counts, start=1)},
    }
    bounds = region_bounds(regions.network, regions.domain.dim)
    for name in ("zaslavsky", "serra", "montufar"):
        value = getattr(bounds, name)
        if value is not None:
            found[f"log10_bound_{name}"] = log10(value)
    if not len(regions):
        return found
    if regions.network.output_size:
        found |= {f"lipschitz_{norm}": lipschitz_constant(regions, norm) for norm in ("l2", "linf")}
    if regions.outcome.has_facets:
        radii = quantity(regions, "inradius")
        found["facets_mean"] = float(quantity(regions, "facet_count").mean())
        found |= {"inradius_median": float(np.median(radii)), "inradius_max": float(radii.max())}
    if not _has_vertices(regions):
        return found
    found["vertices_mean"] = float(quantity(regions, "vertex_count").mean())
    found |= volume_metrics(quantity(regions, "volume"), relative_volumes(regions))
    if regions.network.output_size:
        found |= _output_metrics(regions) | _boundary_metrics(regions)
    return found


def _has_vertices(regions: Regions) -> bool:
    try:
        return len(all_vertices(regions).offsets) > 0
    except AffineLensError:
        return False


def volume_metrics(volumes: Floats, relative: Floats) -> Metrics:
    """How the volume is spread over the regions: in numbers that may be beyond float64, and in shares that are not."""
    ordered, count = np.sort(relative), len(volumes)
    with np.errstate(over="ignore"):
        whole = float(volumes.sum())
        median = float(np.median(volumes))
    found = {
        "volume_total": whole,
        "volume_min": float(volumes.min()),
        "volume_median": median,
        "volume_mean": whole / count,
        "volume_max": float(volumes.max()),
    }
    total = float(ordered.sum())
    if total:
        shares, places = ordered[ordered > 0] / total, np.arange(1, count + 1)
        found["volume_gini"] = float((2 * places - count - 1) @ ordered) / (count * total)
        found["volume_entropy"] = max(0.0, -float(shares @ np.log(shares)))
    return found


def _output_metrics(regions: Regions) -> Metrics:
    sizes = relative_volumes(regions)
    filled, norms = sizes > 0, quantity(regions, "jacobian_norm")
    found: Metrics = {}
    if filled.any():
        with np.errstate(over="ignore"):
            found["slope_mean"] = float(sizes[filled] @ norms[filled] / sizes.sum())
    if regions.network.output_size > MOST_OUTPUTS or not regions.outcome.has_facets:
        return found
    means = output_means(regions).tolist() if filled.any() else []
    for k, span in enumerate(output_ranges(regions, decide_all=False)):
        found |= {f"output_{k}_min": nearest(span.lowest), f"output_{k}_max": nearest(span.highest)}
        found |= {f"output_{k}_mean": mean for mean in means[k : k + 1]}
    return found


def _boundary_metrics(regions: Regions) -> Metrics:
    volumes, sizes, crossed = quantity(regions, "volume"), relative_volumes(regions), quantity(regions, "crossed")
    number, filled = int(crossed.sum()), float(sizes[crossed].sum())
    found: Metrics = {"crossed_regions": number}
    if sizes.any():
        found["crossed_share"] = filled / float(sizes.sum())
    with np.errstate(over="ignore"):
        if filled > 0:
            found["crossed_volume_median"] = float(np.median(volumes[crossed]))
            found["crossed_density"] = (number / filled) / (len(sizes) / float(sizes.sum()))
        if number < len(sizes):
            found["uncrossed_volume_median"] = float(np.median(volumes[~crossed]))
    return found
