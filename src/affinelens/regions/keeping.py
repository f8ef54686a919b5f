"""Computing something of a set of regions once: the result stays with the set."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from affinelens.walk import Vertices

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions

Options = ParamSpec("Options")
Result = TypeVar("Result")


class Results:
    """What was computed of one set: vertices that were found again, and results by the function that found them."""

    def __init__(self) -> None:
        self.vertices: Vertices | None = None
        self._found: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """The result under a key, computed if it is not there yet."""
        if key not in self._found:
            self._found[key] = compute()
        return self._found[key]


def kept(
    function: Callable[Concatenate[Regions, Options], Result],
) -> Callable[Concatenate[Regions, Options], Result]:
    """Let a function of a set, and of further arguments that can be hashed, keep what it found with the set."""

    @wraps(function)
    def once(regions: Regions, /, *arguments: Options.args, **named: Options.kwargs) -> Result:
        key = (function, arguments, tuple(sorted(named.items())))
        result: Result = regions.results.once(key, lambda: function(regions, *arguments, **named))
        return result

    return once
