"""A deadline stops work once its moment has come, and not before."""

from __future__ import annotations

import time

import pytest

from affinelens.deadline import NEVER, Deadline, TimeIsUp


def test_it_stops_work_from_its_moment_on() -> None:
    now = time.monotonic()
    Deadline(now + 60).check()
    with pytest.raises(TimeIsUp):
        Deadline(now).check()


def test_what_is_left_is_counted_from_now() -> None:
    left = Deadline(time.monotonic() + 60).left
    assert left is not None
    assert 50 < left <= 60


def test_without_a_limit_there_is_always_time() -> None:
    NEVER.check()
    assert NEVER.left is None
    assert NEVER.postponed(5.0) == NEVER


def test_time_spent_on_something_else_is_left_out() -> None:
    past = Deadline(time.monotonic() - 1)
    past.postponed(60).check()
    assert past.postponed(60).moment == past.moment + 60
