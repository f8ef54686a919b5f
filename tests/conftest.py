"""Kernels are compiled once, before the tests are spread over processes that would each compile them."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        from affinelens.engine.vertex.ready import prepare

        prepare(None)
