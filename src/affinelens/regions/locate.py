"""Which region a point lies in, with border points assigned by a consistent rule.

A point on a border belongs to several closed regions. It is assigned to the one met on moving from it by
infinitesimals: first toward the interior of the domain, then along the axes, each of a smaller order. That region is
always full-dimensional, and the rule needs no tolerance: float64 decides where its error bound allows, rational
arithmetic elsewhere. Units that cannot switch on the domain need no decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import ArrayLike

from affinelens.array_types import Bools, Floats, Indices, Patterns
from affinelens.blocks import blocks
from affinelens.errors import AffineLensError
from affinelens.network.activation import OPEN
from affinelens.regions.pattern_index import pattern_index
from affinelens.regions.region_functions import restricted_functions
from affinelens.restrict import RestrictedFunctions

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


class GivenPoints(NamedTuple):
    """Points in the domain's own coordinates, a row each; which are on its flat; and whether one was given alone."""

    coordinates: Floats
    on_flat: Bools
    single: bool


def given_points(regions: Regions, x: ArrayLike, asking: str) -> GivenPoints:
    """One input or several, a row each; on a slice also slice coordinates, where the two differ in number."""
    try:
        points = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise AffineLensError(f"a point is an array of numbers, but got {type(x).__name__} {x!r:.60}") from None
    domain, size, dim = regions.domain, regions.network.input_size, regions.domain.dim
    shapes = (regions.network.input_shape, domain.input_shape)
    single = points.size == size and (points.ndim == 1 or points.shape in shapes)
    if single or (points.ndim >= 2 and points.size == len(points) * size):
        return GivenPoints(*domain.frame.inverse.coordinates(points.reshape(-1, size)), single)
    if domain.has_own_coordinates and points.ndim in (1, 2) and points.shape[-1] == dim:
        coordinates = points.reshape(-1, dim)
        return GivenPoints(coordinates, np.asarray(np.isfinite(coordinates).all(axis=1)), points.ndim == 1)
    own = f" or {dim} slice coordinates" if domain.has_own_coordinates else ""
    raise AffineLensError(f"{asking} takes points of {size} numbers{own}, but got an array of shape {points.shape}")


def region_at(regions: Regions, x: ArrayLike) -> int:
    """The region that contains one point, as :meth:`RegionSet.at` has it."""
    given = given_points(regions, x, "at")
    if not given.single:
        raise AffineLensError(f"at takes one point, but got {len(given.coordinates)}; locate takes several")
    index = int(_located(regions, given)[0])
    if index < 0:
        raise AffineLensError(_why_nowhere(regions, np.asarray(x, dtype=np.float64), given))
    return index


def _why_nowhere(regions: Regions, point: Floats, given: GivenPoints) -> str:
    """Where a point lies that no region contains."""
    domain = regions.domain
    if not np.isfinite(point).all():
        return "the point has an entry that is NaN or infinite; every entry must be a finite number"
    if not given.on_flat[0]:
        what = "does not lie on the slice" if domain.has_own_coordinates else "differs from the domain in a fixed input"
        return f"the point {what}, {domain!r}; rs.locate gives -1 for such points"
    if domain.contains_coordinates(given.coordinates)[0]:
        return f"the point lies in the domain, but where no region of this set is: the set is {regions.status}"
    values = domain.frame.rows.to_floats() @ np.append(given.coordinates[0], 1.0)
    worst = domain.describe_constraint(domain.frame.constraints[int(np.argmin(values))])
    return f"the point lies outside the domain: {worst} does not hold; rs.locate gives -1 for such points"


def located(regions: Regions, x: ArrayLike) -> Any:
    """The regions that contain points, as :meth:`RegionSet.locate` has it."""
    given = given_points(regions, x, "locate")
    found = _located(regions, given)
    return int(found[0]) if given.single else found


def _located(regions: Regions, given: GivenPoints) -> Indices:
    inside = regions.domain.contains_coordinates(given.coordinates, given.on_flat)
    return located_coordinates(regions, given.coordinates, inside)


def located_coordinates(regions: Regions, coordinates: Floats, inside: Bools | None = None) -> Indices:
    """The regions that contain points given in the domain's own coordinates, or -1 where they are not inside."""
    inside = np.ones(len(coordinates), dtype=bool) if inside is None else inside
    result = np.full(len(coordinates), -1, dtype=np.int64)
    if not len(regions) or not inside.any():
        return result
    interior = regions[0].local.exact_point
    patterns = patterns_at(restricted_functions(regions), coordinates[inside], interior)
    source = regions.outcome.source
    find = pattern_index(regions).places if source is None else source.places
    result[inside] = find(patterns[:, regions.switching])
    return result


def patterns_at(functions: RestrictedFunctions, coordinates: Floats, interior: Sequence[Fraction]) -> Patterns:
    """Patterns of points in the domain, one row a point."""
    widest = max(coordinates.shape[1], *(len(stage.breaks) for stage in functions.restricted.stages), 1)
    found = [_patterns_at(functions, coordinates[rows], interior) for rows in blocks(len(coordinates), widest)]
    return np.concatenate(found)


def _patterns_at(functions: RestrictedFunctions, coordinates: Floats, interior: Sequence[Fraction]) -> Patterns:
    restricted, count = functions.restricted, len(coordinates)
    passage = functions.at(coordinates)
    patterns = np.tile(restricted.switching.pattern, (count, 1))
    for index, stage in enumerate(restricted.stages):
        rows, vanish = passage.breaks()
        known = np.abs(rows.rows) > rows.error
        signs = np.where(vanish, 0, np.where(known, np.sign(rows.rows), OPEN)).astype(np.int8)
        chosen = np.zeros((stage.activation.choices, count), dtype=np.int64)
        for j in range(count):
            here = stage.activation.settled(signs[:, j].copy())
            for b in np.flatnonzero(here == OPEN).tolist():
                here[b] = _sign_near(functions.exact.row(index, b, patterns[j]), coordinates[j], interior)
            chosen[:, j] = stage.activation.pattern_from_signs(here)
        patterns[:, stage.choice_numbers] = stage.in_network(chosen).T
        passage.choose(chosen)
    return patterns


def _sign_near(row: Sequence[fmpz], point: Floats, interior: Sequence[Fraction]) -> int:
    """The sign of a function a little inward of a point; 0 if it is zero everywhere."""
    here = [fmpq(*t.as_integer_ratio()) for t in point.tolist()]
    inner = [fmpq(t.numerator, t.denominator) for t in interior]
    value = sum((a * t for a, t in zip(row, here, strict=False)), fmpq(row[-1]))
    slope = sum((a * (t - s) for a, t, s in zip(row, inner, here, strict=False)), fmpq(0))
    first = next((a for a in (value, slope, *row[:-1]) if a), 0)
    return int(first > 0) - int(first < 0)
