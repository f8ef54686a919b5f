"""A canonical network is one function: in float64, exactly, and through its effective maps (Eqs. 5-12)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from affinelens import Network, network
from affinelens.arithmetic import ExactMatrix
from affinelens.errors import AffineLensError
from affinelens.network import MaxGroups
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.canonical import input_chart
from affinelens.network.enclosure import Enclosure
from support.brute_force import Layer
from support.networks import ABSOLUTE, HARD_TANH, LEAKY, RELU, ZIGZAG, activation, compiled, evaluate

every_seed = pytest.mark.parametrize("seed", range(6))


def mixed_layers(seed: int, *, whole: bool) -> list[Layer]:
    """Three layers of mixed units and max groups; whole numbers and dyadic slopes make float64 exact."""
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> list[list[float]]:
        return (
            rng.integers(-3, 4, shape).astype(float)
            if whole
            else rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)
        ).tolist()

    return [
        Layer(numbers(5, 3), numbers(5), [RELU, LEAKY, ABSOLUTE, HARD_TANH, ZIGZAG]),
        Layer(numbers(6, 5), numbers(6), None, [1, 3, 2]),
        Layer(numbers(4, 3), numbers(4), [HARD_TANH, RELU, ZIGZAG, RELU]),
    ]


def random_points(seed: int, size: int = 3, count: int = 10) -> np.ndarray:
    return np.random.default_rng(seed + 1000).integers(-16, 17, (count, size)) / 8


def residual_network(seed: int) -> Network:
    """``h = relu(A x)``, ``k = hardtanh(B h + x)``, ``y = C k + D h + E x``, with a max between."""
    rng = np.random.default_rng(seed)
    a, b, c, d, e = (rng.integers(-2, 3, (4, 4)).astype(float) for _ in range(5))
    builder = GraphBuilder((4,))
    x = builder.input()
    h = builder.activate(builder.matmul_right(x, a.T), activation([RELU] * 4), "h")
    mixed = builder.add_constant(builder.add(builder.matmul_right(h, b.T), x), np.array([0.5, 0.0, -0.5, 1.0]))
    k = builder.activate(mixed, activation([HARD_TANH] * 4), "k")
    both = builder.add(builder.matmul_right(k, c.T), builder.matmul_right(h, d.T))
    pooled = builder.activate(
        builder.subtract(both, builder.matmul_right(x, e.T)), MaxGroups(np.array([0, 2, 4])), "m", (2,)
    )
    return builder.finish(pooled)


def residual_values(seed: int, x: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, b, c, d, e = (rng.integers(-2, 3, (4, 4)).astype(float) for _ in range(5))
    h = np.maximum(a @ x, 0)
    k = np.clip(b @ h + x + np.array([0.5, 0.0, -0.5, 1.0]), -1, 1)
    return (c @ k + d @ h - e @ x).reshape(2, 2).max(axis=1)


@every_seed
def test_exact_evaluation_is_the_real_function(seed: int) -> None:
    layers = mixed_layers(seed, whole=False)
    net = compiled(layers)
    for x in random_points(seed):
        assert net.evaluate_exact(x.tolist()) == evaluate(layers, x.tolist())[0]


@every_seed
def test_float64_evaluation_is_close_to_the_exact_one(seed: int) -> None:
    layers = mixed_layers(seed, whole=True)
    net = compiled(layers)
    points = random_points(seed)
    outputs = net(points)
    assert outputs.shape == (10, 4)
    for x, output in zip(points, outputs, strict=True):
        assert output.tolist() == [float(v) for v in evaluate(layers, x.tolist())[0]]
        assert net(x).tolist() == output.tolist()


@every_seed
def test_effective_maps_give_the_output_where_their_pattern_holds(seed: int) -> None:
    layers = mixed_layers(seed, whole=True)
    net = compiled(layers, output=([[1.0, 2.0, -1.0, 0.5]], [0.25]))
    for x in random_points(seed):
        _, pattern = evaluate(layers, x.tolist())
        jacobian, constant = net.effective(np.array(pattern))
        assert (jacobian @ x + constant).tolist() == net(x).tolist()


@every_seed
def test_effective_maps_of_a_stage_read_only_earlier_stages(seed: int) -> None:
    layers = mixed_layers(seed, whole=True)
    net = compiled(layers)
    for x in random_points(seed, count=4):
        for stage, layer in enumerate(layers):
            before, _ = evaluate(layers[:stage], x.tolist())
            _, pattern = evaluate(layers, x.tolist())
            later = net.choice_offsets[stage]
            pattern[later:] = [0] * (len(pattern) - later)
            weight, bias = net.effective(np.array(pattern), stage)
            expected = np.array(layer.weight) @ np.array([float(v) for v in before]) + layer.bias
            assert (weight @ x + bias).tolist() == expected.tolist()


@every_seed
def test_residual_connections(seed: int) -> None:
    net = residual_network(seed)
    assert [len(stage.linear.sources) for stage in net.stages] == [1, 2, 3]
    for x in random_points(seed, size=4):
        expected = residual_values(seed, x)
        assert net(x).tolist() == expected.tolist()
        assert net.evaluate_exact(x.tolist()) == [Fraction(v) for v in expected]


@every_seed
def test_float64_forms_enclose_the_exact_ones_all_over_the_domain(seed: int) -> None:
    layers = mixed_layers(seed, whole=False)
    net = compiled(layers)
    reach = np.array([3.0, 2.0, 100.0, 1.0])
    chart = Enclosure.affine(input_chart(3), reach)
    for x in random_points(seed, count=3):
        pattern = np.array(evaluate(layers, x.tolist())[1])
        exact = net.exact_forms(input_chart(3), pattern)
        enclosures = net.forms(chart, pattern)
        assert len(exact) == len(enclosures) == len(layers) + 1
        for form, enclosure in zip(exact, enclosures, strict=True):
            for row, stored, error in zip(
                form.to_fractions(), enclosure.rows.tolist(), enclosure.error[:, 0], strict=True
            ):
                worst = sum(abs(a - Fraction(b)) * Fraction(r) for a, b, r in zip(row, stored, reach, strict=True))
                assert worst <= Fraction(error)


def test_forms_live_in_the_charts_coordinates() -> None:
    """On the line x = (1 - t, 2 t, 1/3) the output is an affine function of t."""
    layers = mixed_layers(3, whole=True)
    chart = ExactMatrix.from_fractions(
        [[Fraction(-1), Fraction(1)], [Fraction(2), Fraction(0)], [Fraction(0), Fraction(1, 3)]]
    )
    t = Fraction(2, 7)
    value, pattern = evaluate(layers, [1 - t, 2 * t, Fraction(1, 3)])
    form = compiled(layers).exact_forms(chart, np.array(pattern))[-1].to_fractions()
    assert [slope * t + constant for slope, constant in form] == value


def test_a_network_without_stages_is_affine() -> None:
    net = network([([[1.0, 2.0]], [0.5])])
    assert net.stages == ()
    assert net([1.0, 1.0]).tolist() == [3.5]
    jacobian, constant = net.effective(np.zeros(0, dtype=np.int64))
    assert jacobian.tolist() == [[1.0, 2.0]]
    assert constant.tolist() == [0.5]


def test_cutting_at_the_outputs_adds_a_stage_and_keeps_the_function() -> None:
    net = network([([[1.0], [2.0]], [0.0, 1.0]), ([[1.0, -1.0]], [0.25])])
    cut = net.with_output_cut()
    assert len(cut.stages) == 2
    assert cut([0.3]) == net([0.3])
    assert cut.stages[1].activation.size_in == 1


def test_hyperplanes_are_named_by_stage_and_unit() -> None:
    net = compiled(mixed_layers(0, whole=True))
    assert net.break_offsets == (0, 8, 12, 19)
    assert net.locate_break(0) == (0, 0)
    assert net.locate_break(8) == (1, 0)
    assert net.describe_break(4) == "stage 1, unit 3 at 1"
    assert net.describe_break(8) == "stage 2, group 1: 0 against 1"


def test_equal_networks_have_equal_digests() -> None:
    assert compiled(mixed_layers(1, whole=False)).digest == compiled(mixed_layers(1, whole=False)).digest
    assert compiled(mixed_layers(1, whole=False)).digest != compiled(mixed_layers(2, whole=False)).digest


def test_the_report_says_that_nothing_was_rounded() -> None:
    report = residual_network(0).report()
    assert "from input, stage 1, stage 2" in report
    assert "nothing was rounded" in report


def test_inputs_of_another_size_are_refused() -> None:
    net = network([([[1.0, 2.0]], [0.5])])
    with pytest.raises(AffineLensError, match="inputs of 2 numbers"):
        net([1.0, 2.0, 3.0])
    with pytest.raises(AffineLensError, match="2 numbers"):
        net.evaluate_exact([1.0])
