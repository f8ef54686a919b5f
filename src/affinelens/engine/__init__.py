"""Engines: whoever wants regions makes a request and runs it here. All engines return the same regions."""

from __future__ import annotations

from affinelens.domain import Frame
from affinelens.engine.choice import AUTO, ENGINE_NAMES, Choice, asked_again, choose, require_known
from affinelens.engine.executors import require_executor, submitted
from affinelens.engine.running import run
from affinelens.walk import Vertices

__all__ = [
    "AUTO", "ENGINE_NAMES", "Choice", "asked_again", "choose", "polytope_vertices", "prepare", "require_executor",
    "require_known", "run", "submitted",
]  # fmt: skip


def prepare() -> None:
    """Have the kernels of walks compiled, which takes about half a minute once on a machine."""
    from affinelens.engine.vertex.driver.warm_up import prepare

    prepare()


def polytope_vertices(frame: Frame) -> Vertices:
    """The vertices of a frame's domain, as those of a single region."""
    from affinelens.engine.vertex.polytope_vertices import polytope_vertices

    return polytope_vertices(frame)
