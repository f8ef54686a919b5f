"""The walks of one verification: all under one deadline, and what they cost together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from affinelens.deadline import Deadline
from affinelens.domain import Frame
from affinelens.engine import choose, run
from affinelens.network import Network
from affinelens.restrict import Clauses, restrict
from affinelens.walk import NO_DECISIONS, Ability, Certificate, Limits, Outcome, Request, Status


@dataclass
class TalliedWalks:
    """How regions are walked, and of the walks so far: regions, engines, certificate, and what stopped one of them."""

    engine: str
    limits: Limits
    deadline: Deadline
    regions: int = 0
    engines: dict[str, None] = field(default_factory=dict)
    certificate: Certificate = NO_DECISIONS
    stopped: Status | None = None

    def walk(
        self, network: Network, frame: Frame, clauses: Clauses, *, most: int | None = None, vertices: bool = False
    ) -> Outcome | None:
        """Walk the regions that may be wanted; None if bounds prove that there are none.

        An engine that cannot keep to a condition finds all regions.
        """
        self.deadline.check()
        request = Request(network, frame, self.engine, facets=True, vertices=vertices)
        choice = choose(request, self.deadline)
        restricted = choice.restricted if choice.restricted is not None else restrict(network, frame, self.deadline)
        if not restricted.open_clauses(clauses):
            return None
        self.deadline.check()
        limits = replace(self.limits, time_limit=self.deadline.left)
        if Ability.CONDITION in choice.engine.abilities:
            request, limits = replace(request, condition=clauses), replace(limits, max_regions=most)
        self.engines[choice.name] = None
        outcome = run(replace(request, limits=limits), choice)
        self._note(outcome)
        return outcome

    def _note(self, outcome: Outcome) -> None:
        self.regions += outcome.layer_counts[-2] if len(outcome.layer_counts) > 1 else 1
        self.certificate += outcome.certificate
        if outcome.status in (Status.TIME_LIMIT, Status.CANCELLED):
            self.stopped = outcome.status
