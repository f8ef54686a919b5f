"""S-expressions: lists, words and indices with the lines they are on; what is no list is refused by its line."""

from __future__ import annotations

import pytest

from affinelens.domain.vnnlib import s_expressions
from affinelens.domain.vnnlib.s_expressions import Form, Symbol, read_forms
from affinelens.errors import AffineLensError


def test_lists_are_read_with_their_lines() -> None:
    first, second = read_forms("; a comment (no list\n(declare-const X_0 Real)\n\n(assert (<=\n  X_0 -1.5e3)) ; (end")
    assert (str(first), first.line) == ("(declare-const X_0 Real)", 2)
    assert (str(second), second.line) == ("(assert (<= X_0 -1.5e3))", 4)
    inner = second.items[1]
    assert isinstance(inner, Form)
    assert [item.line for item in inner.items] == [4, 5, 5]


def test_what_is_printed_is_read_again_as_the_same() -> None:
    text = '(a (b c[0] d[1,22]) () |e| -0.5 "f g" (h[]))'
    (form,) = read_forms(text)
    (again,) = read_forms(str(form))
    assert str(again) == str(form) == text
    assert isinstance(form.items[1], Form)
    assert form.items[1].items[1:] == [Symbol("c", 1, (0,)), Symbol("d", 1, (1, 22))]


def test_lists_are_given_out_before_the_rest_is_read() -> None:
    forms = read_forms("(first)\n)")
    assert str(next(forms)) == "(first)"
    with pytest.raises(AffineLensError, match=r"^line 2: found \) outside of parentheses"):
        next(forms)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(a)\nb", "line 2: found b outside"),
        ("(a\n(b)\n", "line 1: the list that begins here is never closed"),
        ('(a\n"b\n)', "line 2: a quoted name is not closed"),
        ("([0])", r"line 1: found \[0\] where no index"),
        ("(1[0])", r"line 1: found \[0\] where no index"),
        ("(x[0][1])", r"line 1: found \[1\] where no index"),
        ("(x[a])", r"line 1: found \[a\] where no index"),
        ("(x[0)", r"line 1: found \[ where no index"),
        ("(" * 101 + ")" * 101, "line 1: lists are nested more than 100 deep"),
    ],
)
def test_what_is_no_list_is_refused_by_its_line(text: str, words: str) -> None:
    with pytest.raises(AffineLensError, match=words):
        list(read_forms(text))


def test_a_hundred_lists_in_each_other_are_read() -> None:
    (form,) = read_forms("(" * 100 + ")" * 100)
    assert str(form) == "(" * 100 + ")" * 100


def test_the_limit_on_words_is_for_each_statement_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s_expressions, "_LARGEST", 5)
    assert [str(form) for form in read_forms("(a b\n\n\nc d)\n; e f g h\n" * 3)] == ["(a b c d)"] * 3
    for text in ("(a b c d e)", "(a (b) c)"):
        forms = read_forms(f"(a b c d)\n{text}")
        assert str(next(forms)) == "(a b c d)"
        with pytest.raises(AffineLensError, match=r"^line 2: one statement has more than 5 words"):
            next(forms)
