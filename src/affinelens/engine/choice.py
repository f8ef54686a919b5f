"""Which engine a request stands for, and why."""

from __future__ import annotations

from dataclasses import dataclass

from affinelens.domain import Frame
from affinelens.engine import linear_program, vertex
from affinelens.errors import AffineLensError
from affinelens.network import Network

ENGINES = ("auto", vertex.NAME, vertex.COUNT_NAME, linear_program.NAME)
# A cell of dimension d has about 2**d vertices, and the vertex engine looks at pairs of them.
_LARGEST_DIMENSION = 10
_LARGEST_ALLOWED_DIMENSION = 14
# The kernels hold the maps between stages as plain matrices.
_MOST_COEFFICIENTS = 1 << 24
_MOST_HYPERPLANES = 1 << 15


@dataclass(frozen=True)
class Choice:
    """An engine's name and the reason for choosing it, in a few words."""

    name: str
    reason: str


def require_known(engine: str) -> None:
    if engine not in ENGINES:
        raise AffineLensError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}")


def choose(network: Network, frame: Frame, engine: str = "auto", *, keep: bool = True) -> Choice:
    """The engine that does what was asked; ``keep`` off means that regions are only counted."""
    require_known(engine)
    if engine == "auto":
        return automatic(network, frame, keep=keep)
    if engine == linear_program.NAME:
        return Choice(engine, "asked for")
    if engine == vertex.COUNT_NAME and keep:
        raise AffineLensError("the count engine only counts; use count, or engine='vertex' for the regions themselves")
    obstacle = _obstacle(network, frame, _LARGEST_ALLOWED_DIMENSION)
    if obstacle is not None:
        raise AffineLensError(f"the {engine} engine cannot be used here: {obstacle}; use engine='linear_program'")
    return Choice(engine, "asked for")


def automatic(network: Network, frame: Frame, *, keep: bool) -> Choice:
    """The fastest engine that can do it."""
    obstacle = _obstacle(network, frame, _LARGEST_DIMENSION)
    if obstacle is not None:
        return Choice(linear_program.NAME, obstacle)
    reason = f"dimension {frame.dim}, and up to {_LARGEST_DIMENSION} it is the fastest"
    return Choice(vertex.NAME if keep else vertex.COUNT_NAME, reason)


def _obstacle(network: Network, frame: Frame, largest_dimension: int) -> str | None:
    """Why the kernels should not be used, or None."""
    if frame.dim > largest_dimension:
        return f"dimension {frame.dim} is above {largest_dimension}, where cells have too many vertices"
    coefficients = sum(
        linear.size_in * linear.size_out for stage in network.stages for k, linear in stage.linear.sources if k > 0
    )
    if coefficients > _MOST_COEFFICIENTS:
        return f"the maps between stages have {coefficients:,} coefficients, more than {_MOST_COEFFICIENTS:,}"
    hyperplanes = network.break_offsets[-1]
    if hyperplanes > _MOST_HYPERPLANES:
        return f"there are {hyperplanes:,} hyperplanes, more than {_MOST_HYPERPLANES:,}"
    return None
