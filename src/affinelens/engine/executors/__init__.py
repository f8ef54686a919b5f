"""Walks on executors: jobs are sent to what runs functions, here or on other machines, and put together again."""

from __future__ import annotations

from affinelens.deadline import Deadline
from affinelens.engine.choice import Choice
from affinelens.engine.executors.adapters import require_executor, submitted
from affinelens.engine.executors.coordinator import Coordinator
from affinelens.engine.executors.job_run import run_job
from affinelens.walk import Outcome, Request

__all__ = ["perform_elsewhere", "require_executor", "run_job", "submitted"]


def perform_elsewhere(choice: Choice, request: Request, deadline: Deadline) -> Outcome:
    """Walk on the request's executor, by the engine that was chosen."""
    return Coordinator(choice, request, deadline).run()
