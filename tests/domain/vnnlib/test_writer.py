"""A property that is written and read again is the same property."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.errors import AffineLensError
from support.vnnlib_files import vnnlib_samples


def said(prop: al.Property) -> list[Any]:
    """What a property asks, apart from the order in which it is said."""
    shapes = [prop.input_shape, prop.output_shape]
    return [*shapes, sorted((str(case.domain.to_json()), sorted(map(str, case.condition))) for case in prop.cases)]


@pytest.mark.parametrize("number", range(3))
def test_a_file_that_was_read_is_written_and_read_the_same(tmp_path: Path, number: int) -> None:
    (tmp_path / "first.vnnlib").write_bytes(vnnlib_samples()[number])
    first = al.read_vnnlib(tmp_path / "first.vnnlib")
    second = al.read_vnnlib(first.write(tmp_path / "second.vnnlib"))
    third = al.read_vnnlib(second.write(tmp_path / "third.vnnlib"))
    assert said(second) == said(third)
    generator = np.random.default_rng(number)
    for _ in range(200):
        x = [Fraction(int(n), 4) for n in generator.integers(-3, 5, first.inputs)]
        y = [Fraction(int(n), 4) for n in generator.integers(-3, 5, first.outputs)]
        held = [any(case.holds(x, y) and inside(case.domain, x) for case in prop.cases) for prop in (first, second)]
        assert held[0] == held[1]


def inside(domain: al.Domain, x: list[Fraction]) -> bool:
    return bool(domain.coordinates(np.array([[float(v) for v in x]]))[1][0])


CONDITIONS = {
    "class": al.class_is(1),
    "not class": ~al.class_is(0),
    "thirds": (al.output(0) * Fraction(1, 3) - al.output(1) > Fraction(2, 7)) & (al.output(2) <= 0.1),
    "tiny": al.output(0) >= 2.0**-1000,
    "either": (al.output(0) > 1) | ((al.output(1) < -1) & (al.output(2) >= 0)),
}
DOMAINS = {
    "box": al.Box([-1, 0.1], [1, Fraction(1, 3)]),
    "fixed": al.Box([0.5, -1], [0.5, 1]),
    "polytope": al.Polytope([[1, 0], [0, 1], [-1, Fraction(-1, 3)]], [0, 0.1, 1]),
    "point": al.Point([Fraction(1, 3), Fraction(-2)]),
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_property_made_in_python_is_read_back(tmp_path: Path, domain: str, condition: str) -> None:
    case = al.Case(DOMAINS[domain], CONDITIONS[condition].normal_form(3))
    for shapes in (((2,), (3,)), ((1, 2), (3, 1))):
        prop = al.Property(*shapes, (case,))
        found = al.read_vnnlib(prop.write(tmp_path / "p.vnnlib"))
        assert (found.input_shape, found.output_shape) == shapes
        (read,) = found.cases
        if isinstance(case.domain, al.Point):
            assert read.domain.exact == case.domain.exact
        else:
            assert read.domain.dim == case.domain.dim
            points = np.random.default_rng(1).uniform(-1, 1, (50, 2))
            np.testing.assert_array_equal(read.domain.coordinates(points)[1], case.domain.coordinates(points)[1])
        for y in np.random.default_rng(0).integers(-3, 4, (60, 3)).tolist():
            outputs = [Fraction(v, 2) for v in y]
            assert read.holds([], outputs) == case.holds([], outputs)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    condition = (al.output(0) >= 1).normal_form(1)
    line = al.Case(al.Slice.through([0, 0], [1, 1]), condition)
    with pytest.raises(AffineLensError, match="slice"):
        al.Property((2,), (1,), (line,)).write(tmp_path / "p.vnnlib")
    box = al.Case(al.Box(-1, 1, dim=2), condition)
    with pytest.raises(AffineLensError, match="cannot be written"):
        al.Property((2,), (1,), (box,)).write(tmp_path / "nowhere" / "p.vnnlib")
    with pytest.raises(AffineLensError, match="nothing to write"):
        al.Property((2,), (1,), (al.Case(al.Box(-1, 1, dim=2), ()),)).write(tmp_path / "p.vnnlib")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(7), "7"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1201, 100), "12.01"),
        (Fraction(1, 10**20), "0.00000000000000000001"),
        (Fraction(-1, 10**21), "(/ -1 1000000000000000000000)"),
        (Fraction(-22, 7), "(/ -22 7)"),
    ],
)
def test_short_decimals_are_written_as_such_and_other_numbers_as_quotients(
    tmp_path: Path, value: Fraction, text: str
) -> None:
    case = al.Case(al.Box(-1, 1, dim=1), (al.output(0) >= value).normal_form(1))
    written = al.Property((1,), (1,), (case,)).write(tmp_path / "p.vnnlib").read_text()
    assert f"(assert (>= Y_0 {text}))" in written
