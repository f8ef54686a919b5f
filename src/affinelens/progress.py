"""How far something is: snapshots, who is told of them, and loops that tell.

A public call says with :func:`telling_of_progress` who is told while it lasts. Walks, long loops and compilers inside
it tell that one, so that nothing in between has to hand a function on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

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
    workers : int or None
        How many jobs an executor can run at the same time, if the walk is on one.

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
    workers: int | None = field(default=None, repr=False)

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
_doing: ContextVar[str] = ContextVar("what loops do", default="computing")


@contextmanager
def telling_of_progress(progress: ProgressFunction | None) -> Iterator[None]:
    """Whatever is done inside tells this function how far it is; None: nobody."""
    before = _told.set(progress)
    try:
        yield
    finally:
        _told.reset(before)


@contextmanager
def doing(note: str) -> Iterator[None]:
    """Loops inside say that this is what they do."""
    before = _doing.set(note)
    try:
        yield
    finally:
        _doing.reset(before)


def who_is_told() -> ProgressFunction | None:
    """Whom to tell of progress, if anybody."""
    return _told.get()


def steps(count: int) -> Iterator[int]:
    """0, 1, ... of a loop that may take long; whoever is told of progress hears what is done and how much of it."""
    told = _told.get()
    started = reported = time.monotonic()
    for done in range(count):
        now = time.monotonic()
        if told is not None and now - reported >= _REPORT_EVERY:
            reported = now
            told(Progress(0, (), now - started, _doing.get(), done / count))
        yield done
