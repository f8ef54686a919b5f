"""Verdicts that are known by hand, by brute force in rationals, and whichever way they are reached."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpz, fmpz_mat

import affinelens as al
from affinelens.arithmetic import ExactMatrix, ExactProgram, Infeasible
from affinelens.deadline import Deadline, TimeIsUp
from affinelens.domain.vnnlib.property import Case, Constraint, Property
from affinelens.domain.vnnlib.reader import parse_vnnlib
from affinelens.engine import vertex
from affinelens.network import PiecewiseLinear
from affinelens.restrict import restrict
from affinelens.verify import Result, Verdict
from affinelens.verify.condition import with_condition
from affinelens.verify.witness import Judge
from affinelens.verify.witness_search import promising
from affinelens.walk import Limits, Request
from support.random_networks import random_layers
from support.walks import walk_by

Model = list[tuple[Any, Any]]
ABSOLUTE: Model = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])]
LINE: Model = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])]
PLANE: Model = [
    ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.0] * 4),
    ([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]], [0.0, 0.0]),
]


def question(model: Model, box: str, condition: str, **options: Any) -> Verdict:
    return al.verify(model, parse_vnnlib(text(len(model[0][0][0]), len(model[-1][1]), box, condition)), **options)


def text(inputs: int, outputs: int, box: str, condition: str) -> str:
    names = [*(f"X_{i}" for i in range(inputs)), *(f"Y_{j}" for j in range(outputs))]
    low, high = box.split()
    lines = [f"(declare-const {name} Real)" for name in names]
    lines += [f"(assert (>= X_{i} {low}))\n(assert (<= X_{i} {high}))" for i in range(inputs)]
    return "\n".join([*lines, f"(assert {condition})"])


@pytest.mark.parametrize(
    ("model", "box", "condition", "expected"),
    [
        (ABSOLUTE, "-1 1", "(<= Y_0 0)", [0]),  # one point, on the border of both regions
        (ABSOLUTE, "-1 1", "(< Y_0 0)", None),
        (ABSOLUTE, "-1 1", "(<= Y_0 -1e-300)", None),
        (ABSOLUTE, "-1 1", "(or (<= Y_0 -1) (>= Y_0 2) (<= Y_0 0.0))", [0]),
        (ABSOLUTE, "-1 1", "(and (<= Y_0 0.5) (>= Y_0 0.5) (> X_0 0))", [Fraction(1, 2)]),
        (ABSOLUTE, "-1 1", "(and (<= Y_0 0) (> X_0 Y_0))", None),
        (LINE, "0 0.1", "(>= Y_0 0.1)", [Fraction(1, 10)]),  # a bound that is no float64, reached exactly
        (LINE, "0 0.1", "(> Y_0 0.1)", None),
        (LINE, "0 0.1", "(>= Y_0 0.10000000000000000000000001)", None),
        (LINE, "-1 1", "(and (>= (* 3 Y_0) 1.00000000000000000000001) (<= (* 3 Y_0) 1.00000000000000000000001))",
         [Fraction(100000000000000000000001, 300000000000000000000000)]),
        (LINE, "-1 1", "(< Y_0 X_0)", None),
        (LINE, "-1 1", "(and (<= (+ Y_0 X_0) -2) (<= X_0 1))", [-1]),
        (PLANE, "-1 1", "(and (>= Y_0 1) (>= Y_1 1))", [1, 1]),
        (PLANE, "-1 1", "(and (>= Y_0 1) (> Y_1 1))", None),
        (PLANE, "-1 1", "(and (>= (+ X_0 Y_1) 2) (<= (- Y_0 X_1) 0))", [1, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["vertex", "linear_program"])
def test_known_verdicts(model: Model, box: str, condition: str, expected: list[Any] | None, engine: str) -> None:
    verdict = question(model, box, condition, engine=engine)
    if expected is None:
        assert (verdict.result, verdict.witness) == (Result.UNSAT, None)
    else:
        assert verdict.result is Result.SAT
        assert verdict.witness is not None
        assert list(verdict.witness.input) == expected


def test_a_fixed_input_is_a_constant() -> None:
    """x_1 stays 1/4, so that y_1 never reaches another value."""
    start = text(2, 2, "-1 1", "(<= X_1 0.25)") + "\n(assert (>= X_1 0.25))\n"
    for condition, expected in (("(>= Y_1 0.25)", "sat"), ("(> Y_1 0.25)", "unsat"), ("(>= Y_0 Y_1)", "sat")):
        verdict = al.verify(PLANE, parse_vnnlib(f"{start}(assert {condition})"))
        assert str(verdict) == expected
        if verdict.witness is not None:
            assert verdict.witness.input[1] == Fraction(1, 4)


@pytest.mark.parametrize(("condition", "expected"), [("(<= Y_0 0.3)", "sat"), ("(< Y_0 0.3)", "unsat")])
def test_a_single_input_is_evaluated(condition: str, expected: str) -> None:
    verdict = question(ABSOLUTE, "-0.3 -0.3", condition)
    assert (str(verdict), verdict.regions) == (expected, 0)


def test_no_condition_is_met_anywhere_and_an_empty_one_everywhere() -> None:
    triangle = al.Polytope([[1, 0], [0, 1], [-1, -1]], [0, 0, Fraction(1, 1000)])
    for condition, expected in (((), Result.UNSAT), (((),), Result.SAT)):
        verdict = al.verify(PLANE, Property((2,), (2,), (Case(triangle, condition),)), all=True)
        assert verdict.result is expected
        if verdict.unsafe:
            assert verdict.unsafe[0].share == pytest.approx(1.0)


def test_the_second_case_may_be_the_one() -> None:
    boxes = [al.Box(-1, 0, dim=1), al.Box(1, 2, dim=1)]
    condition = ((Constraint((), ((0, Fraction(1)),), Fraction(-3, 2)),),)
    verdict = al.verify(LINE, Property((1,), (1,), tuple(Case(box, condition) for box in boxes)), all=True)
    assert verdict.witness is not None
    assert verdict.witness.case == 1
    assert verdict.unsafe is not None
    assert [(part.case, part.volume) for part in verdict.unsafe] == [(1, 0.5)]


def random_question(seed: int, dim: int) -> tuple[Model, Property]:
    """Small whole numbers, so that constraints are often only just met, or only just not."""
    rng = np.random.default_rng(1000 + seed)
    model = random_layers([dim, 4, 3, 2], seed, whole=2)
    network = al.network(model)
    corners = [network.evaluate_exact(corner) for corner in itertools.product((-1, 0, 1), repeat=dim)]

    def constraint() -> Constraint:
        outputs = tuple((j, Fraction(int(rng.integers(-2, 3)))) for j in range(2))
        inputs = tuple((i, Fraction(int(rng.integers(-1, 2)))) for i in range(dim))
        least = max(sum(c * y[j] for j, c in outputs) for y in corners)  # about as much as can be had
        return Constraint(inputs, outputs, -least - int(rng.integers(-1, 2)), bool(rng.integers(0, 2)))

    condition = tuple(tuple(constraint() for _ in range(rng.integers(1, 3))) for _ in range(rng.integers(1, 4)))
    return model, Property((dim,), (2,), (Case(al.Box(-1, 1, dim=dim), condition),))


def by_brute_force(model: Model, prop: Property) -> Result:
    """An exact linear program for every region and conjunction, over all of the region's hyperplanes."""
    network = al.network(model)
    case = prop.cases[0]
    frame = case.domain.frame
    for region in al.enumerate(network, case.domain):
        forms = [form.to_fractions() for form in network.exact_forms(frame.chart, region.pattern)]
        pieces = itertools.chain(*(stage for stage in region.patterns_by_stage))
        cell = [[a if on else -a for a in row] for row, on in zip(itertools.chain(*forms[:-1]), pieces, strict=True)]
        for conjunction in case.condition:
            rows = []
            for constraint in conjunction:
                row = [Fraction(0)] * frame.dim + [constraint.constant]
                for i, coefficient in constraint.inputs:
                    row[i] += coefficient
                for j, coefficient in constraint.outputs:
                    row = [a + coefficient * b for a, b in zip(row, forms[-1][j], strict=True)]
                rows.append((row, constraint.strict))
            if is_feasible(cell, rows, frame.dim):
                return Result.SAT
    return Result.UNSAT


def is_feasible(cell: list[list[Fraction]], rows: list[tuple[list[Fraction], bool]], dim: int) -> bool:
    table = [[*row[:-1], Fraction(0), row[-1]] for row in cell]
    table += [[*row[:-1], Fraction(-1 if strict else 0), row[-1]] for row, strict in rows]
    whole = ExactMatrix.from_fractions(table).numerators
    program = ExactProgram(fmpz_mat(whole), [fmpq(-1)] * dim + [fmpq(0)], [fmpq(1)] * (dim + 1))
    found = program.maximise([fmpz(0)] * dim + [fmpz(1)])
    if isinstance(found, Infeasible):
        return False
    return found.value > 0 or not any(strict for _, strict in rows)


def test_brute_force_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all of the network and with the part that switches, which large networks are walked by."""
    found: dict[Result, int] = {}
    for seed in range(60):
        model, prop = random_question(seed, 1 + seed % 3)
        expected = by_brute_force(model, prop)
        found[expected] = found.get(expected, 0) + 1
        for restricted_from in (1 << 20, -1):
            monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", restricted_from)
            verdict = al.verify(model, prop, workers=1 + seed % 2)
            assert verdict.result is expected, seed
            if verdict.witness is not None:
                y = al.network(model).evaluate_exact(verdict.witness.input)
                assert all(-1 <= x <= 1 for x in verdict.witness.input)
                assert prop.cases[0].holds(verdict.witness.input, y)
    assert min(found.values()) > 10


def shaped(model: Model, shape: str) -> al.Network:
    """The network with another activation than ReLU."""
    if shape == "repeated":  # units that repeat others, in one direction or the other
        model = [(np.vstack([W, W[:3], -W[3:5]]), np.concatenate([b, b[:3], -b[3:5]])) for W, b in model[:-1]] + model[
            -1:
        ]
        model = [model[0], *((np.hstack([W, W[:, :5]]), b) for W, b in model[1:])]
    network = al.network(model)
    shapes = {
        "leaky": ([0.0], [0.25, 1.0], [0.0, 0.0]),
        "absolute": ([0.0], [-1.0, 1.0], [0.0, 0.0]),
        "clip": ([-0.5, 1.0], [0.0, 1.0, 0.0], [-0.5, 0.0, 1.0]),
    }
    if shape not in shapes:
        return network
    stages = []
    for stage in network.stages:
        table = [np.tile(column, (stage.activation.size_in, 1)) for column in shapes[shape]]
        stages.append(replace(stage, activation=PiecewiseLinear(*table)))
    return replace(network, stages=tuple(stages))


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("shape", ["relu", "repeated", "leaky", "absolute", "clip"])
def test_the_walk_finds_the_wanted_regions_and_no_others(shape: str, restricted: bool) -> None:
    """Against all regions of the network with its condition; constraints repeat each other and fill several words."""
    model, rng = random_layers([2, 10, 8, 3], seed=3, bias=1), np.random.default_rng(13)
    coefficients = rng.integers(-2, 3, (80, 3))
    coefficients[1], coefficients[70] = -coefficients[0], 2 * coefficients[0]
    constraints = [
        Constraint((), tuple((j, Fraction(int(c))) for j, c in enumerate(row)), Fraction(int(row.sum())))
        for row in coefficients
    ]
    condition = [constraints[:3], constraints[3:6], [constraints[70], constraints[7]], constraints[8:80]]
    network, clauses = with_condition(shaped(model, shape), condition, relaxed=False)
    everything = al.enumerate(network, al.Box(-1, 1, dim=2))
    held = everything.patterns[:, network.choice_offsets[-2] :] > 0
    wanted = np.any([held[:, list(clause)].all(axis=1) for clause in clauses], axis=0)
    assert 0 < wanted.sum() < len(wanted)
    frame = al.Box(-1, 1, dim=2).frame
    restricted = restrict(network, frame) if restricted else None
    found = walk_by("vertex", network, frame, restricted, limits=Limits(workers=2), condition=clauses)
    patterns = found.patterns if found.switching is None else found.switching.whole(found.patterns)
    expected = everything.patterns[wanted]
    assert len(patterns) == len(expected)
    assert {row.tobytes() for row in patterns} == {row.tobytes() for row in expected}
    assert found.layer_counts[-2] < everything.layer_counts[-2]  # some regions were left before they were complete


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        ("(>= (+ Y_0 Y_1) 1)", 1 / 8),
        ("(or (>= Y_0 0) (>= Y_1 0))", 3 / 4),
        ("(or (and (>= Y_0 0) (>= Y_1 0)) (and (>= Y_0 -0.5) (>= Y_1 -0.5)) (<= Y_0 -0.75))", 9 / 16 + 1 / 8),
        ("(or (>= Y_0 0.5) (> Y_0 0.5) (<= Y_0 -0.5))", 1 / 2),
        ("(>= (+ Y_0 Y_1) 2)", 0.0),
    ],
)
def test_the_unsafe_set_is_counted_once(condition: str, share: float) -> None:
    verdict = question(PLANE, "-1 1", condition, all=True)
    assert verdict.result is Result.SAT
    assert verdict.unsafe is not None
    assert sum(part.share for part in verdict.unsafe) == pytest.approx(share, abs=1e-12)
    assert sum(part.volume for part in verdict.unsafe) == pytest.approx(4 * share, abs=1e-12)
    for part in verdict.unsafe:
        assert part.is_complete
        for region in part.regions:
            weight, offset = region.halfspaces
            assert (region.vertices @ weight.T + offset >= -1e-12).all()
            x = region.exact_point
            assert parse_vnnlib(text(2, 2, "-1 1", condition)).cases[0].holds(x, al.network(PLANE).evaluate_exact(x))


def test_a_time_limit_is_a_timeout_and_not_a_verdict() -> None:
    verdict = question(ABSOLUTE, "-1 1", "(<= Y_0 -1e-300)", time_limit=1e-9)
    assert (verdict.result, verdict.witness) == (Result.TIMEOUT, None)
    assert verdict.proves == "nothing about the property"


def test_the_time_limit_is_for_the_search_for_witnesses_too() -> None:
    assert question(ABSOLUTE, "-1 1", "(<= Y_0 0.5)").result is Result.SAT
    assert question(ABSOLUTE, "-1 1", "(<= Y_0 0.5)", time_limit=1e-9).result is Result.TIMEOUT


def test_every_step_before_the_walk_ends_at_the_deadline() -> None:
    past, network = Deadline(0.0), al.network(ABSOLUTE)
    case = parse_vnnlib(text(1, 1, "-1 1", "(<= Y_0 0.5)")).cases[0]
    frame = case.domain.frame
    restricted = restrict(network, frame)
    steps: list[Callable[[], object]] = [
        lambda: promising(network, case, past),
        lambda: Judge(network, case, 0, None, past).at([Fraction(0)]),
        lambda: restrict(network, frame, past),
        lambda: vertex.VertexEngine().walk(Request(network, frame), restricted, past),
    ]
    for step in steps:
        with pytest.raises(TimeIsUp):
            step()


def test_in_many_dimensions_there_is_a_verdict_but_no_unsafe_set() -> None:
    model = [(np.eye(11), np.zeros(11)), (np.ones((1, 11)), np.zeros(1))]
    assert question(model, "0 1", "(>= Y_0 11)").result is Result.SAT
    assert question(model, "0 1", "(> Y_0 11)").result is Result.UNSAT
    with pytest.raises(al.AffineLensError, match=r"dimension 11 .*; leave out all=True for the verdict alone"):
        question(model, "0 1", "(> Y_0 11)", all=True)


def float32(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


def test_onnxruntime_is_asked_too(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from support.onnx_models import model, node, save

    nodes = [node("Relu", "x", "z"), node("Mul", "z three", "y")]
    path = save(model(nodes, {"three": float32(3)}, [1, 1], kind=1), tmp_path)
    verdict = al.verify(path, parse_vnnlib(text(1, 1, "-1 1", "(>= Y_0 2)")))
    assert verdict.witness is not None
    assert verdict.witness.floats is not None
    assert verdict.witness.floats.holds
    assert verdict.witness.floats.inside
    assert verdict.witness.floats.output == pytest.approx(float(verdict.witness.output[0]))
    assert verdict.reason.endswith("and by onnxruntime's own evaluation")


def test_a_witness_that_floats_do_not_show_is_still_one(tmp_path: Path) -> None:
    """x + 10^8 - 10^8 is x, but 0 in float32."""
    pytest.importorskip("onnxruntime")
    from support.onnx_models import model, node, save

    nodes = [node("Add", "x large", "a"), node("Sub", "a large", "b"), node("Relu", "b", "y")]
    path = save(model(nodes, {"large": float32(1e8)}, [1, 1], kind=1), tmp_path)
    verdict = al.verify(path, parse_vnnlib(text(1, 1, "0 0.5", "(>= Y_0 0.25)")))
    assert verdict.result is Result.SAT
    assert verdict.witness is not None
    assert verdict.witness.floats is not None
    assert not verdict.witness.floats.holds
    assert "but not by onnxruntime" in verdict.reason


def test_a_sigmoid_that_was_cut_off_is_there_for_thresholds_and_for_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from support.onnx_models import model, node, save

    nodes = [node("Relu", "x", "z"), node("Sigmoid", "z", "y")]
    path = save(model(nodes, {}, [1, 1], kind=1), tmp_path)
    verdict = al.verify(path, parse_vnnlib(text(1, 1, "0 1", "(>= Y_0 0.6)")))
    assert verdict.witness is not None
    assert verdict.witness.floats is not None
    assert verdict.witness.floats.holds
    assert verdict.witness.floats.output[0] >= 0.6
    found = al.verify(path, al.Box(-1, 1, dim=1), never=al.class_is(0)).witness
    assert found is not None
    assert found.floats is not None
    assert found.floats.holds
    assert str(al.verify(path, parse_vnnlib(text(1, 1, "0 1", "(>= Y_0 0.75)")))) == "unsat"
    with pytest.raises(al.AffineLensError, match=r"final Sigmoid was cut off.*but not the values"):
        al.verify(path, parse_vnnlib(text(1, 1, "0 1", "(>= Y_0 X_0)")))


@pytest.mark.parametrize("size", [1e39, 1e200, 1e300])
def test_witnesses_beyond_what_float32_holds(size: float) -> None:
    """The product of weight and bounds overflows in float64 as well, for the largest."""
    model = [([[1e9], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])]
    box = al.Box(-size, size, dim=1)
    assert str(al.verify(model, box, never=al.output(0) >= 1e20)) == "sat"
    found = al.verify(model, box, never=al.output(0) <= -0.75 * size)
    assert found.witness is not None
    assert found.witness.output[0] <= Fraction(-0.75 * size)
    assert str(al.verify(model, box, never=al.output(0) < -2 * Fraction(size))) == "unsat"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("engine", ["auto", "linear_program"])
def test_weights_whose_products_overflow_prove_nothing_wrong(seed: int, engine: str) -> None:
    generator = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return generator.choice([-1, 1], shape) * 10.0 ** generator.uniform(-300, 290, shape)

    layers = [(drawn(4, 2), drawn(4)), (drawn(3, 4), drawn(3)), (drawn(2, 3), drawn(2))]
    network, box = al.network(layers), al.Box(-1, 1, dim=2)
    points = [[Fraction(v) for v in point] for point in generator.uniform(-1, 1, (50, 2)).tolist()]
    classes = {int(np.argmax(network.evaluate_exact(point))) for point in points}
    for label in range(2):
        verdict = al.verify(layers, box, never=al.class_is(label), engine=engine)
        assert str(verdict) in (("sat",) if label in classes else ("sat", "unsat"))
    assert len(al.enumerate(layers, box, engine=engine)) > 0


def test_an_unsafe_part_says_what_it_is() -> None:
    (part,) = al.verify(LINE, al.Box(-4, 4, dim=1), never=al.output(0) >= 3, all=True).unsafe or ()
    assert repr(part) == "UnsafePart(case 1: 1 polytope, of dimension 1; .share and .volume measure them)"
    assert "share" not in vars(part)
    assert (part.volume, part.share, part.is_complete, len(part.regions)) == (1.0, 0.125, True, 1)
