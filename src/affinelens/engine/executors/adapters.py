"""Executors and Dask clients behind one face: what runs functions for us, and how many at a time.

Nothing is imported for this: a Dask client is known by what it can do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from typing import Any, Protocol

from affinelens.errors import AffineLensError

# How often a cluster is asked how many workers it has.
_ASK_EVERY = 1.0
# How long what a job sent may take to arrive, before it is run again: who has it may be lost.
_PATIENCE = 30.0
# A context of fewer bytes travels with every job; of a longer one, a worker that lacks it says so.
_SMALL = 1 << 16
# How long an executor may take to say that one of its processes was lost.
_TO_NOTICE = 5.0


class NoMoreJobs(Exception):  # noqa: N818 (what it means is decided where it is caught)
    """The executor takes no jobs any more; the message says why."""


class Adapter(Protocol):
    """What runs functions."""

    def workers(self) -> int:
        """How many jobs can run at the same time, now."""

    def avoid(self, futures: Sequence[Any]) -> None:
        """Send the next job to none of those who have these, if there is a choice."""

    def submit(self, function: Callable[..., bytes], job: bytes, *options: Any, send: bool) -> Any:
        """Have ``function(context, job, *options)`` run; a future, of which :meth:`tell` says when it has ended.

        ``send`` says that a worker asked for the context.
        """

    def tell(self, future: Any, function: Callable[[Any], None]) -> None:
        """Call a function, from whatever thread, when a future has ended."""

    def result(self, future: Any) -> bytes:
        """What an ended future came to; what it ended with is raised."""

    def withdraw(self, futures: Sequence[Any]) -> list[Any]:
        """Drop futures that were not begun; those that may be running are returned."""

    def forget(self, futures: Sequence[Any]) -> None:
        """Drop futures whatever they do."""


def require_executor(executor: Any) -> None:
    """Refuse what is neither an executor nor a Dask client, or one that cannot be waited for."""
    if _is_dask(executor) and getattr(executor, "asynchronous", False):
        raise AffineLensError("the Dask client is asynchronous; make one with asynchronous=False")
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise AffineLensError(
            f"executor takes a concurrent.futures.Executor or a dask.distributed.Client, but got {executor!r:.60}"
        )


def _is_dask(executor: Any) -> bool:
    return all(hasattr(executor, name) for name in ("submit", "scatter", "scheduler_info", "nthreads"))


def submitted(executor: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """A future for a call of a function, which is called even if it was called alike before."""
    options = {"pure": False} if _is_dask(executor) else {}
    return executor.submit(function, *arguments, **options)


def adapted(executor: Any, context: bytes, otherwise: int) -> Adapter:
    """An executor or a Dask client; ``otherwise`` is how many jobs it runs at a time, if it does not say so."""
    require_executor(executor)
    return DaskClient(executor, context) if _is_dask(executor) else Futures(executor, context, otherwise)


class Futures:
    """Anything with ``submit`` that returns futures as those of ``concurrent.futures``."""

    def __init__(self, executor: Any, context: bytes, otherwise: int) -> None:
        self._executor = executor
        self._context = context
        most = getattr(executor, "_max_workers", None)  # as executors of the standard library say it
        self._workers = most if isinstance(most, int) and most > 0 else otherwise
        self._lost_since: float | None = None

    def workers(self) -> int:
        self._require_processes()
        return self._workers

    def _require_processes(self) -> None:
        """Notice that a process was lost: for one killed in the middle of a reply, a pool waits for ever."""
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        if all(getattr(process, "exitcode", None) is None for process in processes):
            self._lost_since = None
            return
        now = time.monotonic()
        self._lost_since = self._lost_since or now
        if now - self._lost_since > _TO_NOTICE:
            raise NoMoreJobs(f"{type(self._executor).__name__} takes no more jobs (one of its processes was lost)")

    def avoid(self, futures: Sequence[Any]) -> None:
        """Nobody knows who has them."""

    def submit(self, function: Callable[..., bytes], job: bytes, *options: Any, send: bool) -> Any:
        try:
            context = self._context if send or len(self._context) < _SMALL else None
            return self._executor.submit(function, context, job, *options)
        except (BrokenExecutor, RuntimeError) as error:  # the latter of one that was shut down
            raise NoMoreJobs(f"{type(self._executor).__name__} takes no more jobs ({error})") from error

    def tell(self, future: Any, function: Callable[[Any], None]) -> None:
        future.add_done_callback(function)

    def result(self, future: Any) -> bytes:
        found: bytes = future.result(0)
        return found

    def withdraw(self, futures: Sequence[Any]) -> list[Any]:
        return [future for future in futures if not future.cancel()]

    def forget(self, futures: Sequence[Any]) -> None:
        for future in futures:
            future.cancel()


class DaskClient:
    """A client of ``dask.distributed``: it sends a large context once, and workers hand it to each other.

    Once a job was silent, workers that lack it are sent it with their jobs: who has it to hand on may be cut off.
    """

    def __init__(self, client: Any, context: bytes) -> None:
        self._client = client
        self._bytes = context
        self._scattered: Any = None
        self._count = 0
        self._asked = -_ASK_EVERY
        self._preferred: list[str] = []
        self._is_sent_along = len(context) < _SMALL

    def workers(self) -> int:
        now = time.monotonic()
        if now - self._asked >= _ASK_EVERY:
            try:
                self._count = sum(self._client.nthreads().values())
            except (OSError, RuntimeError, TimeoutError, ValueError) as error:
                raise NoMoreJobs(f"the Dask scheduler does not answer ({error})") from error
            self._asked = time.monotonic()
        return self._count

    def avoid(self, futures: Sequence[Any]) -> None:
        self._preferred = []
        if not futures:
            return
        self._is_sent_along = True
        with suppress(OSError, RuntimeError, TimeoutError, ValueError):
            keys = {future.key for future in futures}
            at_work = self._client.processing()
            self._preferred = [worker for worker, has in at_work.items() if keys.isdisjoint(has)]

    def submit(self, function: Callable[..., bytes], job: bytes, *options: Any, send: bool) -> Any:
        where = {"workers": self._preferred, "allow_other_workers": True} if self._preferred else {}
        try:
            return self._client.submit(function, self._context(send=send), job, *options, pure=False, **where)
        except (OSError, RuntimeError, TimeoutError, ValueError) as error:
            raise NoMoreJobs(f"the Dask client takes no more jobs ({error})") from error

    def _context(self, *, send: bool) -> Any:
        """The context, or what stands for it; None for a worker that may have it."""
        if self._is_sent_along:
            return self._bytes if send or len(self._bytes) < _SMALL else None
        if self._scattered is None or self._scattered.status != "finished":
            self._scattered = self._client.scatter(self._bytes, broadcast=True, hash=False)
        return self._scattered

    def tell(self, future: Any, function: Callable[[Any], None]) -> None:
        future.add_done_callback(function)

    def result(self, future: Any) -> bytes:
        try:
            found: bytes = future.result(_PATIENCE)
        finally:
            future.release()
        return found

    def withdraw(self, futures: Sequence[Any]) -> list[Any]:
        return list(futures)

    def forget(self, futures: Sequence[Any]) -> None:
        with suppress(OSError, RuntimeError, TimeoutError, CancelledError, asyncio.CancelledError):
            self._client.cancel(list(futures), force=True)
