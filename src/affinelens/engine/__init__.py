"""Engines: a network on a domain in, regions as columns out. All return the same regions."""

from __future__ import annotations

from dataclasses import replace

from affinelens.domain import Frame
from affinelens.engine import linear_program, vertex
from affinelens.engine.outcome import Certificate, Columns, Limits, Outcome, Progress, ProgressFunction, Sink, Status
from affinelens.errors import AffineLensError
from affinelens.network import Network

__all__ = [
    "ENGINES", "Certificate", "Columns", "Limits", "Outcome", "Progress", "ProgressFunction", "Sink", "Status", "choose",
    "run",
]  # fmt: skip

ENGINES = ("auto", vertex.NAME, linear_program.NAME)


def choose(engine: str, network: Network | None = None, frame: Frame | None = None) -> str:
    """The engine that a request stands for."""
    if engine not in ENGINES:
        raise AffineLensError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}")
    return vertex.NAME if engine == "auto" else engine


def run(
    network: Network,
    frame: Frame,
    limits: Limits,
    *,
    engine: str = "auto",
    keep: bool = True,
    facets: bool = True,
    vertices: bool = False,
    progress: ProgressFunction | None = None,
    sink: Sink | None = None,
) -> Outcome:
    """Walk all regions; with ``keep`` off, only count them."""
    if choose(engine, network, frame) == vertex.NAME:
        return vertex.run(
            network, frame, limits, facets=facets, vertices=vertices, keep=keep, progress=progress, sink=sink
        )
    outcome = linear_program.run(network, frame, limits, keep=keep, progress=progress)
    if sink is None:
        return outcome
    return replace(outcome, chunks=(sink(outcome.table),))
