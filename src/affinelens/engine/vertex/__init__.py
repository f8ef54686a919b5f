"""The vertex and count engines: cells as vertices and the hyperplanes they lie on, walked in compiled kernels."""

from __future__ import annotations

import time

from affinelens.deadline import Deadline
from affinelens.network import Network
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import Ability, Fit, Outcome, Request, Restriction

# A cell of dimension d has about 2**d vertices, and the engine looks at pairs of them.
_LARGEST_CHOSEN_DIMENSION = 10
LARGEST_DIMENSION = 14
# A network whose maps between stages have more coefficients, written out, or that has more hyperplanes than this is
# restricted first: only the part that switches is then written out.
_MANY_COEFFICIENTS = 1 << 20
_MANY_HYPERPLANES = 1 << 12
# The kernels hold the maps between stages as plain matrices.
_MOST_COEFFICIENTS = 1 << 28
_MOST_HYPERPLANES = 1 << 16


class VertexEngine:
    """Builds every cell, depth first, one hyperplane at a time."""

    name = "vertex"
    abilities = frozenset(Ability)
    counts_sections = False

    def fit(self, request: Request, restriction: Restriction, *, freely: bool) -> Fit:
        """Low dimension, and a network that fits into memory once it is restricted."""
        network, largest = request.network, _LARGEST_CHOSEN_DIMENSION if freely else LARGEST_DIMENSION
        if request.frame.dim > largest:
            return Fit(f"dimension {request.frame.dim} is above {largest}, where cells have too many vertices")
        is_large = _coefficients(network) > _MANY_COEFFICIENTS or network.break_offsets[-1] > _MANY_HYPERPLANES
        restricted = restriction() if is_large else None
        reason = f"dimension {request.frame.dim}, and up to {_LARGEST_CHOSEN_DIMENSION} it is the fastest"
        return Fit(_size_obstacle(network, restricted), reason, restricted)

    def walk(self, request: Request, restricted: RestrictedNetwork | None, deadline: Deadline) -> Outcome:
        """Walk all of the network or, if it was restricted, what can switch."""
        from affinelens.engine.vertex.driver.task import Task
        from affinelens.engine.vertex.driver.warm_up import prepare
        from affinelens.engine.vertex.driver.whole_domain import walk_domain

        called = time.monotonic()
        prepare()
        compiling = time.monotonic() - called
        return walk_domain(Task(self.name, request, restricted, deadline.postponed(compiling), self.counts_sections))


class CountEngine(VertexEngine):
    """Counts the cells of the last stage without building them."""

    name = "count"
    abilities = frozenset({Ability.SELECTION, Ability.CONDITION, Ability.RESUME})
    counts_sections = True


def _coefficients(network: Network) -> int:
    """How many numbers the maps between stages have when written out."""
    return sum(
        linear.size_in * linear.size_out for stage in network.stages for k, linear in stage.linear.sources if k > 0
    )


def _size_obstacle(network: Network, restricted: RestrictedNetwork | None) -> str | None:
    """Why the kernels should not be used for a network of this size, or None."""
    coefficients, hyperplanes = _coefficients(network), network.break_offsets[-1]
    if restricted is not None:
        parts = restricted.subdomains or (restricted,)
        coefficients = max(sum(len(stage.units) for stage in part.stages) ** 2 // 2 for part in parts)
        hyperplanes = max(len(part.breaks) for part in parts)
    if coefficients > _MOST_COEFFICIENTS:
        return f"the maps between stages have {coefficients:,} coefficients, more than {_MOST_COEFFICIENTS:,}"
    if hyperplanes > _MOST_HYPERPLANES:
        return f"there are {hyperplanes:,} hyperplanes, more than {_MOST_HYPERPLANES:,}"
    return None
