"""Which engine a request stands for, on how much of the network, and why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from affinelens.deadline import NEVER, Deadline
from affinelens.engine.linear_program import LinearProgramEngine
from affinelens.engine.vertex import CountEngine, VertexEngine
from affinelens.errors import AffineLensError
from affinelens.progress import Progress, ProgressFunction
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.walk import Ability, Engine, Request

AUTO = "auto"
# The fastest first: of those that can do what is asked, the first that fits is chosen. The last one fits everywhere.
ENGINES: tuple[Engine, ...] = (CountEngine(), VertexEngine(), LinearProgramEngine())
ENGINE_NAMES = (AUTO, *(engine.name for engine in ENGINES))


@dataclass(frozen=True, eq=False)
class Choice:
    """An engine, the reason for choosing it, and the part of the network it walks, if not all of it."""

    engine: Engine
    reason: str
    restricted: RestrictedNetwork | None = None

    @property
    def name(self) -> str:
        return self.engine.name


def require_known(engine: str) -> None:
    """Refuse a name that no engine has."""
    if engine not in ENGINE_NAMES:
        raise AffineLensError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINE_NAMES)}")


def engine_named(name: str) -> Engine:
    """The engine of that name."""
    return next(engine for engine in ENGINES if engine.name == name)


def choose(request: Request, deadline: Deadline = NEVER, restricted: RestrictedNetwork | None = None) -> Choice:
    """The engine for a request: the one it names, or the fastest that can do what is asked.

    Restricting a large network may take a while, so that is announced, and ends at the deadline, unless it was done
    before.
    """
    require_known(request.engine)

    @cache
    def restriction() -> RestrictedNetwork:
        if restricted is not None:
            return restricted
        return restrict(request.network, request.frame, deadline, _reporting(request.progress))

    if request.engine != AUTO or not request.begins:
        return _asked_for(request, restriction)
    obstacles: list[str] = []
    for engine in ENGINES:
        if not request.needs <= engine.abilities:
            continue
        fit = engine.fit(request, restriction, freely=True)
        if fit.obstacle is None:
            return Choice(engine, obstacles[0] if obstacles else fit.reason, fit.restricted)
        obstacles.append(fit.obstacle)
    missing = request.needs - ENGINES[-1].abilities
    raise AffineLensError(f"{_listed(missing)} cannot be found here: {obstacles[0]}; a slice has fewer dimensions")


def _asked_for(request: Request, restriction: Callable[[], RestrictedNetwork]) -> Choice:
    """The engine that the request, or its open work, names, if it can do all that is asked."""
    engine = engine_named(request.engine if request.begins else request.open_work[0].engine)
    missing = request.needs - engine.abilities
    if missing:
        able = [other.name for other in ENGINES if request.needs <= other.abilities]
        advice = f"; use engine={able[0]!r}" if able else ""
        raise AffineLensError(f"the {engine.name} engine cannot give {_listed(missing)}{advice}")
    fit = engine.fit(request, restriction, freely=False)
    if fit.obstacle is not None:
        raise AffineLensError(
            f"the {engine.name} engine cannot be used here: {fit.obstacle}; use engine='linear_program'"
        )
    return Choice(engine, "asked for", fit.restricted)


def _listed(abilities: frozenset[Ability]) -> str:
    return ", ".join(ability.value for ability in Ability if ability in abilities)


def _reporting(progress: ProgressFunction | None) -> Callable[[int, int], None]:
    """Tells a progress function how far restriction has come."""
    started = time.monotonic()

    def report(finished: int, waiting: int) -> None:
        if progress is not None:
            parts = f": {finished} parts of the domain, {waiting} more" if finished + waiting > 1 else ""
            progress(Progress(0, (), time.monotonic() - started, f"finding which units can switch{parts}"))

    return report
