"""The linear_program engine: the paper's Algorithms 1 and 2 on proved linear programs, in any dimension."""

from __future__ import annotations

from affinelens.deadline import Deadline
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import Ability, Fit, Outcome, Request, Restriction


class LinearProgramEngine:
    """Searches each cell of a stage for the cells that the next one cuts it into."""

    name = "linear_program"
    abilities = frozenset({Ability.REGIONS, Ability.FACETS, Ability.RESUME})

    def fit(self, request: Request, restriction: Restriction, *, freely: bool) -> Fit:
        """Everywhere."""
        return Fit(reason="it takes any network in any dimension")

    def walk(self, request: Request, restricted: RestrictedNetwork | None, deadline: Deadline) -> Outcome:
        """Walk all of the network, of which programs leave out what does not cut a cell."""
        from affinelens.engine.linear_program.depth_first import walk

        return walk(self.name, request)
