"""One thread does everything, in order, and is gone with its owner."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from affinelens.track.serial_thread import SerialThread


def test_jobs_are_done_in_order_by_one_thread() -> None:
    thread = SerialThread()
    done: list[tuple[int, int]] = []
    futures = [thread.do(lambda n=n: done.append((n, threading.get_ident()))) for n in range(20)]  # type: ignore[misc]
    for future in futures:
        future.result(30)
    assert [n for n, _ in done] == list(range(20))
    assert len({who for _, who in done}) == 1
    assert done[0][1] != threading.get_ident()


def test_what_a_job_raises_is_its_futures_and_the_next_is_done() -> None:
    thread = SerialThread()
    failed, fine = thread.do(partial(divmod, 1, 0)), thread.do(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        failed.result(30)
    assert fine.result(30) is None


def test_the_thread_ends_with_its_owner() -> None:
    thread = SerialThread()
    found: list[threading.Thread] = []
    thread.do(lambda: found.append(threading.current_thread())).result(30)
    assert found[0].daemon
    del thread
    found[0].join(30)
    assert not found[0].is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_gets_a_thread_of_its_own() -> None:
    thread = SerialThread()
    thread.do(lambda: None).result(30)
    child = os.fork()
    if child == 0:
        try:
            thread.do(lambda: None).result(10)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
