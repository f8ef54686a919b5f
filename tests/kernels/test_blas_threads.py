"""Walks leave the number of threads for matrix products as they found it, however they overlap."""

from __future__ import annotations

from contextlib import ExitStack

from threadpoolctl import threadpool_info, threadpool_limits

import affinelens as al
from affinelens.engine.vertex.driver import threads as driver
from affinelens.kernels.blas_threads import one_blas_thread
from support.random_networks import random_layers


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_setting_is_back_when_the_last_has_ended() -> None:
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        first, second = ExitStack(), ExitStack()
        first.enter_context(one_blas_thread())
        second.enter_context(one_blas_thread())
        assert set(blas_threads()) == {1}
        first.close()
        assert set(blas_threads()) == {1}
        second.close()
        assert set(blas_threads()) == {2}


def test_a_walk_of_several_workers_takes_one_thread_for_products(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(driver, "_REPORT_EVERY", 0.002)
    seen: list[int] = []
    network = random_layers([5, 200, 200, 1], seed=0, bias=1)
    with threadpool_limits(2, user_api="blas"):
        al.enumerate(
            network, al.Box(-1, 1, dim=5), engine="vertex", workers=2, facets=False, time_limit=0.5,
            progress=lambda _: seen.extend(blas_threads()),
        )  # fmt: skip
        assert set(blas_threads()) == {2}
    assert seen[-1] == 1
