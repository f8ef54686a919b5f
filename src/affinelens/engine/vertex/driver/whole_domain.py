"""A walk of a whole domain: at once, or subdomain by subdomain where many units can switch."""

from __future__ import annotations

from affinelens.engine.vertex.driver.subdomains import SubdividedWalk
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.driver.way import Way
from affinelens.walk import EVERYTHING, Outcome


def walk_domain(task: Task) -> Outcome:
    """Walk all of a network or, if it was restricted, what can switch."""
    request, restricted = task.request, task.restricted
    if restricted is not None and restricted.subdomains:
        return SubdividedWalk(task, restricted).run()
    selected = EVERYTHING if request.selection is None else request.selection.read_by(restricted)
    compiled = task.compiled(selected)
    if request.begins:
        return Walk(task, compiled).run()
    return Walk(task, compiled, [Way.from_json(job.state) for job in request.open_work]).run()
