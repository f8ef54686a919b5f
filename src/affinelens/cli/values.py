"""Values of options: what each takes, and the sentence about another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from affinelens.errors import AffineLensError


class Value(click.ParamType[Any]):
    """A kind of value: how it is read, which are accepted, and what these are called."""

    def __init__(self, read: Callable[[str], Any], accepts: Callable[[Any], bool], called: str) -> None:
        self.name = called
        self._read = read
        self._accepts = accepts

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or an error that names the option and what it takes."""
        try:
            read = self._read(value)
            accepted = self._accepts(read)
        except ValueError:
            accepted = False
        if not accepted:
            option = param.opts[-1] if param is not None else "the option"
            raise AffineLensError(f"{option} takes {self.name}, but got {value!r:.60}")
        return read


def whole_number(least: int | None = None, most: int | None = None) -> Value:
    """A whole number within bounds."""
    bounds = {
        (True, True): "",
        (False, True): f" of at least {least}",
        (False, False): f" from {least} to {most}",
    }[least is None, most is None]  # fmt: skip
    return Value(
        int,
        lambda number: (least is None or number >= least) and (most is None or number <= most),
        f"a whole number{bounds}",
    )


def one_of(names: Sequence[str]) -> Value:
    """A name out of a list."""
    return Value(str, lambda name: name in names, f"one of {', '.join(names)}")


SECONDS = Value(float, lambda number: 0 < number < float("inf"), "a number of seconds above 0")
NUMBER = Value(float, lambda number: abs(number) < float("inf"), "a number")
