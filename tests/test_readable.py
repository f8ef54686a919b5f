"""What people see of results in a prompt or a notebook: one line each, floats first, nouns that fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from support.random_networks import random_layers

ABSOLUTE = [([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])]  # |x0| - 1/2
SQUARE = al.Box(-1, 1, dim=2)


@pytest.fixture(scope="module")
def rs() -> al.RegionSet:
    return al.enumerate(ABSOLUTE, SQUARE)


def test_results_are_one_line_each(rs: al.RegionSet) -> None:
    assert repr(rs.distance_to_boundary([0.25, 0.0])).startswith("Distance(0.25 to (0.5, 0), error ")
    assert repr(rs.distance_to_boundary([[0.25, 0.0], [0.0, 0.0]])) == "Distances(of 2 inputs, 0.25 to 0.5)"
    assert repr(rs.adjacency()) == "Adjacency(2 regions, 1 pair of neighbors)"
    assert repr(rs.audit()) == "AuditReport(passed, proved complete)"
    assert repr(rs.local) == "LocalRegions(2 regions in 2 coordinates)"
    assert repr(al.enumerate(ABSOLUTE, al.Box([0.5, -1], [1, 1]))).startswith("RegionSet(1 region, ")
    flat = al.enumerate([([[1.0]], [5.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
    assert repr(flat.distance_to_boundary([0.0])) == "Distance(inf: there is no boundary in the domain)"


def test_ranges_say_where(rs: al.RegionSet) -> None:
    [found] = rs.output_ranges()
    assert (found.lowest, found.highest) == (Fraction(-1, 2), Fraction(1, 2))
    assert found.at_lowest.point[0] == 0
    assert abs(found.at_highest.point[0]) == 1
    assert repr(found).startswith("OutputRange(-0.5 at (0, ")


@pytest.mark.parametrize("seed", range(5))
def test_extremes_are_taken_on_where_they_are_said_to_be(seed: int) -> None:
    rs = al.enumerate(random_layers([3, 6, 6, 2], seed, bias=1), al.Box(-1, 1, dim=3))
    for output, found in enumerate(rs.output_ranges()):
        for value, place in ((found.lowest, found.at_lowest), (found.highest, found.at_highest)):
            region = rs[place.region]
            np.testing.assert_allclose(region(place.point)[output], float(value), rtol=1e-9, atol=1e-9)
            weight, offset = region.halfspaces
            assert (weight @ place.point + offset > -1e-9).all()


def test_a_region_evaluates_its_map_and_shows_itself(rs: al.RegionSet) -> None:
    region = rs.at([0.5, 0.5])
    np.testing.assert_array_equal(region([[0.5, 0.5], [1.0, 0.0]]), [[0.0], [0.5]])
    np.testing.assert_allclose(region.centroid, [0.5, 0.0], atol=1e-15)
    with pytest.raises(al.AffineLensError, match="takes points of 2 numbers"):
        region([1.0, 2.0, 3.0])
    shown = region._repr_html_()
    for text in ("class there", "volume", "centroid", "stage 1, unit 0"):
        assert text in shown


def test_verdicts_and_witnesses_have_floats_first() -> None:
    witness = al.Witness(0, (Fraction(1, 3),), (Fraction(2, 3),))
    assert repr(witness) == "Witness(input (0.333333), output (0.666667); in rationals: .input)"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda rs: rs.filter("volume", at_least="much"), "compares a column with numbers"),
        (lambda rs: rs.filter("volume", at_most=[1, 2]), "compares a column with numbers"),
        (lambda rs: rs.filter("volume", equals=float("nan")), "compares a column with numbers"),
        (lambda rs: rs.column(["volume"]), "there is no column"),
        (lambda rs: rs.to_pandas(None), "a list of names"),
        (lambda rs: rs.to_arrow("volume"), "write ['volume']"),
        (lambda rs: rs.pattern("first"), "an integer"),
        (lambda rs: rs.describe_hyperplane(99), "no hyperplane 99"),
        (lambda rs: rs.describe_hyperplane(-1), "no hyperplane -1"),
        (lambda rs: rs.audit(samples=1.5), "random points"),
        (lambda rs: rs.audit(seed=-1), "seed"),
        (lambda rs: rs[0]("here"), "array of numbers"),
    ],
)
def test_what_cannot_be_asked_of_a_set_is_refused_in_one_sentence(
    rs: al.RegionSet, ask: Callable[[al.RegionSet], object], words: str
) -> None:
    with pytest.raises(al.AffineLensError, match=re.escape(words)):
        ask(rs)


def test_the_range_of_a_model_that_ends_in_a_sigmoid_says_that_it_is_before_it() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1), torch.nn.Sigmoid())
    (span,) = al.enumerate(model, al.Box(-1, 1, dim=2)).output_ranges()
    assert "sigmoid" in span.before
    assert repr(span).endswith(f", before {span.before})")
