"""S-expressions with line numbers, read one at a time from text that nobody vouches for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from affinelens.errors import AffineLensError

_TOKEN = re.compile(r"\n|;[^\n]*|[()]|\[[^\]\n(;]*\]|\"[^\"\n]*\"|[^\s()\[\];\"]+|\S")
_INDEX = re.compile(r"\[\s*(?:\d{1,9}\s*(?:,\s*\d{1,9}\s*)*)?\]")
_DEEPEST = 100
_LARGEST = 2_000_000


@dataclass(slots=True)
class Symbol:
    """A word or a number; ``index`` holds the numbers in brackets that follow it, if any do."""

    text: str
    line: int
    index: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return self.text if self.index is None else f"{self.text}[{','.join(map(str, self.index))}]"


@dataclass(slots=True)
class Form:
    """A list in parentheses, and the line it begins on."""

    items: list[Symbol | Form]
    line: int

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.items))})"


def at_line(line: int, sentence: str) -> AffineLensError:
    return AffineLensError(f"line {line}: {sentence}")


def read_forms(text: str) -> Iterator[Form]:
    """The top-level lists of a text, in order."""
    line, size = 1, 0
    open_forms: list[Form] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        first = token[0]
        if first == "\n":
            line += 1
            continue
        if first == ";":
            continue
        if first == "(":
            if len(open_forms) == _DEEPEST:
                raise at_line(line, f"lists are nested more than {_DEEPEST} deep; write the formula flatter")
            open_forms.append(Form([], line))
        elif not open_forms:
            raise at_line(line, f"found {token:.40} outside of parentheses; every statement is a list in parentheses")
        elif first == ")":
            form = open_forms.pop()
            if open_forms:
                open_forms[-1].items.append(form)
            else:
                yield form
                size = 0
                continue
        else:
            _add(open_forms[-1], token, line)
        size += 1
        if size > _LARGEST:
            raise at_line(line, f"one statement has more than {_LARGEST:,} words; split it")
    if open_forms:
        raise at_line(open_forms[0].line, "the list that begins here is never closed; add the missing )")


def _add(form: Form, token: str, line: int) -> None:
    if token[0] not in "[]":
        if token == '"':
            raise at_line(line, "a quoted name is not closed on its line")
        form.items.append(Symbol(token, line))
        return
    last = form.items[-1] if form.items else None
    if not (isinstance(last, Symbol) and last.index is None and last.text[0].isalpha() and _INDEX.fullmatch(token)):
        raise at_line(line, f"found {token:.40} where no index or shape belongs; write X[0,1], all on one line")
    last.index = tuple(int(number) for number in re.findall(r"\d+", token))
