"""Which engine a request stands for, on how much of the network, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from affinelens.deadline import NEVER, Deadline
from affinelens.engine.linear_program import LinearProgramEngine
from affinelens.engine.vertex import CountEngine, VertexEngine
from affinelens.errors import AffineLensError, Option, Part, Words
from affinelens.progress import Progress, ProgressFunction
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.walk import Ability, Engine, Request

AUTO = "auto"
# The fastest first: of those that can do what is asked, the first that fits is chosen. The last one fits everywhere.
ENGINES: tuple[Engine, ...] = (CountEngine(), VertexEngine(), LinearProgramEngine())
# What is missing where no engine is chosen; a selection is of a set that is there, so users do not speak of it.
_UNFOUND = {
    Ability.VERTICES: "vertices and what is measured with them (volumes, decision boundaries)",
    Ability.CONDITION: Ability.CONDITION.value,
}
_SLICE = Words("on a Slice", "on a slice (--slice-axes or --through)")
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
    raise AffineLensError(
        f"{_listed(missing, _UNFOUND)} cannot be found here: {obstacles[0]}; ",
        *_way_round(request, restriction),
    )


def _asked_for(request: Request, restriction: Callable[[], RestrictedNetwork]) -> Choice:
    """The engine that the request, or its open work, names, if it can do all that is asked."""
    engine = engine_named(request.engine if request.begins else request.open_work[0].engine)
    missing = request.needs - engine.abilities
    if missing:
        able = [Option("engine", other.name) for other in ENGINES if request.needs <= other.abilities]
        advice = ("; use ", able[0]) if able else ()
        named = _listed(missing, {ability: ability.value for ability in Ability})
        raise AffineLensError(f"the {engine.name} engine cannot give {named}", *advice)
    fit = engine.fit(request, restriction, freely=False)
    if fit.obstacle is not None:
        everywhere, refused = ENGINES[-1], f"the {engine.name} engine cannot be used here: {fit.obstacle}"
        if request.needs <= everywhere.abilities:
            raise AffineLensError(f"{refused}; use ", Option("engine", everywhere.name))
        raise AffineLensError(f"{refused}; ask for it ", _SLICE, ", which has fewer dimensions")
    return Choice(engine, "asked for", fit.restricted)


def asked_again(request: Request, engine: str) -> Request:
    """A request about regions that an engine found: of the same one if it can do what is asked, whatever it costs."""
    able = [other.name for other in ENGINES if other.name == engine and request.needs <= other.abilities]
    return replace(request, engine=engine) if able else request


def _way_round(request: Request, restriction: Callable[[], RestrictedNetwork]) -> tuple[Part, ...]:
    """What can be done where no engine is chosen: name one that can all the same, or take fewer dimensions."""
    for engine in ENGINES:
        if request.needs <= engine.abilities and engine.fit(request, restriction, freely=False).obstacle is None:
            return "enumerate with ", Option("engine", engine.name), ", which may take long, or ", _SLICE
    return "enumerate ", _SLICE, ", which has fewer dimensions"


def _listed(abilities: frozenset[Ability], names: Mapping[Ability, str]) -> str:
    return ", ".join(names[ability] for ability in Ability if ability in abilities and ability in names)


def _reporting(progress: ProgressFunction | None) -> Callable[[int, int], None]:
    """Tells a progress function how far restriction has come."""
    started = time.monotonic()

    def report(finished: int, waiting: int) -> None:
        if progress is not None:
            parts = f": {finished} parts of the domain, {waiting} more" if finished + waiting > 1 else ""
            progress(Progress(0, (), time.monotonic() - started, f"finding which units can switch{parts}"))

    return report
