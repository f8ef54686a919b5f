"""One walk of one engine: whatever is walked in this process, is walked by this call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from affinelens.deadline import Deadline
from affinelens.engine.choice import Choice
from affinelens.progress import telling_of_progress
from affinelens.walk import Outcome, Request


def perform(choice: Choice, request: Request, deadline: Deadline) -> Outcome:
    """Walk here, by the engine that was chosen."""
    with telling_of_progress(request.progress), np.errstate(all="ignore"):  # a bound that overflows proves nothing
        outcome = choice.engine.walk(request, choice.restricted, deadline)
    return replace(outcome, restricted=choice.restricted)
