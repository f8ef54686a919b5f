"""Walks that would not end are warned of before they begin."""

from __future__ import annotations

from affinelens.errors import AffineLensWarning, Option, warn_user
from affinelens.measure.summary.forecast import cells_at_most, forecast
from affinelens.short_text import power_of_ten
from affinelens.walk import Request

# Powers of ten of how many regions a day of many cores finds, a disk holds, a large memory holds.
MOST_TO_COUNT = 12.0
MOST_ON_DISK = 11.0
MOST_IN_MEMORY = 9.5


def warn_if_hopeless(request: Request, most: float) -> None:
    """Say so before a walk without limits that finds more than ten to this power of regions: it would not end.

    Looking takes as long as a small walk. So it is left out in the plane and in space, and where the stages'
    arrangements together cannot have so many cells.
    """
    limits, dim = request.limits, request.frame.dim
    if limits.max_regions is not None or limits.time_limit is not None or dim <= 3:
        return
    if cells_at_most([len(stage.activation.breaks) for stage in request.network.stages], dim) < most:
        return
    expected = forecast(request.network, request.frame).regions
    if expected > most:
        warn_user(AffineLensWarning(
            f"very roughly {power_of_ten(expected)} regions are to be expected, more than can be walked; give ",
            Option("max_regions"), " or ", Option("time_limit"), " for a part of them, or fewer dimensions with ",
            Option("slice_axes", in_python="al.Slice"),
        ))  # fmt: skip
