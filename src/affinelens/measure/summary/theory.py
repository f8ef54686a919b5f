"""What theory says about how many regions a network of this shape can have.

Counts are whole numbers of any size. The dimension is that of the domain: on a slice or with fixed inputs the bounds
for fewer inputs hold, because restricting a network to a flat gives one with fewer inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod

from affinelens.network import Network


@dataclass(frozen=True)
class RegionBounds:
    """Bounds beside a count.

    ``zaslavsky`` and ``serra`` are upper bounds; ``montufar`` is how many regions some network of this shape is known
    to have at least. The last two are for chains of ReLU layers and are None for other networks.
    """

    zaslavsky: int
    serra: int | None
    montufar: int | None


def region_bounds(network: Network, dim: int) -> RegionBounds:
    """The bounds for a network on a domain of the given dimension."""
    layers = prod(zaslavsky(len(stage.activation.breaks), dim) for stage in network.stages)
    if not _is_relu_chain(network):
        return RegionBounds(layers, None, None)
    widths = [stage.activation.size_in for stage in network.stages]
    return RegionBounds(layers, serra(widths, dim), montufar(widths, dim))


def zaslavsky(hyperplanes: int, dim: int) -> int:
    """The most cells that hyperplanes cut a space into: ``sum_{i<=d} C(m, i)`` (Zaslavsky, 1975).

    Stage by stage, each cell is cut by at most all hyperplanes of the next stage, so the product over stages bounds
    the regions of any network; for one layer of ReLUs it is the largest number there can be.
    """
    return sum(comb(hyperplanes, i) for i in range(min(hyperplanes, dim) + 1))


def serra(widths: Sequence[int], dim: int) -> int:
    """The upper bound of Serra, Tjandraatmadja and Ramalingam (2018, Theorem 1) for ReLU layers of the given widths.

    ``sum over j of prod_l C(n_l, j_l)``, where ``0 <= j_l <= min(n_0, n_1 - j_1, ..., n_{l-1} - j_{l-1}, n_l)``: with
    j_l inactive units the outputs of layer l span at most ``n_l - j_l`` dimensions.
    """

    @cache
    def from_layer(layer: int, rank: int) -> int:
        if layer == len(widths):
            return 1
        width = widths[layer]
        return sum(
            comb(width, off) * from_layer(layer + 1, min(rank, width - off)) for off in range(min(rank, width) + 1)
        )

    for layer in range(len(widths) - 1, 0, -1):  # from the back, so that no call is deep
        for rank in range(min(dim, *widths[:layer]) + 1):
            from_layer(layer, rank)
    return from_layer(0, dim)


def montufar(widths: Sequence[int], dim: int) -> int | None:
    """What some ReLU network of the given widths reaches (Montufar, Pascanu, Cho and Bengio, 2014, Theorem 5).

    ``prod_{l<L} floor(n_l / n_0)^{n_0} * sum_{j<=n_0} C(n_L, j)``, for layers at least as wide as the input.
    """
    if not widths or min(widths) < dim:
        return None
    folds: int = prod((width // dim) ** dim for width in widths[:-1])
    return folds * zaslavsky(widths[-1], dim)


def _is_relu_chain(network: Network) -> bool:
    """Whether each stage is ReLUs of the one before it."""
    for index, stage in enumerate(network.stages):
        activation = stage.activation
        if [source for source, _ in stage.linear.sources] != [index] or activation.grouped:
            return False
        if activation.pieces != 2 or activation.slopes[:, 0].any() or activation.offsets.any():
            return False
    return bool(network.stages)
