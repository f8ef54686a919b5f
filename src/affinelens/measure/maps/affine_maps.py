"""The affine map of every region, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import gamma, upward
from affinelens.array_types import Floats, Indices
from affinelens.regions import Regions, exact_functions, kept
from affinelens.regions.region_functions import RegionFunctions

# All maps of a set are kept if they take no more numbers than this.
_NUMBERS_KEPT = 1 << 24


@dataclass(frozen=True, eq=False)
class AffineMaps:
    """On region i the outputs are ``slopes[i] @ t + constants[i]``, t being the domain's own coordinates.

    Everywhere in the domain that is within ``error[k]`` of what region i's map gives in exact arithmetic, for output k.
    """

    slopes: Floats
    constants: Floats
    error: Floats

    def __len__(self) -> int:
        return len(self.slopes)

    @np.errstate(over="ignore", invalid="ignore")
    def at(self, points: Floats) -> Floats:
        """Outputs at one point of each region, given in the domain's own coordinates."""
        outputs: Floats = np.einsum("nkd,nd->nk", self.slopes, points) + self.constants
        return outputs

    @np.errstate(over="ignore", invalid="ignore")
    def error_at(self, points: Floats) -> Floats:
        """How far :meth:`at` may be off, or any other sum of the same terms with one more rounding."""
        size = np.einsum("nkd,nd->nk", np.abs(self.slopes), np.abs(points)) + np.abs(self.constants)
        return upward(self.error + gamma(points.shape[1] + 2) * size)

    def of(self, rows: slice | Indices) -> AffineMaps:
        """The maps of some regions."""
        return AffineMaps(self.slopes[rows], self.constants[rows], self.error)


@kept
def affine_maps(regions: Regions) -> AffineMaps:
    """The affine map of every region, in float64."""
    found = RegionFunctions.of(regions)
    parts = [composed_maps(found, np.arange(rows.start, rows.stop)) for rows in found.blocks()]
    slopes, constants = (np.concatenate([getattr(part, name) for part in parts]) for name in ("slopes", "constants"))
    finite = np.isfinite(slopes).all(axis=(1, 2)) & np.isfinite(constants).all(axis=1)
    for index in np.flatnonzero(~finite).tolist():
        exact = exact_functions(regions).outputs(regions.pattern(index)).to_floats()
        slopes[index], constants[index] = exact[:, :-1], exact[:, -1]
    return AffineMaps(slopes, constants, found.errors[-1])


def affine_map_blocks(regions: Regions) -> Iterator[tuple[slice, AffineMaps]]:
    """The affine maps of some regions after others; composed anew where all of them would take much memory."""
    region_functions = RegionFunctions.of(regions)
    keep = len(regions) * regions.network.output_size * (regions.domain.dim + 1) <= _NUMBERS_KEPT
    for rows in region_functions.blocks():
        if keep:
            yield rows, affine_maps(regions).of(rows)
        else:
            yield rows, composed_maps(region_functions, np.arange(rows.start, rows.stop))


def composed_maps(region_functions: RegionFunctions, regions: Indices) -> AffineMaps:
    """The affine maps of some regions."""
    *_, last = region_functions.functions(regions)
    found = last.table.transpose(1, 0, 2)[last.place]
    slopes, constants = np.ascontiguousarray(found[:, :, :-1]), np.ascontiguousarray(found[:, :, -1])
    return AffineMaps(slopes, constants, region_functions.errors[-1])
