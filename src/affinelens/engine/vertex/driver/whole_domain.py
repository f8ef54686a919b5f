"""A walk of a whole domain: at once, or subdomain by subdomain where many units can switch."""

from __future__ import annotations

from affinelens.engine.vertex.driver.subdomains import SubdividedWalk
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.walk import EVERYTHING, Outcome


def walk_domain(task: Task) -> Outcome:
    """Walk all of a network or, if it was restricted, what can switch."""
    request, restricted = task.request, task.restricted
    if restricted is not None and restricted.subdomains:
        return SubdividedWalk(task, restricted).run()
    selected = EVERYTHING if request.selection is None else request.selection.read_by(restricted)
    open_states = None if request.begins else [job.state for job in request.open_work]
    return Walk(task, task.compiled(selected), open_states).run()
