"""The way to what a walk has still to do: for each frame the child that is walked, and those that come after it.

A way says where in the tree of cells a piece of work is, in numbers that are the same on every machine, and where the
work comes in the order of the tree. It is all that a job needs: the kernels go there from the root again, in a few
hundred steps. A way may come from a file that nobody vouches for; whether it is there is seen when it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from affinelens.engine.vertex.layout import kinds, phases
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.state import State
from affinelens.errors import AffineLensError
from affinelens.walk import Place

# The child that is walked, the next one, and where they end.
Choice = tuple[int, int, int]
_NO_CHILD = -1
# The last cut of a cell, of which one half was found and is not walked as a child.
_HALF_DONE = -2
# What has nothing to choose from yet.
_UNTOUCHED = (_NO_CHILD, _NO_CHILD, _NO_CHILD)
_ALL = 1 << 40
_DEEPEST = 1 << 20
_WITH_CHILDREN = (phases.BRANCHING, phases.SPLIT_BY_GROUP, phases.HALVED)


@dataclass(frozen=True)
class Way:
    """The choices of all frames from the root on, and how much of the domain's volume is open there, if that is known.

    The topmost frame walks no child yet. If nothing was chosen there yet, it is ``_UNTOUCHED``.
    """

    choices: tuple[Choice, ...]
    share: float | None

    @property
    def place(self) -> Place:
        """Where its work begins, in the order of the tree."""
        *below, (_, following, _) = self.choices
        return tuple(taken for taken, _, _ in below) + ((following,) if following >= 0 else ())

    def to_json(self) -> dict[str, Any]:
        return {"choices": [list(choice) for choice in self.choices], "share": self.share}

    @classmethod
    def from_json(cls, data: Any) -> Way:
        if not isinstance(data, dict) or data.keys() != {"choices", "share"}:
            raise AffineLensError("it has a job of the vertex engine that says something else than a way")
        choices, share = data["choices"], data["share"]
        if not isinstance(choices, list) or not 0 < len(choices) < _DEEPEST or not all(map(_is_choice, choices)):
            raise AffineLensError("it has a job of the vertex engine whose way cannot be read")
        if share is not None and not (type(share) in (float, int) and 0.0 <= share <= 1.0):
            raise AffineLensError(f"it has a job whose share of the domain cannot be {share!r:.40}")
        return cls(tuple((taken, following, end) for taken, following, end in choices), share)


FROM_THE_ROOT = Way((_UNTOUCHED,), 1.0)


def together(shares: Iterable[float | None]) -> float | None:
    """How much some shares of the domain are together, if all are known."""
    known = list(shares)
    return None if None in known else sum(share for share in known if share is not None)


def _is_choice(choice: Any) -> bool:
    return (
        isinstance(choice, list)
        and len(choice) == 3
        and all(type(n) is int and _HALF_DONE <= n <= _ALL for n in choice)
    )


def open_choices(compiled: Compiled, state: State) -> list[Choice]:
    """The choices of a walk that stands between two steps, down to where nothing more is to come; none if it is over.

    Frames on top that have nothing left to do are left out, so that where the work begins is never before what is done.
    """
    frame, depth = state.stack.frame, int(state.control.depth)
    phase, kind = frame["phase"][:depth].tolist(), frame["kind"][:depth].tolist()
    choices = choices_below(compiled, state, depth)
    while choices:
        f = len(choices) - 1
        _, following, end = choices.pop()
        if kind[f] != kinds.SECTION and phase[f] not in _WITH_CHILDREN:
            return [*choices, _UNTOUCHED]
        if following < end:
            return [*choices, (_HALF_DONE if phase[f] == phases.HALVED else _NO_CHILD, following, end)]
    return choices


def choices_below(compiled: Compiled, state: State, count: int) -> list[Choice]:
    """What the first frames do, and what each has still to do."""
    columns = [state.stack.frame[name][:count].tolist() for name in ("taken", "next", "end")]
    choices: list[Choice] = list(zip(*columns, strict=True))
    for f in np.flatnonzero(state.stack.frame["kind"][:count] == kinds.SECTION).tolist():
        taken, following, end = choices[f]
        left = [unit for unit in cutting_units(state, f) if following <= unit < end]
        number = break_of(compiled, state, f, taken)
        choices[f] = (number, *range_of_breaks(compiled, state, f, left)) if left else (number, number + 1, number + 1)
    return choices


def range_of_breaks(compiled: Compiled, state: State, f: int, units: list[int]) -> tuple[int, int]:
    """The breaks from the first of some hyperplanes of a section to the last."""
    return break_of(compiled, state, f, units[0]), break_of(compiled, state, f, units[-1]) + 1


def break_of(compiled: Compiled, state: State, f: int, unit: int) -> int:
    """The break of a hyperplane that cuts the cell of a section, which is the same on every machine."""
    program = compiled.program
    first = program.domain_rows + int(program.stage["break_offset"][int(state.stack.frame[f].stage)])
    return int(state.rows.hyperplane["break_number"][first + unit])


def cutting_units(state: State, f: int) -> list[int]:
    """The hyperplanes that cut the cell of frame f, by their numbers among those of its stage."""
    words = state.stack.cutting[f, : int(state.stack.frame[f].live)].tolist()
    return [64 * w + b for w, word in enumerate(words) for b in range(word.bit_length()) if word >> b & 1]
