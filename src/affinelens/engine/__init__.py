"""Engines: a network on a domain in, regions as columns out. All return the same regions."""

from __future__ import annotations

from affinelens.domain import Frame
from affinelens.engine import linear_program
from affinelens.engine.outcome import Certificate, Limits, Outcome, Progress, ProgressFunction, Status
from affinelens.errors import AffineLensError
from affinelens.network import Network

__all__ = ["ENGINES", "Certificate", "Limits", "Outcome", "Progress", "ProgressFunction", "Status", "choose", "run"]

ENGINES = ("auto", linear_program.NAME)


def choose(engine: str) -> str:
    """The engine that a request stands for."""
    if engine not in ENGINES:
        raise AffineLensError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}")
    return linear_program.NAME


def run(
    network: Network,
    frame: Frame,
    limits: Limits,
    *,
    engine: str = "auto",
    keep: bool = True,
    progress: ProgressFunction | None = None,
) -> Outcome:
    """Walk all regions; with ``keep`` off, only count them."""
    choose(engine)
    return linear_program.run(network, frame, limits, keep=keep, progress=progress)
