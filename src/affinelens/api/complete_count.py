"""A count is all of the regions, or an error that holds how many were found."""

from __future__ import annotations

from pathlib import Path

from affinelens.errors import AffineLensError, Interrupted
from affinelens.regions.store.run_writer import command_to_go_on
from affinelens.short_text import counted
from affinelens.walk import Outcome, Status


class IncompleteError(AffineLensError):
    """A count was stopped at a limit before it was complete.

    Attributes
    ----------
    regions : int
        How many regions were found; there are at least as many.
    status : Status
        What stopped the count.

    Examples
    --------
    >>> import affinelens as al
    >>> layers = [([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])]
    >>> try:
    ...     al.count(layers, al.Box(-1, 1, dim=1), max_regions=1)
    ... except al.IncompleteError as error:
    ...     print(error.regions, error.status.name)
    1 REGION_LIMIT
    """

    def __init__(self, message: str, regions: int = 0, status: Status = Status.TIME_LIMIT) -> None:
        super().__init__(message)
        self.regions = regions
        self.status = status


def require_complete(outcome: Outcome, path: Path | None = None) -> None:
    """Refuse to take a partial count for the count; one in a run directory can go on."""
    further = "" if path is None else f"; go on with: {command_to_go_on(path)}"
    known = f"at least {counted(outcome.regions, 'region')} exist{'s' if outcome.regions == 1 else ''}"
    if outcome.status is Status.CANCELLED:
        raise Interrupted(f"the count was stopped by Ctrl-C; {known}{further}", outcome.regions)
    if outcome.status is not Status.COMPLETE:
        raise IncompleteError(f"the count is {outcome.status}; {known}{further}", outcome.regions, outcome.status)
