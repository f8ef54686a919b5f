"""A restricted network as plain data: what was found out about a network on a domain, which takes long for large ones.

Only what is proved is kept: the signs of breaks, how large values can be, and along which hyperplanes the domain was
divided. All else follows from that, the network and the domain, and is built again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, gamma, upward
from affinelens.arithmetic.rational import fraction, stack_rows
from affinelens.array_types import Floats, Indices
from affinelens.domain import Frame
from affinelens.domain.polytope import interior_point
from affinelens.errors import AffineLensError
from affinelens.network import Activation, Network
from affinelens.network.activation import OPEN
from affinelens.network.adjoint import Adjoint
from affinelens.network.enclosure import Enclosure
from affinelens.restrict.enclosing_box import rationals
from affinelens.restrict.restricted_network import RestrictedNetwork
from affinelens.restrict.stage_bounds import StageBounds, merged
from affinelens.restrict.subdivision import part_of

Arrays = dict[str, NDArray[Any]]
Sides = Mapping[int, int]

# Beyond this dimension only the middle of the domain's box is taken for a point inside it.
_LOOKED_FOR_UP_TO = 32
# Bounds are tried at so many points of the domain or, if it is divided into more parts than that, at one of each.
_POINTS = 64
_SEED = 0
_DOES_NOT_FIT = "what was saved of the restricted network does not fit the network and the domain"


def restricted_to_data(restricted: RestrictedNetwork) -> tuple[dict[str, Any], Arrays]:
    """What restricting found out: a JSON structure, and arrays with a row a subdomain."""
    parts = restricted.subdomains or (restricted,)
    arrays: Arrays = {}
    for stage in range(len(restricted.bounds)):
        bounds = [part.bounds[stage] for part in parts]
        arrays[f"signs{stage}"] = np.stack([here.signs for here in bounds])
        arrays[f"pre_activation{stage}"] = np.stack([here.pre_activation for here in bounds])
        arrays[f"output{stage}"] = np.stack([here.output for here in bounds])
    return {"sides": [[[int(b), int(side)] for b, side in part.sides.items()] for part in parts]}, arrays


def restricted_from_data(
    network: Network, frame: Frame, structure: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> RestrictedNetwork:
    """Rebuild a restricted network with the same numbering and subdomains; anything that does not fit is an error.

    Types, shapes and ranges are checked, and in rational arithmetic that the subdomains make up the domain and that
    each has an interior. The bounds themselves are trusted: that they hold is only tried, at a few points of every
    subdomain, where a false sign or size that shows is refused. Proving them again would be restricting again, so data
    that somebody may have changed on purpose needs a hash, or to be left out.
    """
    try:
        sides = [dict(part) for part in _read_sides(structure["sides"])]
        bounds = [_read_bounds(network, arrays, part, len(sides)) for part in range(len(sides))]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise AffineLensError(_DOES_NOT_FIT) from error
    _require_division(sides, network)
    frames = [frame] if sides == [{}] else _frames(network, frame, sides)
    _try_bounds(network, frames, bounds)
    if len(frames) == 1:
        return RestrictedNetwork(network, frame, bounds[0])
    subdomains = tuple(map(RestrictedNetwork, [network] * len(frames), frames, bounds, sides))
    return RestrictedNetwork(network, frame, merged(bounds), subdomains=subdomains)


def _read_sides(data: Any) -> list[list[tuple[int, int]]]:
    """The breaks and sides of every subdomain."""
    found = [[(b, side) for b, side in part] for part in data]
    if not all(type(b) is int and type(side) is int for part in found for b, side in part):
        raise ValueError("a break or a side is no whole number")
    return found


def _read_bounds(network: Network, arrays: Mapping[str, NDArray[Any]], part: int, parts: int) -> list[StageBounds]:
    """The bounds of all stages on a subdomain."""
    found = []
    for index, stage in enumerate(network.stages):
        activation = stage.activation
        signs = _checked(arrays[f"signs{index}"], "i", (parts, len(activation.breaks)))
        before = _checked(arrays[f"pre_activation{index}"], "f", (parts, activation.size_in))
        behind = _checked(arrays[f"output{index}"], "f", (parts, activation.size_out))
        here = StageBounds(
            signs[part].astype(np.int8), before[part].astype(np.float64), behind[part].astype(np.float64)
        )
        if not (
            np.isin(signs[part], (-1, 0, 1, OPEN)).all() and (before[part] >= 0).all() and (behind[part] >= 0).all()
        ):
            raise ValueError("a sign or a size is none")
        found.append(here)
    return found


def _checked(array: NDArray[Any], kind: str, shape: tuple[int, int]) -> NDArray[Any]:
    if array.dtype.kind != kind or array.shape != shape:
        raise ValueError("an array has another type or shape")
    return array


def _require_division(sides: Sequence[Sides], network: Network) -> None:
    """Refuse subdomains unless they are what is left of the domain after cutting it in two again and again."""
    first = network.stages[0].activation if network.stages else None
    breaks = 0 if first is None or first.grouped else len(first.breaks)

    def is_division(parts: list[list[tuple[int, int]]], depth: int) -> bool:
        if len(parts) == 1 and len(parts[0]) == depth:
            return True
        if any(len(part) <= depth for part in parts) or len({part[depth][0] for part in parts}) != 1:
            return False
        halves = [[part for part in parts if part[depth][1] == side] for side in (-1, 1)]
        if not 0 <= parts[0][depth][0] < breaks or sum(map(len, halves)) != len(parts) or [] in halves:
            return False
        return all(is_division(half, depth + 1) for half in halves)

    if max(map(len, sides), default=0) >= len(sides) or not is_division([list(part.items()) for part in sides], 0):
        raise AffineLensError("the saved subdomains do not make up the domain")


def _frames(network: Network, frame: Frame, sides: Sequence[Sides]) -> list[Frame]:
    """The frames of subdomains."""
    adjoint = Adjoint(network, frame.chart)
    functions: dict[int, ExactMatrix] = {}
    box, found = (rationals(frame.lower), rationals(frame.upper)), []
    for part in sides:
        rows = [frame.rows]
        for index, side in part.items():
            if index not in functions:
                functions[index] = adjoint.break_function(0, index, np.zeros(0, dtype=np.int64))
            row = functions[index]
            rows.append(row if side > 0 else ExactMatrix(-row.numerators, row.denominator))
        together = stack_rows(rows)
        if interior_point(together, box) is None:
            raise AffineLensError("a saved subdomain is empty or flat")
        found.append(part_of(frame, together))
    return found


def _try_bounds(network: Network, frames: Sequence[Frame], everywhere: Sequence[Sequence[StageBounds]]) -> None:
    """Refuse bounds that do not hold at some points of their subdomain."""
    generator = np.random.default_rng(_SEED)
    count = max(_POINTS // len(frames), 1)
    points = [_points_in(frame, count, generator) for frame in frames]
    for start in range(0, len(frames), _POINTS):
        some = slice(start, start + _POINTS)
        parts = np.repeat(np.arange(len(frames))[some], [len(here) for here in points[some]])
        if len(parts) and not _hold(network, frames[0], np.concatenate(points[some]), parts, everywhere):
            raise AffineLensError("the saved bounds of the restricted network do not hold on the domain")


def _points_in(frame: Frame, count: int, generator: np.random.Generator) -> Floats:
    """Points of a frame's domain, a row each: one inside, and others between it and the border; none if none is near.

    What lies inside is decided in rational arithmetic.
    """
    middle = frame.lower + (frame.upper - frame.lower) / 2
    if frame.dim <= _LOOKED_FOR_UP_TO and not _inside(frame, middle[None]).any():
        exact = interior_point(frame.rows, (rationals(frame.lower), rationals(frame.upper)))
        middle = middle if exact is None else np.array([float(fraction(value)) for value in exact])
    rows = frame.rows.to_floats()
    directions = generator.standard_normal((count - 1, frame.dim)) * (frame.upper - frame.lower)
    heights, slopes = rows @ np.append(middle, 1.0), directions @ rows[:, :-1].T
    with np.errstate(all="ignore"):
        steps = np.where(slopes < 0, heights / -slopes, np.inf).min(axis=1)
    steps = np.where(np.isfinite(steps), steps, 0.0)
    points: Floats = middle + (generator.random(count - 1) ** 0.25 * steps)[:, None] * directions
    points = np.concatenate([middle[None], points])
    return points[_inside(frame, points)]


def _inside(frame: Frame, points: Floats) -> NDArray[np.bool_]:
    """Which points lie strictly inside a frame's domain."""
    columns = ExactMatrix.from_floats(np.append(points, np.ones((len(points), 1)), axis=1).T)
    product = (frame.rows @ columns).numerators.tolist()
    return np.array([all(row[k] > 0 for row in product) for k in range(len(points))], dtype=bool)


def _hold(
    network: Network, frame: Frame, points: Floats, parts: Indices, everywhere: Sequence[Sequence[StageBounds]]
) -> bool:
    """Whether nothing that bounds say is wrong at points, each of which lies in a part; rounding is bounded."""
    chart, homogeneous = frame.chart.to_floats(), np.append(points, np.ones((len(points), 1)), axis=1).T
    inputs = Enclosure.values(chart @ homogeneous)
    if not frame.is_plain:
        inputs = inputs.replaced(inputs.rows, gamma(frame.dim + 4) * (np.abs(chart) @ np.abs(homogeneous)))
    sources = [inputs]
    for index, stage in enumerate(network.stages):
        bounds = [everywhere[part][index] for part in parts.tolist()]
        z, breaks = stage.linear.propagate(sources), stage.activation.breaks
        signs = np.stack([here.signs for here in bounds], axis=1)
        value = z.differences(breaks.plus, breaks.minus, breaks.threshold)
        wrong = np.where(signs == 0, np.abs(value.rows), -signs * value.rows) > value.error
        outputs = _outputs(stage.activation, z)
        sizes = np.stack([here.pre_activation for here in bounds], axis=1)
        behind = np.stack([here.output for here in bounds], axis=1)
        if (wrong & (signs != OPEN)).any() or _exceeds(z, sizes) or _exceeds(outputs, behind):
            return False
        sources.append(outputs)
    return True


def _exceeds(values: Enclosure, largest: Floats) -> bool:
    return bool((np.abs(values.rows) - values.error > upward(largest)).any())


def _outputs(activation: Activation, z: Enclosure) -> Enclosure:
    """An activation's values; that it is continuous bounds how far they are off."""
    steepest = np.abs(activation.slopes).max(axis=1)[:, None]
    largest = np.maximum.reduceat(z.error, activation.starts[:-1], axis=0)
    size = np.maximum.reduceat(np.abs(z.rows), activation.starts[:-1], axis=0)
    offsets = np.abs(activation.offsets).max(axis=1)[:, None]
    error = np.where(steepest > 0, steepest * largest, 0.0) + gamma(4) * (steepest * size + offsets)
    return z.replaced(activation.apply(z.rows), error)
