"""VNN-LIB: both versions give the domains and conditions they state, exactly; the rest is refused by its line."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import affinelens as al
from affinelens.domain import Case, Constraint, domain_from_json
from affinelens.domain.vnnlib import s_expressions
from affinelens.domain.vnnlib.reader import parse_vnnlib
from affinelens.errors import AffineLensError
from support.mutation import escapes
from support.vnnlib_files import vnnlib_reader, vnnlib_samples

TWO_INPUTS = """; a comment (with parentheses
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
"""
BOUNDS = """(assert (<= X_0 0.1)) (assert (>= X_0 -0.1))
(assert (and (<= X_1 1) (>= X_1 0)))
"""
VERSION_2 = """(vnnlib-version <2.0>)
(declare-network f (declare-input X real [1,2]) (declare-output Y float32 [2]))
"""


def only_case(text: str) -> Case:
    (case,) = parse_vnnlib(text).cases
    return case


def sides(domain: al.Domain) -> list[tuple[Fraction, Fraction]]:
    """The bounds of a box, exactly; an input that is fixed has equal ones."""
    assert isinstance(domain, al.Box)
    rows = iter(domain.frame.rows.to_fractions())
    bounds = []
    for row in domain.frame.chart.to_fractions():
        bounds.append((-next(rows)[-1], next(rows)[-1]) if any(row[:-1]) else (row[-1], row[-1]))
    return bounds


def test_decimals_are_read_exactly() -> None:
    case = only_case(TWO_INPUTS + BOUNDS + "(assert (<= Y_0 Y_1))")
    assert sides(case.domain) == [(Fraction(-1, 10), Fraction(1, 10)), (0, 1)]
    assert case.condition == ((Constraint((), ((0, Fraction(-1)), (1, Fraction(1))), Fraction(0)),),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.25", Fraction(1, 4)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1e-3", Fraction(1, 1000)),
        ("2.5E+1", 25),
        ("+3", 3),
        ("1/3", Fraction(1, 3)),
        ("(/ 1 3)", Fraction(1, 3)),
        ("(- 0.5)", Fraction(-1, 2)),
        ("(- 1 0.25 0.25)", Fraction(1, 2)),
        ("(* 2 (+ 1 0.5) 3)", 9),
    ],
)
def test_numbers(text: str, value: Fraction) -> None:
    case = only_case(f"{TWO_INPUTS}{BOUNDS}(assert (>= Y_0 {text}))")
    assert case.condition == ((Constraint((), ((0, Fraction(1)),), Fraction(-value)),),)


def test_linear_expressions_on_both_sides() -> None:
    text = "(assert (< (+ (* 2 Y_0) (* X_0 3) 1) (- Y_1 (* 0.5 X_0))))"
    ((constraint,),) = only_case(TWO_INPUTS + BOUNDS + text).condition
    assert constraint == Constraint(
        ((0, Fraction(-7, 2)),), ((0, Fraction(-2)), (1, Fraction(1))), Fraction(-1), strict=True
    )
    assert constraint.value([Fraction(2), Fraction(9)], [Fraction(1), Fraction(10)]) == 0
    assert not constraint.holds([Fraction(2), Fraction(9)], [Fraction(1), Fraction(10)])
    assert constraint.holds([Fraction(2), Fraction(9)], [Fraction(1), Fraction(11)])


def test_version_2_flattens_indices_row_by_row() -> None:
    text = VERSION_2 + "(assert (and (>= X[0,0] 20.0) (<= X[0,0] 40.0) (== X[0, 1] 0.1))) (assert (!= Y[1] 0.5))"
    prop = parse_vnnlib(text)
    assert (prop.input_shape, prop.output_shape, prop.inputs, prop.outputs) == ((1, 2), (2,), 2, 2)
    (case,) = prop.cases
    assert case.domain.dim == 1
    assert sides(case.domain) == [(20, 40), (Fraction(1, 10), Fraction(1, 10))]
    plus, minus = Fraction(1), Fraction(-1)
    assert case.condition == (
        (Constraint((), ((1, plus),), Fraction(-1, 2), strict=True),),
        (Constraint((), ((1, minus),), Fraction(1, 2), strict=True),),
    )


def test_both_versions_say_the_same() -> None:
    first = TWO_INPUTS + BOUNDS + "(assert (or (<= Y_0 0) (and (>= Y_1 1) (> Y_0 2))))"
    second = VERSION_2 + BOUNDS + "(assert (or (<= Y_0 0) (and (>= Y_1 1) (> Y_0 2))))"
    for name in ("X_0", "X_1"):
        second = second.replace(name, f"X[0,{name[-1]}]")
    for name in ("Y_0", "Y_1"):
        second = second.replace(name, f"Y[{name[-1]}]")
    a, b = only_case(first), only_case(second)
    assert a.condition == b.condition
    assert a.domain.to_json() == b.domain.to_json()


def test_a_scalar_has_no_index() -> None:
    text = "(vnnlib-version <2.0>)(declare-network f (declare-input X real []) (declare-output Y real []))"
    case = only_case(text + "(assert (and (>= X 0) (<= X 1) (>= Y 0)))")
    assert sides(case.domain) == [(0, 1)]


def test_boxes_in_a_disjunction_are_cases() -> None:
    text = """(assert (or (and (<= X_0 1) (>= X_0 0)) (and (<= X_0 3) (>= X_0 2))))
(assert (and (>= X_1 0) (<= X_1 1)))
(assert (or (<= Y_0 0) (<= Y_1 0)))"""
    cases = parse_vnnlib(TWO_INPUTS + text).cases
    assert [sides(case.domain) for case in cases] == [[(0, 1), (0, 1)], [(2, 3), (0, 1)]]
    assert [len(case.condition) for case in cases] == [2, 2]


def test_alternatives_with_the_same_domain_are_one_case() -> None:
    text = "(assert (or (and (<= X_0 1) (<= Y_0 0)) (and (<= X_0 0.05) (<= Y_1 0)) (and (<= X_0 2) (<= Y_1 1))))"
    cases = parse_vnnlib(TWO_INPUTS + BOUNDS + text).cases
    assert [sides(case.domain)[0][1] for case in cases] == [Fraction(1, 10), Fraction(1, 20)]
    assert [len(case.condition) for case in cases] == [2, 1]


def test_linear_input_constraints_make_a_polytope() -> None:
    domain = only_case(TWO_INPUTS + BOUNDS + "(assert (<= (+ X_0 X_1) 0.3)) (assert (>= Y_0 0))").domain
    assert isinstance(domain, al.Polytope)
    assert domain.dim == 2
    assert [Fraction(-1), Fraction(-1), Fraction(3, 10)] in [
        [entry / -row[0] for entry in row] if row[0] < 0 else row for row in domain.frame.rows.to_fractions()
    ]


def test_linear_constraints_may_bound_an_input_together() -> None:
    text = "(assert (>= X_0 0)) (assert (>= X_1 0)) (assert (<= (+ X_0 X_1) 1))"
    assert only_case(TWO_INPUTS + text).domain.dim == 2


def test_strict_input_constraints_close_the_domain_and_stay_in_the_condition() -> None:
    case = only_case(TWO_INPUTS + BOUNDS + "(assert (> X_1 0.5)) (assert (>= Y_0 0))")
    assert sides(case.domain)[1] == (Fraction(1, 2), 1)
    (conjunction,) = case.condition
    assert Constraint(((1, Fraction(1)),), (), Fraction(-1, 2), strict=True) in conjunction
    assert not case.holds([Fraction(0), Fraction(1, 2)], [Fraction(1), Fraction(0)])
    assert case.holds([Fraction(0), Fraction(3, 4)], [Fraction(1), Fraction(0)])


def test_without_output_constraints_the_condition_always_holds() -> None:
    case = only_case(TWO_INPUTS + BOUNDS)
    assert case.condition == ((),)
    assert case.holds([Fraction(0)] * 2, [Fraction(0)] * 2)


@pytest.mark.parametrize("linear", ["", "(assert (<= (+ X_0 X_1) 1))"])
def test_a_property_of_a_single_input_is_a_point(linear: str) -> None:
    text = "(assert (= X_0 0.1)) (assert (and (<= X_1 0) (>= X_1 0))) (assert (>= Y_0 0))"
    domain = only_case(TWO_INPUTS + text + linear).domain
    assert isinstance(domain, al.Point)
    assert domain.exact == (Fraction(1, 10), 0)
    assert domain.dim == 0
    again = domain_from_json(json.loads(json.dumps(domain.to_json())))
    assert isinstance(again, al.Point)
    assert again.exact == domain.exact
    with pytest.raises(AffineLensError, match="single point"):
        al.count([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])], domain)


def test_alternatives_that_no_input_satisfies_are_dropped_with_a_note() -> None:
    text = TWO_INPUTS + BOUNDS + "(assert (or (and (>= X_0 5) (<= Y_0 0)) (<= Y_1 0) (and (<= 1 0) (<= Y_0 0))))"
    prop = parse_vnnlib(text)
    assert len(prop.cases) == len(prop.notes) == 1
    assert "X_0 has lower bound 5 above its upper bound 0.1" in prop.notes[0]


def test_commands_without_meaning_are_passed_over() -> None:
    text = "(set-logic QF_LRA)" + TWO_INPUTS + BOUNDS + "(assert (<= 0 1))(check-sat)(exit)"
    assert only_case(text).condition == ((),)


def test_packed_files_are_read(tmp_path: Path) -> None:
    plain, packed = tmp_path / "p.vnnlib", tmp_path / "p.vnnlib.gz"
    plain.write_text(TWO_INPUTS + BOUNDS)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    first, second = (al.read_vnnlib(path).cases[0].domain for path in (plain, packed))
    assert first.to_json() == second.to_json()


def test_a_property_knows_its_network() -> None:
    prop = parse_vnnlib(TWO_INPUTS + BOUNDS)
    prop.require_sizes(2, 2)
    with pytest.raises(AffineLensError, match="speaks of 2 inputs but the network has 5"):
        prop.require_sizes(5, 2)
    with pytest.raises(AffineLensError, match="speaks of 2 outputs but the network has 1"):
        prop.require_sizes(2, 1)


def test_many_inputs_and_alternatives() -> None:
    count = 150
    text = "".join(f"(declare-const X_{i} Real)\n" for i in range(count)) + "(declare-const Y_0 Real)\n"
    text += "".join(f"(assert (<= X_{i} 0.3))(assert (>= X_{i} 0.1))\n" for i in range(count))
    text += f"(assert (or {' '.join(f'(and (<= X_{i} 0.2) (>= Y_0 {i}))' for i in range(count))}))"
    prop = parse_vnnlib(text)
    assert len(prop.cases) == count
    assert sides(prop.cases[7].domain)[7] == (Fraction(1, 10), Fraction(1, 5))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no statements"),
        ("; nothing\n", "holds no statements"),
        ("X_0", "line 1: found X_0 outside of parentheses"),
        (")", r"line 1: found \) outside of parentheses"),
        ("()", r"line 1: found \(\) where a statement"),
        ("\n\n(assert (<= 1 2)", "line 3: the list that begins here is never closed"),
        ("(" * 101, "line 1: lists are nested more than 100 deep"),
        ("(declare-fun X_0 () Real)", "line 1: declare-fun is no statement of VNN-LIB 1.0"),
        ("(declare-const Z_0 Real)", "line 1: the variable Z_0 is neither an input"),
        ("(declare-const X_0 Int)", "line 1: .* declared as"),
        ("(declare-const X_0)", "line 1: .* declared as"),
        (TWO_INPUTS + "(declare-const X_1 Real)", "line 6: the variable X_1 is declared twice"),
        ("(declare-const X_0 Real)", "declares no variable Y_0"),
        ("(declare-const X_999999999 Real)(declare-const Y_0 Real)", "declares 1 variables X_... but not X_0"),
        (TWO_INPUTS, "the input X_0 has no lower bound"),
        (TWO_INPUTS + "(assert (>= X_0 0))(assert (>= X_1 0))(assert (<= X_0 1))", "the input X_1 has no upper bound"),
        (TWO_INPUTS + "(assert (<= (+ X_0 X_1) 1))(assert (>= X_0 0))", "unbounded"),
        (TWO_INPUTS + BOUNDS + "(assert (= X_0 X_1))", "the polytope is flat"),
        (TWO_INPUTS + BOUNDS + "(assert (>= X_0 1))", "no input satisfies its constraints: X_0 has lower bound 1"),
        (TWO_INPUTS + BOUNDS + "(assert (>= (+ X_0 X_1) 7))", "no input satisfies .*: the polytope is empty"),
        (TWO_INPUTS + BOUNDS + "(assert (< 1 1))", "contradict each other"),
        (TWO_INPUTS + BOUNDS + "(assert (or (< 1 1) (> 0 1)))", "contradict each other"),
        (TWO_INPUTS + "(assert (<= X_2 1))", "line 6: X_2 is not declared"),
        (TWO_INPUTS + "(assert (<= X[0] 1))", r"line 6: X\[0\] is not declared"),
        (TWO_INPUTS + "(assert (<= X_0 1e9999))", "line 6: 1e9999 is not declared and not a number"),
        (TWO_INPUTS + "(assert (<= X_0 1/0))", "line 6: 1/0 is not declared and not a number"),
        (TWO_INPUTS + "(assert (<= X_0 (/ 1 0)))", "line 6: .* divides by zero"),
        (TWO_INPUTS + "(assert (<= (/ 1 X_0) 1))", "line 6: .* divides by a variable"),
        (TWO_INPUTS + "\n(assert (<= X_0 1))\n(assert (<= (* X_0 2 Y_1) 1))", "line 8: .* multiplies two variables"),
        (TWO_INPUTS + "(assert (<= X_0 1 2))", "line 6: <= compares two expressions, but got 3"),
        (TWO_INPUTS + "(assert (not (<= X_0 1)))", "line 6: not is not read; and, or, <=, .* are"),
        (TWO_INPUTS + "(assert X_0)", "line 6: found X_0 where a comparison"),
        (TWO_INPUTS + "(assert ((<= X_0 1)))", "line 6: .* where a comparison"),
        (TWO_INPUTS + "(assert (and))", "line 6: and needs at least one formula"),
        (TWO_INPUTS + "(assert)", "line 6: assert takes one formula"),
        (TWO_INPUTS + "(assert (<= X_0 (sin 1)))", r"line 6: found \(sin 1\) where a linear expression"),
        (TWO_INPUTS + "(assert (<= X_0 (+)))", r"line 6: found \(\+\) where a linear expression"),
        (TWO_INPUTS + f"(assert (<= X_0 (* {'1e999 ' * 20})))", "line 6: .* thousands of digits"),
        (TWO_INPUTS + BOUNDS + "(assert (or (<= Y_0 0) (<= Y_1 0)))" * 64, "at most 100,000"),
        ("(assert (<= [0] 1))", r"line 1: found \[0\] where no index"),
        ("(assert (<= X[0 1))", r"line 1: found \[ where no index"),
        ("(assert (<= X[-1] 1))", r"line 1: found \[-1\] where no index"),
        ('(assert "x', "line 1: a quoted name is not closed"),
        ("(vnnlib-version <3.0>)", "line 1: the version is <3.0>; 1.0 .* and <2.0> are read"),
        ("(vnnlib-version)", "line 1: the version is nothing"),
        ("(vnnlib-version <2.0>)", "declares no network"),
        ("(vnnlib-version <2.0>)(assert (<= 0 1))", "line 1: nothing is declared yet"),
        ("(vnnlib-version <2.0>)\n(declare-const X_0 Real)", "line 2: declare-const is no statement of VNN-LIB 2.0"),
        (VERSION_2 + "(declare-network g (declare-input Z real [1]))", "line 3: a second network"),
        ("(vnnlib-version <2.0>)(declare-network)", "line 1: a network is declared as"),
        ("(vnnlib-version <2.0>)(declare-network f (declare-input X real [1]))", "line 1: a network needs one"),
        ("(vnnlib-version <2.0>)(declare-network f (isomorphic-to g))", "line 1: isomorphic-to is not read"),
        ("(vnnlib-version <2.0>)(declare-network f (declare-input X real))", "line 1: .* declared as"),
        ("(vnnlib-version <2.0>)(declare-network f (declare-input X int8 [2]))", "line 1: the input X has type int8"),
        ("(vnnlib-version <2.0>)(declare-network f (declare-input X real [0]))", "line 1: the input X has 0 numbers"),
        (
            "(vnnlib-version <2.0>)(declare-network f (declare-input X real [99999999,99999999]))",
            "line 1: the input X has 9999999800000001 numbers",
        ),
        (
            "(vnnlib-version <2.0>)(declare-network f (declare-input X real [2]) (declare-input Z real [2]))",
            "line 1: a second input",
        ),
        (VERSION_2 + "(assert (<= X[0] 1))", r"line 3: X\[0\] does not lie in the shape \[1, 2\]"),
        (VERSION_2 + "(assert (<= X[0,2] 1))", r"line 3: X\[0,2\] does not lie in the shape"),
        (VERSION_2 + "(assert (<= Z[0] 1))", r"line 3: Z\[0\] is not declared .*; X and Y are declared"),
        (VERSION_2 + "(assert (<= X[0,0] 1))", r"the input X\[0,0\] has no lower bound"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_its_line(text: str, problem: str) -> None:
    with pytest.raises(AffineLensError, match=problem) as caught:
        parse_vnnlib(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_statement_of_very_many_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s_expressions, "_LARGEST", 20_000)
    with pytest.raises(AffineLensError, match="more than 20,000 words"):
        parse_vnnlib("(" + "a " * 20_001 + ")")


def test_too_many_cases_of_too_many_inputs_are_refused() -> None:
    shape = "(vnnlib-version <2.0>)(declare-network f (declare-input X real [9000000]) (declare-output Y real [1]))"
    with pytest.raises(AffineLensError, match="at most 5,000,000 bounds"):
        parse_vnnlib(shape + "(assert (<= X[3] 1))")


def test_linear_constraints_on_very_many_inputs_are_refused() -> None:
    shape = "(vnnlib-version <2.0>)(declare-network f (declare-input X real [100000]) (declare-output Y real [1]))"
    with pytest.raises(AffineLensError, match="a matrix of 200,000 numbers"):
        parse_vnnlib(shape + "(assert (<= (+ X[0] X[1]) 1)) (assert (<= (+ X[0] X[2]) 1))")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("none.vnnlib", None, "no such file"),
        ("bad.vnnlib.gz", b"not gzip", "cannot be read"),
        ("short.vnnlib.gz", gzip.compress(b"x" * 10000, mtime=0)[:-10], "cannot be read"),
        ("binary.vnnlib", b"\xff\xfe\x00", "is not a text file"),
        ("bomb.vnnlib.gz", gzip.compress(b" " * (65 * 2**20), mtime=0), "more than 64 MiB"),
        ("line.vnnlib", b"\n(", "line 2: the list"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, problem: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AffineLensError, match=problem) as caught:
        al.read_vnnlib(path)
    assert str(caught.value).startswith(str(path))


NAMES = ["X_0", "X_1", "Y_0", "Y_1"]
numbers = st.builds(lambda n, d: f"{n}.{d}", st.integers(-9, 9), st.integers(0, 99))
terms = st.one_of(numbers, st.sampled_from(NAMES))
expressions = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(+ {' '.join(parts)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(- {' '.join(parts)})"),
        st.builds(lambda factor, part: f"(* {factor} {part})", numbers, inner),
    ),
    max_leaves=5,
)
comparisons = st.builds(
    lambda sign, a, b: f"({sign} {a} {b})",
    st.sampled_from(["<=", ">=", "<", ">", "==", "!="]),
    expressions,
    expressions,
)
formulas = st.recursive(
    comparisons,
    lambda inner: st.builds(
        lambda word, parts: f"({word} {' '.join(parts)})",
        st.sampled_from(["and", "or"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)
small = st.fractions(-3, 3, max_denominator=4)


def evaluated(text: str, values: dict[str, Fraction]) -> bool:
    """The formula's truth by Python's own evaluation, as an independent reader would have it."""
    tokens = iter(text.replace("(", " ( ").replace(")", " ) ").split())

    def read(token: str) -> bool | Fraction:
        if token != "(":
            return values[token] if token in values else Fraction(token)
        head, arguments = next(tokens), []
        while (token := next(tokens)) != ")":
            arguments.append(read(token))
        first, rest = arguments[0], arguments[1:]
        if head == "and":
            return all(arguments)
        if head == "or":
            return any(arguments)
        if head == "+":
            return sum(arguments, Fraction(0))
        if head == "-":
            return first - sum(rest, Fraction(0)) if rest else -first
        if head == "*":
            return first * rest[0]
        return {
            "<=": first <= rest[0], ">=": first >= rest[0], "<": first < rest[0],
            ">": first > rest[0], "==": first == rest[0], "!=": first != rest[0],
        }[head]  # fmt: skip

    return bool(read(next(tokens)))


@given(formulas, st.tuples(small, small, small, small))
@settings(max_examples=150, deadline=None)
def test_the_cases_of_a_formula_say_what_it_says(formula: str, values: tuple[Fraction, ...]) -> None:
    bounds = "(assert (and (>= X_0 -3) (<= X_0 3) (>= X_1 -3) (<= X_1 3)))"
    expected = evaluated(formula, dict(zip(NAMES, values, strict=True)))
    try:
        prop = parse_vnnlib(f"{TWO_INPUTS}{bounds}(assert {formula})")
    except AffineLensError as error:
        message = str(error)
        if "flat" not in message:
            assert not expected, message
            assert "no input satisfies" in message or "contradict" in message
        return
    x, y = values[:2], values[2:]
    assert any(contains(case.domain, x) and case.holds(x, y) for case in prop.cases) == expected


def contains(domain: al.Domain, x: tuple[Fraction, ...]) -> bool:
    if isinstance(domain, al.Point):
        return domain.exact == x
    chart, free = domain.frame.chart.to_fractions(), []
    for row, value in zip(chart, x, strict=True):
        if any(row[:-1]):
            free.append(value)
        elif row[-1] != value:
            return False
    return all(
        sum((a * v for a, v in zip(row, free, strict=False)), row[-1]) >= 0 for row in domain.frame.rows.to_fractions()
    )


@given(st.text(alphabet='()[]XY_01.;\n <>=andor+-*/"', max_size=200))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    for start in ("", TWO_INPUTS, VERSION_2):
        try:
            parse_vnnlib(start + text)
        except AffineLensError as error:
            assert "\n" not in str(error)  # noqa: PT017 (what is read is fine as well)


def test_bounds_beyond_float64_that_contradict_each_other_are_refused_in_one_sentence() -> None:
    text = "(declare-const X_0 Real)(declare-const Y_0 Real)"
    for bounds in (
        f"(assert (>= X_0 {'9' * 400}))(assert (<= X_0 1))",
        f"(assert (>= X_0 1))(assert (<= X_0 -{'9' * 400}))",
    ):
        with pytest.raises(AffineLensError, match=r"X_0 has lower bound .* above its upper bound"):
            parse_vnnlib(text + bounds)


def test_damaged_files_give_a_property_or_one_sentence(tmp_path: Path) -> None:
    found = [
        f"mutant {number}: {error!r}"
        for number, _, error in escapes(vnnlib_samples(), vnnlib_reader(tmp_path), count=1000, seed=1)
    ]
    assert not found
