"""Layouts are made once while they are kept, also by threads that ask together, and few are kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from affinelens.walk import Layouts, OwnLayouts


def test_the_oldest_is_forgotten() -> None:
    layouts, made = Layouts(2), []
    for name in "abacba":
        assert layouts.kept(name, lambda name=name: made.append(name) or name) == name
    assert "".join(made) == "abcba"


def test_owners_do_not_see_each_others() -> None:
    layouts = Layouts(4)
    one, other = OwnLayouts("one", layouts), OwnLayouts("other", layouts)
    assert (one.kept(0, lambda: 1), other.kept(0, lambda: 2), one.kept(0, lambda: 3)) == (1, 2, 1)


def test_threads_that_ask_together_wait_for_the_first() -> None:
    layouts, barrier, made = Layouts(2), threading.Barrier(4), []

    def make() -> int:
        made.append(0)
        return len(made)

    def ask(_: int) -> int:
        barrier.wait()
        return layouts.kept("a", make)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1] * 4


def test_what_could_not_be_made_is_made_by_the_next() -> None:
    layouts = Layouts(2)
    with pytest.raises(ZeroDivisionError):
        layouts.kept("a", lambda: 1 / 0)
    assert layouts.kept("a", lambda: 1) == 1
