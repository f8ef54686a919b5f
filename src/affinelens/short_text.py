"""Values as people read them: points with few digits, counts with their noun, tables of labels and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from itertools import islice
from math import ceil, floor

_MOST = 4


def point_text(values: Iterable[float | Fraction]) -> str:
    """A point in brackets, six digits a number, and no more than four of them.

    >>> point_text([0.25, 1 / 3])
    '(0.25, 0.333333)'
    >>> point_text(range(784))
    '(0, 1, 2, 3, ... 784 numbers)'
    """
    numbers = iter(values)
    shown = [f"{float(value):.6g}" for value in islice(numbers, _MOST)]
    rest = sum(1 for _ in numbers)
    return f"({', '.join([*shown, f'... {_MOST + rest} numbers'] if rest else shown)})"


def counted(number: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "region"), counted(2000, "region")
    ('1 region', '2,000 regions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def power_of_ten(exponent: float, *, up: bool = False) -> str:
    """A number given by its exponent, in one digit or, if it is small, as it is.

    >>> power_of_ten(2), power_of_ten(9.5), power_of_ten(9.5, up=True)
    ('100', '3 x 10^9', '4 x 10^9')
    """
    if exponent < 3:
        value = 10**exponent
        return str(ceil(value - 1e-9) if up else round(value))
    whole = floor(exponent)
    digit = 10 ** (exponent - whole)
    digit = ceil(digit) if up else round(digit)
    return f"{digit} x 10^{whole}" if digit < 10 else f"10^{whole + 1}"


def shown_counts(counts: Sequence[int], room: int) -> str:
    """Counts stage by stage in at most so many characters: the first and as many of the last as fit, or nothing."""
    texts = [f"{count:,}" for count in counts]
    for left_out in range(len(texts) - 1):
        shown = texts if left_out == 0 else [texts[0], "...", *texts[1 + left_out :]]
        line = " -> ".join(shown)
        if len(line) <= room:
            return line
    return texts[-1] if texts and len(texts[-1]) <= room else ""


def as_html(texts: Mapping[str, str]) -> str:
    """Labels and texts as a table, for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(label)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for label, text in texts.items()
    )
    return f"<table>{rows}</table>"
