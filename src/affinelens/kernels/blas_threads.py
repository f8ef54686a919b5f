"""One thread for NumPy's matrix products while workers walk: otherwise theirs and the walk's fight for the cores.

The user's setting is back when the last walk has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_users = 0
_limit = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products take one thread; walks at the same time share that, whichever ends first."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    from threadpoolctl import threadpool_limits

    global _users, _limit
    with _lock:
        if not _users:
            _limit = threadpool_limits(1, user_api="blas")
        _users += 1


def _leave() -> None:
    global _users, _limit
    with _lock:
        _users -= 1
        if not _users and _limit is not None:
            _limit.restore_original_limits()
            _limit = None
