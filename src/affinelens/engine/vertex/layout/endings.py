"""How a kernel call ends: why a walk has returned to Python. Within kernels, FINISHED is that all went well."""

from __future__ import annotations

FINISHED = 0
# its budget of work is spent
PAUSED = 1
# there is no room for another region
FULL = 2
# signs are left to rational arithmetic
UNDECIDED = 3
# float64 has found no point inside the last region
NO_POINT = 4
# the way to where a job stands is not there
ASTRAY = 5
# an array is too small; the step is done again with more room
GROW_ARENA = 6
GROW_IDS = 7
GROW_FRAMES = 8
GROW_LEVELS = 9
GROW_SLOTS = 10
GROW_REQUESTS = 11


def is_growth(ending: int) -> bool:
    """Whether a walk needs more room."""
    return ending >= GROW_ARENA
