"""Which engine a request stands for, on how much of the network, and why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.engine import linear_program, vertex
from affinelens.engine.outcome import Progress, ProgressFunction
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.restrict import Kept, restrict

ENGINES = ("auto", vertex.NAME, vertex.COUNT_NAME, linear_program.NAME)
# A cell of dimension d has about 2**d vertices, and the vertex engine looks at pairs of them.
_LARGEST_DIMENSION = 10
_LARGEST_ALLOWED_DIMENSION = 14
# A network whose maps between stages have more coefficients, written out, or that has more hyperplanes than this is
# restricted first: only the part that switches is then written out.
_MANY_COEFFICIENTS = 1 << 20
_MANY_HYPERPLANES = 1 << 12
# The kernels hold the maps between stages as plain matrices.
_MOST_COEFFICIENTS = 1 << 28
_MOST_HYPERPLANES = 1 << 16


@dataclass(frozen=True)
class Choice:
    """An engine's name, the reason for choosing it, and the part of the network it works on, if not all of it."""

    name: str
    reason: str
    kept: Kept | None = None


def require_known(engine: str) -> None:
    if engine not in ENGINES:
        raise AffineLensError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}")


def choose(
    network: Network,
    frame: Frame,
    engine: str = "auto",
    *,
    keep: bool = True,
    progress: ProgressFunction | None = None,
    deadline: Deadline = NEVER,
) -> Choice:
    """The engine that does what was asked; ``keep`` off means that regions are only counted.

    Restricting a large network may take a while, so that is announced, and ends at the deadline.
    """
    require_known(engine)
    if engine == linear_program.NAME:
        return Choice(engine, "asked for")
    if engine == vertex.COUNT_NAME and keep:
        raise AffineLensError("the count engine only counts; use count, or engine='vertex' for the regions themselves")
    largest = _LARGEST_DIMENSION if engine == "auto" else _LARGEST_ALLOWED_DIMENSION
    kept = None
    obstacle = _dimension_obstacle(frame, largest)
    if obstacle is None:
        is_large = _coefficients(network) > _MANY_COEFFICIENTS or network.break_offsets[-1] > _MANY_HYPERPLANES
        kept = restrict(network, frame, deadline, _reporting(progress)) if is_large else None
        obstacle = _size_obstacle(network, kept)
    if engine == "auto":
        if obstacle is not None:
            return Choice(linear_program.NAME, obstacle)
        reason = f"dimension {frame.dim}, and up to {_LARGEST_DIMENSION} it is the fastest"
        return Choice(vertex.NAME if keep else vertex.COUNT_NAME, reason, kept)
    if obstacle is not None:
        raise AffineLensError(f"the {engine} engine cannot be used here: {obstacle}; use engine='linear_program'")
    return Choice(engine, "asked for", kept)


def _reporting(progress: ProgressFunction | None) -> Callable[[int, int], None]:
    """Tells a progress function how far restriction has come."""
    started = time.monotonic()

    def report(finished: int, waiting: int) -> None:
        if progress is not None:
            patches = f": {finished} patches of the domain, {waiting} more" if finished + waiting > 1 else ""
            progress(Progress(0, (), time.monotonic() - started, f"finding which units can switch{patches}"))

    return report


def _dimension_obstacle(frame: Frame, largest: int) -> str | None:
    if frame.dim > largest:
        return f"dimension {frame.dim} is above {largest}, where cells have too many vertices"
    return None


def _coefficients(network: Network) -> int:
    """How many numbers the maps between stages have when written out."""
    return sum(
        linear.size_in * linear.size_out for stage in network.stages for k, linear in stage.linear.sources if k > 0
    )


def _size_obstacle(network: Network, kept: Kept | None) -> str | None:
    """Why the kernels should not be used for a network of this size, or None."""
    coefficients, hyperplanes = _coefficients(network), network.break_offsets[-1]
    if kept is not None:
        parts = [patch.kept for patch in kept.patches] or [kept]
        coefficients = max(sum(len(stage.units) for stage in part.stages) ** 2 // 2 for part in parts)
        hyperplanes = max(len(part.breaks) for part in parts)
    if coefficients > _MOST_COEFFICIENTS:
        return f"the maps between stages have {coefficients:,} coefficients, more than {_MOST_COEFFICIENTS:,}"
    if hyperplanes > _MOST_HYPERPLANES:
        return f"there are {hyperplanes:,} hyperplanes, more than {_MOST_HYPERPLANES:,}"
    return None
