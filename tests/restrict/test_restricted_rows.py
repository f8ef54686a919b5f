"""Rows of switching units, in float64 and in extended precision, against rational ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens import Box, Network
from affinelens.arithmetic import ExactMatrix
from affinelens.network import PiecewiseLinear
from affinelens.network.adjoint import Adjoint
from affinelens.network.canonical import input_chart
from affinelens.network.composed_maps import Chain
from affinelens.network.linear_map import Dense
from affinelens.network.stage import AffineSum, Stage
from affinelens.restrict import ExtendedRows, RestrictedNetwork, restrict, restricted_rows
from support.extended_precision import as_fraction
from support.random_networks import dense_network, pooled_network, random_layers, rational_points


def _problem(seed: int) -> tuple[Network, Box, RestrictedNetwork]:
    generator = np.random.default_rng(seed)
    if seed % 4 == 0:
        network, size = pooled_network(generator, bias=True), 36
    else:
        size = int(generator.integers(1, 4))
        network = dense_network(generator, size)
    middle = generator.uniform(-0.5, 0.5, size=size)
    reach = generator.uniform(0, 0.4, size=size)
    reach[2:] *= 0.0 if size > 3 else 1.0
    box = Box(middle - reach, middle + reach)
    return network, box, restrict(network, box.frame)


def _values(network: Network, point: list[Fraction]) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Exact pre-activations and outputs of every stage."""
    one = ExactMatrix.from_floats(np.ones((1, 1)))
    sources, before, after = [ExactMatrix.from_fractions([[v] for v in point])], [], []
    for stage in network.stages:
        z = stage.linear.propagate_exact(sources, one)
        sources.append(stage.activation.apply_exact(z))
        before.append([row[0] for row in z.to_fractions()])
        after.append([row[0] for row in sources[-1].to_fractions()])
    return before, after


@pytest.mark.parametrize("seed", range(16))
def test_compact_rows_are_within_their_error(seed: int) -> None:
    network, box, restricted = _problem(seed)
    rows = restricted_rows(
        restricted, box.frame.chart, np.append(np.maximum(abs(box.frame.lower), abs(box.frame.upper)), 1.0)
    )
    free = np.flatnonzero(box.lower < box.upper)
    for point in rational_points(np.random.default_rng(seed), box, 4):
        before, after = _values(network, point)
        coordinates = [*(point[i] for i in free), Fraction(1)]
        for stage, found in zip(restricted.stages, rows, strict=True):
            for i, unit in enumerate(stage.units.tolist()):
                value = sum((Fraction(a) * t for a, t in zip(found.fixed[i], coordinates, strict=True)), Fraction(0))
                for source, matrix in found.maps.items():
                    outputs = [
                        after[restricted.stages[source].stage][c] for c in restricted.stages[source].choices.tolist()
                    ]
                    value += sum((Fraction(a) * y for a, y in zip(matrix[i], outputs, strict=True)), Fraction(0))
                assert abs(value - before[stage.stage][unit]) <= Fraction(found.error[i])


@pytest.mark.parametrize("seed", range(16))
def test_accurate_and_exact_rows_agree_at_points_of_their_region(seed: int) -> None:
    network, box, restricted = _problem(seed)
    scale = np.maximum(abs(box.frame.lower), abs(box.frame.upper)).max()
    chart = input_chart(box.inputs)
    if box.dim < box.inputs or scale > 1:
        pytest.skip("the chart's coordinates must be the inputs, in [-1, 1]")
    accurate, exact = ExtendedRows(restricted, chart), Adjoint(network, chart)
    for point in rational_points(np.random.default_rng(seed), box, 3):
        before, _ = _values(network, point)
        pattern = _pattern(network, before)
        wanted = [(k, i) for k, part in enumerate(network.stages) for i in range(len(part.activation.breaks))]
        near_rows = dict(zip(wanted, accurate.break_rows(wanted, pattern), strict=True))
        for stage, part in enumerate(network.stages):
            breaks = part.activation.breaks
            for index in range(len(breaks)):
                minus = before[stage][breaks.minus[index]] if breaks.minus[index] >= 0 else Fraction(0)
                value = before[stage][breaks.plus[index]] - minus - Fraction(breaks.threshold[index])
                row, error = near_rows[stage, index]
                terms = (as_fraction(a) * x for a, x in zip(row, [*point, Fraction(1)], strict=True))
                assert abs(sum(terms, Fraction(0)) - value) <= Fraction(error)
                integers = exact.break_row(stage, index, pattern)
                at_point = sum((int(a) * x for a, x in zip(integers, [*point, Fraction(1)], strict=True)), Fraction(0))
                assert (at_point > 0) - (at_point < 0) == (value > 0) - (value < 0)


def test_a_map_that_is_applied_at_two_places_rounds_by_what_it_is_applied_to_there() -> None:
    generator = np.random.default_rng(0)
    weight, larger = generator.normal(size=(4, 4)), 1000 * generator.normal(size=(4, 4))
    shared = Chain((Dense(larger), Dense(weight)))
    copied = Chain((Dense(larger.copy()), Dense(weight.copy())))
    errors = []
    for second in (shared, copied):
        relu = PiecewiseLinear.of(4, [0.0], [0, 1], [0, 0])
        stages = tuple(
            Stage(f"{k}", AffineSum(4, ((k, linear),)), relu) for k, linear in enumerate((shared, second, second))
        )
        network = Network((4,), stages, AffineSum(4, ((3, Dense(weight)),)))
        box = Box(-1, 1, dim=4)
        rows = ExtendedRows(restrict(network, box.frame), box.frame.chart).break_rows(
            [(2, 0), (1, 1)], np.ones(12, int)
        )
        errors.append([error for _, error in rows])
    assert errors[0] == errors[1]


def _pattern(network: Network, before: list[list[Fraction]]) -> np.ndarray:
    parts = [np.zeros(0, dtype=np.int64)]
    for stage, z in zip(network.stages, before, strict=True):
        breaks = stage.activation.breaks
        signs = np.zeros(len(breaks), dtype=np.int8)
        for b in range(len(breaks)):
            minus = z[breaks.minus[b]] if breaks.minus[b] >= 0 else Fraction(0)
            value = z[breaks.plus[b]] - minus - Fraction(breaks.threshold[b])
            signs[b] = (value > 0) - (value < 0)
        parts.append(np.asarray(stage.activation.pattern_from_signs(signs)))
    return np.concatenate(parts)


def test_extended_rows_are_more_accurate_than_float64() -> None:
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        pytest.skip("this platform has no extended precision")
    network, box = al.network(random_layers([3, 20, 20, 20, 1], 2, bias=0.1)), Box(-1, 1, dim=3)
    rows = ExtendedRows(restrict(network, box.frame), box.frame.chart)
    for row, error in rows.break_rows([(2, 0), (2, 7), (1, 3)], np.ones(60, dtype=np.int64)):
        assert 0 < error < 1e-16 * float(np.abs(row).sum())
