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
# an array is too small; the step is done again with more room
GROW_ARENA = 5
GROW_IDS = 6
GROW_FRAMES = 7
GROW_LEVELS = 8
GROW_SLOTS = 9
GROW_REQUESTS = 10


def is_growth(ending: int) -> bool:
    """Whether a walk needs more room."""
    return ending >= GROW_ARENA
