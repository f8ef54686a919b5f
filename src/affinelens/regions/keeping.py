"""Computing something of a set of regions once: the result stays with the set."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions

Options = ParamSpec("Options")
Result = TypeVar("Result")


# What was computed of one set, by the function that found it and its further arguments.
Results: TypeAlias = dict[Hashable, Any]


def kept(
    function: Callable[Concatenate[Regions, Options], Result],
) -> Callable[Concatenate[Regions, Options], Result]:
    """Let a function of a set, and of further arguments that can be hashed, keep what it found with the set."""

    @wraps(function)
    def once(regions: Regions, /, *arguments: Options.args, **named: Options.kwargs) -> Result:
        key = _key(once, arguments, named)
        if key not in regions._results:
            regions._results[key] = function(regions, *arguments, **named)
        result: Result = regions._results[key]
        return result

    return once


def known(function: Callable[Concatenate[Regions, ...], Result], regions: Regions, *arguments: Any) -> Result | None:
    """What a function that keeps its results found of a set before, or None."""
    result: Result | None = regions._results.get(_key(function, arguments, {}))
    return result


def _key(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Hashable:
    return (function, arguments, tuple(sorted(named.items())))
