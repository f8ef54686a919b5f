"""How far something is: snapshots, who is told of them, and loops that tell.

A public call says with :func:`telling_of_progress` who is told while it lasts. Walks and long loops inside it tell that
one, so that nothing in between has to hand a function on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from affinelens.kernels.announcement import telling

Item = TypeVar("Item")
_REPORT_EVERY = 0.1


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
        What is waited for or done, if it is not the walk.
    share : float or None
        How much is done: of the domain's volume or, with a note, of what the note says; None where that is not known.

    Examples
    --------
    >>> import affinelens as al
    >>> seen = []  # a short walk is over before the first snapshot
    >>> al.count([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1), progress=seen.append)
    2
    >>> al.Progress(regions=12, layer_counts=(4, 12), seconds=0.1)
    Progress(regions=12, layer_counts=(4, 12), seconds=0.1, note='', share=None)
    """

    regions: int
    layer_counts: tuple[int, ...]
    seconds: float
    note: str = ""
    share: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """A guess at the time left, if what is left goes on as what is done; None where there is nothing to guess by.

        Examples
        --------
        >>> import affinelens as al
        >>> al.Progress(regions=1000, layer_counts=(1000,), seconds=2.0, share=0.25).seconds_left
        6.0
        """
        return None if not self.share else self.seconds * (1.0 - self.share) / self.share


ProgressFunction = Callable[[Progress], None]
_told: ContextVar[ProgressFunction | None] = ContextVar("who is told of progress", default=None)


@contextmanager
def telling_of_progress(progress: ProgressFunction) -> Iterator[None]:
    """Walks and loops inside tell this function how far they are, and kernels that they are compiled."""
    before = _told.set(progress)
    try:
        with telling(waiting_for(progress)):
            yield
    finally:
        _told.reset(before)


def who_is_told() -> ProgressFunction | None:
    """Whom to tell of progress, if anybody."""
    return _told.get()


def steps(items: Sequence[Item], doing: str) -> Iterator[Item]:
    """The items of a loop that takes long; whoever is told of progress hears what is done and how much of it."""
    told = who_is_told()
    started = reported = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if told is not None and now - reported >= _REPORT_EVERY:
            reported = now
            told(Progress(0, (), now - started, doing, done / len(items)))
        yield item


def shown_counts(counts: Sequence[int], room: int) -> str:
    """Counts stage by stage in at most so many characters: the first and as many of the last as fit, or nothing."""
    texts = [f"{count:,}" for count in counts]
    for left_out in range(len(texts) - 1):
        shown = texts if left_out == 0 else [texts[0], "...", *texts[1 + left_out :]]
        line = " -> ".join(shown)
        if len(line) <= room:
            return line
    return texts[-1] if texts and len(texts[-1]) <= room else ""


def waiting_for(progress: ProgressFunction | None) -> Callable[[str, float], None] | None:
    """Tells a progress function what the walk is waiting for, and for how long."""
    if progress is None:
        return None
    return lambda note, seconds: progress(Progress(0, (), seconds, note))
