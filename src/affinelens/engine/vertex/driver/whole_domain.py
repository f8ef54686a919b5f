"""A walk of a whole domain: at once, or subdomain by subdomain where many units can switch."""

from __future__ import annotations

import time

from affinelens.deadline import Deadline
from affinelens.engine.vertex.driver.subdomains import SubdividedWalk
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.layout.program import compile_program
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import EVERYTHING, Outcome, Request


def walk_domain(
    name: str, request: Request, restricted: RestrictedNetwork | None, deadline: Deadline, *, counts_sections: bool
) -> Outcome:
    """Walk all of a network or, if it was restricted, what can switch; time is counted from here."""
    started = time.monotonic()
    if restricted is not None and restricted.subdomains:
        return SubdividedWalk(name, request, restricted, deadline, started).run(counts_sections=counts_sections)
    selected = EVERYTHING if request.selection is None else request.selection.read_by(restricted)
    compiled = compile_program(request.network, request.frame, restricted, request.condition, deadline, selected)
    open_states = None if request.begins else [job.state for job in request.open_work]
    walk = Walk(name, request, restricted, compiled, started, counts_sections=counts_sections, open_states=open_states)
    return walk.run()
