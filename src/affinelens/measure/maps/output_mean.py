"""The mean of each output over the regions, weighted by volume in the domain's own coordinates."""

from __future__ import annotations

from fractions import Fraction
from math import fsum

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import nearest
from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.measure.geometry.volumes import centroids, relative_volumes
from affinelens.measure.maps.affine_maps import affine_map_blocks
from affinelens.regions import Regions, exact_functions
from affinelens.regions.contradiction import no_volume


def output_means(regions: Regions) -> Floats:
    """The integral of each output over the regions, by their volume; an affine function has its mean at the centroid.

    The formula is exact, its terms are float64.
    """
    if not len(regions):
        raise AffineLensError("a set without regions has no outputs; enumerate at least one")
    sizes, centers = relative_volumes(regions), centroids(regions)
    if not sizes.any():
        raise AffineLensError("the regions are all too thin for float64 to weigh them; take the mean of each, rs[[i]]")
    with np.errstate(over="ignore", invalid="ignore"):
        integrals = np.array([sizes[rows] @ maps.at(centers[rows]) for rows, maps in affine_map_blocks(regions)])
    if not np.isfinite(integrals).all():
        return _in_rationals(regions, sizes, centers)
    whole = fsum(sizes.tolist())
    if not whole > 0:
        raise no_volume()
    return np.array([fsum(parts) / whole for parts in integrals.T.tolist()])


def _in_rationals(regions: Regions, sizes: Floats, centers: Floats) -> Floats:
    """The same where outputs are beyond float64, though their means may not be."""
    total = ExactMatrix.zeros(regions.network.output_size, 1)
    for index in np.flatnonzero(sizes).tolist():
        point = ExactMatrix.from_floats(np.append(centers[index], 1.0))
        weight = ExactMatrix.from_floats(sizes[index : index + 1])
        total = total + exact_functions(regions).outputs(regions.pattern(index)) @ point @ weight
    whole = sum(map(Fraction, sizes.tolist()), Fraction(0))
    return np.array([nearest(value / whole) for (value,) in total.to_fractions()])
