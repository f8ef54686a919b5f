"""Values as people read them: points with few digits, counts with their noun, tables of labels and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from html import escape
from itertools import islice

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


def as_html(texts: Mapping[str, str]) -> str:
    """Labels and texts as a table, for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(label)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for label, text in texts.items()
    )
    return f"<table>{rows}</table>"
