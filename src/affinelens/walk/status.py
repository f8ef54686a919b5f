"""How a walk ended."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a walk ended; the value is the sentence shown to the user.

    Attributes
    ----------
    COMPLETE
        Every region was found.
    REGION_LIMIT
        The walk stopped at ``max_regions``.
    TIME_LIMIT
        The walk stopped at ``time_limit``.
    CANCELLED
        The user stopped the walk, by Ctrl-C.
    UNFINISHED
        The walk was still going, or was killed, when this was written down.
    SELECTION
        These are some regions of another set, as in ``rs[mask]``.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1), max_regions=1)
    >>> rs.status is al.Status.REGION_LIMIT
    True
    >>> print(rs.status)
    incomplete: stopped at the limit of regions; raise it to find more
    """

    COMPLETE = "complete: every region was found"
    REGION_LIMIT = "incomplete: stopped at the limit of regions; raise it to find more"
    TIME_LIMIT = "incomplete: stopped at the time limit; raise it, or ask for a smaller domain or a slice"
    CANCELLED = "incomplete: stopped by the user"
    UNFINISHED = "incomplete: the walk has not ended; resume it if it is not running any more"
    SELECTION = "incomplete: a selection of another set's regions"

    def __str__(self) -> str:
        return self.value
