"""Long tables a run of rows at a time, so that what is computed of them never takes much memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.progress import steps

Kind = TypeVar("Kind")

# How many numbers a run of rows may take, unless its user says otherwise.
_NUMBERS_AT_ONCE = 1 << 22


def blocks(rows: int, width: int, numbers: int = _NUMBERS_AT_ONCE) -> Iterator[slice]:
    """Runs of rows, one after another, of as many rows of the given width as take no more than so many numbers.

    There is always one, which is empty if there are no rows. Whoever is told of progress hears how many are done.

    >>> list(blocks(5, 10, numbers=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    at_once = max(1, numbers // max(width, 1))
    starts = range(0, max(rows, 1), at_once)
    return (slice(starts[k], min(starts[k] + at_once, rows)) for k in steps(len(starts)))


def joined(kind: Callable[..., Kind], parts: Iterable[Iterable[NDArray[Any]]]) -> Kind:
    """What was computed of each run of rows, some columns, as columns of all rows."""
    return kind(*(np.concatenate(column) for column in zip(*parts, strict=True)))
