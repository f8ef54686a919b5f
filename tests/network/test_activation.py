"""Activations: values, patterns and breaks agree with each other and with the function they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.arithmetic import ExactMatrix
from affinelens.errors import AffineLensError
from affinelens.network import Activation, MaxGroups, PiecewiseLinear
from affinelens.network.activation import OPEN
from affinelens.network.enclosure import Enclosure
from support.brute_force import Layer
from support.networks import ABSOLUTE, HARD_TANH, LEAKY, LINEAR, NEGATIVE_SLOPE, RELU, ZIGZAG, activation, evaluate

MIXED = [RELU, LEAKY, NEGATIVE_SLOPE, ABSOLUTE, HARD_TANH, ZIGZAG, LINEAR]
GROUPS = [1, 2, 4]
CASES = {
    "mixed": (activation(MIXED), Layer(np.eye(7).tolist(), [0.0] * 7, MIXED)),
    "max": (MaxGroups(np.array([0, 1, 3, 7])), Layer(np.eye(7).tolist(), [0.0] * 7, None, GROUPS)),
}
every_case = pytest.mark.parametrize("name", CASES)
property_test = settings(deadline=None, derandomize=True, max_examples=80)
# Halves, so that values on breakpoints and draws are common.
inputs = st.lists(st.integers(-5, 5).map(lambda n: n / 2), min_size=7, max_size=7)


def signs_of_breaks(function: Activation, z: Sequence[float]) -> np.ndarray:
    breaks = function.breaks
    taken = np.append(z, 0.0)
    return np.sign(taken[breaks.plus] - taken[breaks.minus] - breaks.threshold).astype(np.int8)


@every_case
@property_test
@given(z=inputs)
def test_values_are_those_of_the_function(name: str, z: list[float]) -> None:
    function, layer = CASES[name]
    expected, _ = evaluate([layer], z)
    column = np.array(z)[:, None]
    assert [Fraction(v) for v in function.apply(column)[:, 0]] == expected
    assert [row[0] for row in function.apply_exact(ExactMatrix.from_floats(column)).to_fractions()] == expected


@every_case
@property_test
@given(z=inputs)
def test_the_pattern_of_the_signs_selects_the_value(name: str, z: list[float]) -> None:
    function, layer = CASES[name]
    expected, pattern = evaluate([layer], z)
    assert function.pattern_from_signs(signs_of_breaks(function, z)).tolist() == pattern
    column = np.array(z)[:, None]
    chosen = np.array(pattern)
    assert [row[0] for row in function.select_exact(ExactMatrix.from_floats(column), chosen).to_fractions()] == expected
    selected = function.select(Enclosure.values(column), chosen[:, None])
    for value, row, error in zip(expected, selected.rows[:, 0], selected.error[:, 0], strict=True):
        assert abs(value - Fraction(row)) <= Fraction(error)


@every_case
@property_test
@given(z=inputs)
def test_a_pattern_holds_exactly_where_its_constraints_do(name: str, z: list[float]) -> None:
    function, layer = CASES[name]
    signs = signs_of_breaks(function, z)
    if not signs.all():
        return
    _, pattern = evaluate([layer], z)
    for choice, piece in enumerate(pattern):
        holding = [
            option
            for option in range(int(function.piece_counts[choice]))
            if all(signs[i] == sign for i, sign in function.constraints(choice, option))
        ]
        assert holding == [piece]


@every_case
def test_every_choice_has_its_own_number_of_pieces(name: str) -> None:
    expected = {"mixed": [len(breakpoints) + 1 for breakpoints, _, _ in MIXED], "max": GROUPS}
    function, _ = CASES[name]
    assert function.piece_counts.tolist() == expected[name]
    assert function.pieces == max(expected[name])


@every_case
@property_test
@given(z=inputs)
def test_outputs_are_lines_on_the_pieces_at_a_point(name: str, z: list[float]) -> None:
    function, layer = CASES[name]
    expected, pattern = evaluate([layer], z)
    column = np.array(z)[:, None]
    assert function.pieces_at(column)[:, 0].tolist() == pattern
    for chosen, values in ((np.array(pattern), np.array(z)), (np.array(pattern)[:, None], column)):
        lines = function.lines(chosen)
        assert (lines.slopes * lines.taken(values) + lines.offsets).ravel().tolist() == expected
    one_by_one = [function.line(choice, piece) for choice, piece in enumerate(pattern)]
    assert [slope * z[unit] + offset for unit, slope, offset in one_by_one] == expected


@every_case
@property_test
@given(z=inputs, weights=st.lists(st.integers(-3, 3), min_size=7, max_size=7))
def test_weights_of_outputs_given_back_to_units_weigh_the_same(name: str, z: list[float], weights: list[int]) -> None:
    function, layer = CASES[name]
    expected, pattern = evaluate([layer], z)
    lines = function.lines(np.array(pattern))
    of_outputs = np.array(weights[: function.size_out], dtype=np.float64)
    of_units = lines.given_back(lines.slopes * of_outputs, function.size_in)
    assert of_units @ z + of_outputs @ lines.offsets == sum(w * v for w, v in zip(weights, expected, strict=False))
    exact = function.give_back_exact(ExactMatrix.from_floats(of_outputs), np.array(pattern))
    assert [row[0] for row in exact.to_fractions()] == [Fraction(w) for w in of_units.tolist()]


@every_case
def test_the_signs_on_a_piece_are_its_constraints(name: str) -> None:
    function, _ = CASES[name]
    for choice, count in enumerate(function.piece_counts.tolist()):
        for piece in range(count):
            pieces = np.zeros((function.choices, 1), dtype=np.int64)
            pieces[choice] = piece
            signs = function.signs_on(pieces)[:, 0]
            own = np.flatnonzero(function.breaks.choice == choice)
            constraints = dict(function.constraints(choice, piece))
            assert all(signs[b] == side for b, side in constraints.items())
            if function.grouped:
                assert not signs[[b for b in own.tolist() if b not in constraints]].any()


@every_case
@pytest.mark.parametrize("side", [-1, 1])
def test_beyond_a_break_is_the_piece_on_its_other_side(name: str, side: int) -> None:
    function, _ = CASES[name]
    for index, choice in enumerate(function.breaks.choice.tolist()):
        below, above = int(function.sides.below[index]), int(function.sides.above[index])
        here, there = (below, above) if side < 0 else (above, below)
        assert (index, side) in function.constraints(choice, here)
        assert function.piece_beyond(choice, here, {index: -side}.get) == there
        assert function.piece_beyond(choice, here, {index: side}.get) == here


def test_of_several_that_draw_level_the_one_ahead_beyond_wins() -> None:
    """Beyond the hyperplane x = 0 of 0, x, 3x, x the fastest wins; of 0, x, x the first of equals."""
    function = MaxGroups(np.array([0, 4]))
    slopes = [0, 1, 3, 1]
    assert function.piece_beyond(0, 0, lambda b: _lead(function, slopes, b)) == 2
    assert function.piece_beyond(0, 0, lambda b: _lead(function, [0, 1, 1, 1], b)) == 1


def _lead(function: MaxGroups, slopes: list[int], index: int) -> int:
    return int(np.sign(slopes[function.breaks.plus[index]] - slopes[function.breaks.minus[index]]))


@every_case
@property_test
@given(z=inputs, hidden=st.sets(st.integers(0, 8)))
def test_what_is_left_where_signs_are_known_is_the_same_function(name: str, z: list[float], hidden: set[int]) -> None:
    function, layer = CASES[name]
    signs = signs_of_breaks(function, z)
    _, pattern = evaluate([layer], z)
    known = signs.copy()
    if not signs.all():
        return
    known[[b for b in hidden if b < len(signs)]] = OPEN
    first, last = function.possible_pieces(known)
    assert (first <= pattern).all()
    assert (pattern <= last).all()
    left = function.restricted(known)
    assert function.switching_units(known).nonzero()[0].tolist() == left.units.tolist()
    own = left.activation.pattern_from_signs(signs[left.breaks])
    found = left.pattern.copy()
    found[left.choices] = left.pieces[np.arange(len(own)), own]
    assert found.tolist() == pattern
    settled = function.settled(known)
    settled[settled == OPEN] = signs[settled == OPEN]
    assert function.pattern_from_signs(settled).tolist() == pattern


@every_case
def test_its_fields_are_all_there_is_to_save(name: str) -> None:
    function, _ = CASES[name]
    again = type(function)(**{field.name: getattr(function, field.name) for field in fields(function)})
    column = np.linspace(-2, 2, 7)[:, None]
    assert again.kind == function.kind
    assert np.array_equal(again.apply(column), function.apply(column))
    assert np.array_equal(again.breaks.threshold, function.breaks.threshold)


def test_every_breakpoint_is_a_break_and_names_its_unit() -> None:
    function = activation(MIXED)
    assert function.breaks.choice.tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 5]
    assert function.breaks.threshold.tolist() == [0, 0, 0, 0, -1, 1, -1, 0, 1]
    assert function.describe(0) == "unit 0"
    assert function.describe(5) == "unit 4 at 1"


def test_a_group_breaks_where_two_of_its_members_are_equal() -> None:
    breaks = MaxGroups(np.array([0, 2, 5])).breaks
    assert list(zip(breaks.plus.tolist(), breaks.minus.tolist(), strict=True)) == [(0, 1), (2, 3), (2, 4), (3, 4)]
    assert breaks.choice.tolist() == [0, 1, 1, 1]


def test_in_a_draw_the_first_wins() -> None:
    function = MaxGroups(np.array([0, 3]))
    assert function.pattern_from_signs(np.zeros(3, dtype=np.int8)).tolist() == [0]
    assert function.pattern_from_signs(signs_of_breaks(function, [1.0, 2.0, 2.0])).tolist() == [1]


@pytest.mark.parametrize(
    ("breakpoints", "slopes", "offsets", "left"),
    [
        ([0.0], [1.0, 1.0], [0.0, 0.0], 0),
        ([-1.0, 1.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0], 0),
        ([-1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], 1),
    ],
)
def test_breakpoints_at_which_nothing_changes_vanish(
    breakpoints: list[float], slopes: list[float], offsets: list[float], left: int
) -> None:
    function = PiecewiseLinear.of(3, breakpoints, slopes, offsets)
    assert len(function.breaks) == 3 * left
    assert function.pieces == left + 1
    values = [Fraction(n, 4) for n in range(-8, 9)]
    layer = Layer([[1.0]], [0.0], [(breakpoints, slopes, offsets)])
    expected = [float(evaluate([layer], [v])[0][0]) for v in values]
    assert function.apply(np.tile([float(v) for v in values], (3, 1))).tolist() == [expected] * 3


def test_leaky_relu_of_slope_one_has_no_breaks_beside_units_that_have() -> None:
    function = PiecewiseLinear.two_slopes(np.array([1.0, 0.5, 1.0]))
    assert function.breaks.choice.tolist() == [1]
    assert function.apply(np.array([[-2.0], [-2.0], [3.0]])).ravel().tolist() == [-2.0, -1.0, 3.0]


@pytest.mark.parametrize(
    ("breakpoints", "slopes", "offsets", "message"),
    [
        ([0.0], [0.0, 1.0], [0.0, 1.0], "continuous"),
        ([1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], "increase"),
        ([0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], "increase"),
        ([np.nan], [0.0, 1.0], [0.0, 0.0], "NaN"),
        ([0.0], [0.0, np.inf], [0.0, 0.0], "infinity"),
        ([-np.inf], [0.0, 1.0], [0.0, 0.0], "finite"),
        ([0.0], [0.0, 1.0, 2.0], [0.0, 0.0], "shape"),
    ],
)
def test_what_is_not_a_continuous_function_is_refused(
    breakpoints: list[float], slopes: list[float], offsets: list[float], message: str
) -> None:
    with pytest.raises(AffineLensError, match=message):
        PiecewiseLinear.of(2, breakpoints, slopes, offsets)


@pytest.mark.parametrize("starts", [[0], [1, 2], [0, 2, 2], [0, 3, 1]])
def test_groups_without_members_are_refused(starts: list[int]) -> None:
    with pytest.raises(AffineLensError, match="max groups"):
        MaxGroups(np.array(starts))


def test_units_of_one_function_share_its_row() -> None:
    many = PiecewiseLinear.of(10**7, [-1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.5], [-1.0, 0.0, 0.0, 0.5])
    assert many.breakpoints.shape == (10**7, 2)
    assert {many.breakpoints.strides[0], many.slopes.strides[0], many.offsets.strides[0]} == {0}
    few = PiecewiseLinear.of(3, [-1.0, 1.0], [0.0, 1.0, 0.5], [-1.0, 0.0, 0.5])
    apart = PiecewiseLinear(*(np.array(table) for table in (few.breakpoints, few.slopes, few.offsets)))
    z = np.linspace(-2, 2, 15).reshape(3, 5)
    assert np.array_equal(few.apply(z), apart.apply(z))
    for (name, shared), (other, own) in zip(few.parameters(), apart.parameters(), strict=True):
        assert name == other
        assert np.array_equal(shared, own)
