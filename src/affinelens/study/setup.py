"""Every choice that a study makes, with its default and the reason for it; all can be changed by name.

The paper's Section 4.1 fixes the domain, Adam, its rate, the batch size and the number of samples. What it leaves open
is decided here and nowhere else. A study is a class derived from :class:`Setup` that adds its own sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from affinelens.errors import AffineLensError

PAPER = "as the paper has it"
NUMBER_FORMATS = ("float32", "float64")
WEIGHTS = ("torch", "kaiming")
BIASES = ("torch", "zero")
_TRUTH = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
SomeSetup = TypeVar("SomeSetup", bound="Setup")


def choice(default: Any, why: str = PAPER, among: tuple[str, ...] = ()) -> Any:
    """A field of a set-up: its default, why that was chosen, and which words are taken."""
    return field(default=default, metadata={"why": why, "among": among})


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What all studies share."""

    epochs: tuple[int, ...] = choice((5000,), "when regions are counted; the last is the end of training")
    samples: int = choice(200)
    learning_rate: float = choice(1e-4)
    batch_size: int = choice(32)
    shuffle: bool = choice(True, "the usual way: samples come in a new order every epoch")
    last_batch: bool = choice(True, "torch's default: the last batch of an epoch is used although it is smaller")
    weights: str = choice(
        "torch",
        "Kaiming-uniform as nn.Linear does it (a = sqrt 5), which gives counts as in Table 1; "
        "'kaiming' has the gain for ReLU and gives 1.7 to 3 times as many",
        WEIGHTS,
    )
    biases: str = choice(
        "torch",
        "as nn.Linear does it, uniform up to 1 / sqrt(inputs); with 'zero' all first-layer hyperplanes meet at first",
        BIASES,
    )
    number_format: str = choice(
        "float32", "torch's default; regions are those of exactly these numbers", NUMBER_FORMATS
    )

    def __post_init__(self) -> None:
        for entry in fields(self):
            _require_sensible(entry.name, getattr(self, entry.name), entry.metadata["among"])
        if list(self.epochs) != sorted(set(self.epochs)):
            raise AffineLensError(f"epochs must increase, but are {shown(self.epochs)}")

    def to_json(self) -> dict[str, Any]:
        """Plain values by name."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def reasons(self) -> list[tuple[str, str, str]]:
        """Name, value and reason of every choice."""
        return [(entry.name, shown(getattr(self, entry.name)), entry.metadata["why"]) for entry in fields(self)]


def changed(setup: SomeSetup, options: Mapping[str, Any]) -> SomeSetup:
    """The same set-up with some choices made otherwise; values may be texts, as on the command line."""
    known = [entry.name for entry in fields(setup)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, 1)
            advice = f"did you mean {near[0]}" if near else f"there are {', '.join(known)}"
            raise AffineLensError(f"this study has no choice called {name!r:.60}; {advice}")
    return replace(setup, **{name: _converted(name, getattr(setup, name), value) for name, value in options.items()})


def shown(value: Any) -> str:
    """A value as it is written on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _converted(name: str, default: Any, value: Any) -> Any:
    """A value of the default's type."""
    if isinstance(default, tuple):
        parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
        return tuple(_converted(name, default[0], part) for part in parts)
    try:
        if isinstance(default, bool):
            return value if isinstance(value, bool) else _TRUTH[str(value).lower()]
        if isinstance(default, int) and int(value) != float(value):
            raise ValueError(value)
        return type(default)(value.strip() if isinstance(value, str) else value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        kind = {bool: "yes or no", int: "a whole number", float: "a number", str: "a word"}[type(default)]
        raise AffineLensError(
            f"{name} must be {kind}, as {shown(default)}, but got {shown(cast(Any, value))!r:.60}"
        ) from error


def _require_sensible(name: str, value: Any, among: tuple[str, ...]) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    if not parts:
        raise AffineLensError(f"{name} must not be empty")
    if len(set(parts)) < len(parts):
        raise AffineLensError(f"{name} names something twice: {shown(value)}")
    for part in parts:
        if among and part not in among:
            raise AffineLensError(f"{name} must be one of {', '.join(among)}, but got {part!r:.60}")
        if isinstance(part, int | float) and not isinstance(part, bool) and not _is_usable(part):
            least = 1 if isinstance(part, int) else 0
            raise AffineLensError(f"{name} must be at least {least} and finite, but got {part}")


def _is_usable(number: int | float) -> bool:
    return number >= 1 if isinstance(number, int) else 0 <= number < float("inf")
