"""How far a walk is: snapshots for the caller's progress function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A snapshot of a walk, handed to the caller's progress function.

    Attributes
    ----------
    regions : int
        How many regions were found so far.
    layer_counts : tuple of int
        How many cells each stage has made so far; the last entry is ``regions``.
    seconds : float
        How long the walk has taken.
    note : str
        What the walk is waiting for, if anything.

    Examples
    --------
    >>> import affinelens as al
    >>> seen = []  # a short walk is over before the first snapshot
    >>> al.count([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1), progress=seen.append)
    2
    >>> al.Progress(regions=12, layer_counts=(4, 12), seconds=0.1)
    Progress(regions=12, layer_counts=(4, 12), seconds=0.1, note='')
    """

    regions: int
    layer_counts: tuple[int, ...]
    seconds: float
    note: str = ""


def shown_counts(counts: Sequence[int], room: int) -> str:
    """Counts stage by stage in at most so many characters: the first and as many of the last as fit, or nothing."""
    texts = [f"{count:,}" for count in counts]
    for left_out in range(len(texts) - 1):
        shown = texts if left_out == 0 else [texts[0], "...", *texts[1 + left_out :]]
        line = " -> ".join(shown)
        if len(line) <= room:
            return line
    return texts[-1] if texts and len(texts[-1]) <= room else ""


ProgressFunction = Callable[[Progress], None]


def waiting_for(progress: ProgressFunction | None) -> Callable[[str, float], None] | None:
    """Tells a progress function what the walk is waiting for, and for how long."""
    if progress is None:
        return None
    return lambda note, seconds: progress(Progress(0, (), seconds, note))
