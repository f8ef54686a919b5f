"""The mean of each output over the regions, weighted by volume in the domain's own coordinates."""

from __future__ import annotations

from math import fsum

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.measure.geometry.volumes import centroids, volumes
from affinelens.measure.maps.affine_maps import affine_map_blocks
from affinelens.regions import Regions


def output_means(regions: Regions) -> Floats:
    """The integral of each output over the regions, by their volume; an affine function has its mean at the centroid.

    The formula is exact, its terms are float64.
    """
    if not len(regions):
        raise AffineLensError("a set without regions has no outputs; enumerate at least one")
    sizes, centers = volumes(regions), centroids(regions)
    integrals = [sizes[rows] @ maps.at(centers[rows]) for rows, maps in affine_map_blocks(regions)]
    whole = fsum(sizes.tolist())
    return np.array([fsum(parts) / whole for parts in np.transpose(integrals).tolist()])
