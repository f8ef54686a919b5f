"""Decision boundaries: sections with known areas, ties, and laws that hold for every network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import pi, sqrt, tan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import vertex
from affinelens.errors import AffineLensError
from affinelens.measure.decision.decision_boundary import DecisionBoundary
from affinelens.restrict import restrict
from affinelens.restrict import subdivision as areas
from support.brute_force import Layer
from support.networks import compiled, evaluate
from support.random_networks import random_layers

ALMOST = 1e-12


def absolute_sum(dim: int, radius: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """|x0| + |x1| + ... - radius."""
    both = np.concatenate([np.eye(dim), -np.eye(dim)])
    return [(both, np.zeros(2 * dim)), (np.ones((1, 2 * dim)), np.array([-radius]))]


def boundary_of(model: Any, dim: int = 2, **options: Any) -> DecisionBoundary:
    return al.enumerate(model, al.Box(-1, 1, dim=dim)).decision_boundary(**options)


# Those of small whole numbers have ties on whole regions, and boundaries along facets.
NETWORKS = [
    ([1, 8, 8, 3], 8, 1), ([1, 12, 2], 6, 0), ([2, 8, 8, 3], 10, 1), ([2, 8, 8, 3], 15, 1),
    ([2, 10, 10, 4], 5, 0), ([2, 10, 10, 1], 3, 0), ([3, 6, 6, 3], 10, 1), ([3, 6, 6, 3], 20, 1),
    ([3, 8, 6, 3], 2, 0), ([4, 6, 5, 2], 1, 0),
]  # fmt: skip
every_network = pytest.mark.parametrize(("sizes", "seed", "whole"), NETWORKS)


@pytest.mark.parametrize(
    ("slopes", "constant", "measure", "share"),
    [
        ([1, 1], 0, 2 * sqrt(2), 1 / 2),
        ([1, 0], -0.5, 2, 3 / 4),
        ([2], -1, 1, 3 / 4),
        ([1, 1, 1], 0, 3 * sqrt(3), 1 / 2),
        ([1, 1, 1], -2, sqrt(3) / 2, 1 - 1 / 48),
        ([0, 0, 4, 0], -1, 8, 5 / 8),
        ([1, 1, 0, 0], 0, 8 * sqrt(2), 1 / 2),
    ],
)
def test_a_linear_classifier_has_one_flat_section(
    slopes: list[float], constant: float, measure: float, share: float
) -> None:
    other = [0.25 - s for s in range(len(slopes))]
    first = (np.array([other, np.add(other, slopes)], dtype=float), np.array([3.0, 3.0 + constant]))
    boundary = boundary_of([first], len(slopes))
    assert len(boundary) == 1
    assert boundary.measure == pytest.approx(measure, rel=ALMOST)
    assert boundary.class_shares.tolist() == pytest.approx([share, 1 - share], rel=ALMOST)
    assert boundary[0].regions == (0, 0)
    assert boundary.crossed_regions.tolist() == [0]
    assert np.allclose(boundary[0].vertices @ slopes + constant, 0, atol=ALMOST)


def test_polygons_go_around() -> None:
    corners = boundary_of([(np.ones((1, 3)), np.zeros(1))], 3)[0].vertices
    assert len(corners) == 6
    assert np.linalg.norm(np.roll(corners, 1, axis=0) - corners, axis=1) == pytest.approx([sqrt(2)] * 6)


@pytest.mark.parametrize("radius", [0.25, 0.7])
def test_absolute_values_make_a_diamond(radius: float) -> None:
    flat = boundary_of(absolute_sum(2, radius))
    assert len(flat) == 4
    assert flat.measure == pytest.approx(4 * sqrt(2) * radius, rel=ALMOST)
    assert flat.class_shares[0] == pytest.approx(radius**2 / 2, rel=ALMOST)
    assert flat.crossed_regions.tolist() == [0, 1, 2, 3]
    solid = boundary_of(absolute_sum(3, radius), 3)
    assert len(solid) == 8
    assert solid.measure == pytest.approx(4 * sqrt(3) * radius**2, rel=ALMOST)
    assert solid.class_volumes[0] == pytest.approx(4 / 3 * radius**3, rel=ALMOST)


@pytest.mark.parametrize(("threshold", "winner"), [(0.0, 1), (2.0, 0)])
def test_touching_a_vertex_makes_no_piece(threshold: float, winner: int) -> None:
    """|x0| + |x1| is 0 only in the middle, and 2 only in the corners."""
    boundary = boundary_of(absolute_sum(2, 0.0), threshold=threshold)
    assert len(boundary) == 0
    assert boundary.measure == 0
    assert boundary.class_shares[winner] == 1
    assert len(boundary.crossed_regions) == 0
    assert boundary.tied_volume == 0


def test_what_runs_along_a_facet_counts_once() -> None:
    sides = [(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2)), (np.eye(2), np.zeros(2))]
    boundary = boundary_of(sides)
    assert len(boundary) == 1
    assert boundary.measure == 2
    assert boundary[0].classes == (0, 1)
    assert set(boundary[0].regions) == {0, 1}
    assert len(boundary.crossed_regions) == 0
    assert boundary.class_shares.tolist() == [0.5, 0.5]
    assert boundary.tied_volume == 0


@pytest.mark.parametrize(
    ("output", "pieces", "shares"),
    [([[1.0], [0.0]], 0, [1.0, 0.0]), ([[0.0], [1.0]], 1, [0.5, 0.5]), ([[1.0]], 1, [0.5, 0.5])],
)
def test_in_a_tie_the_first_class_wins(output: list[list[float]], pieces: int, shares: list[float]) -> None:
    """relu(x0) and 0 tie on half of the domain; and relu(x0) is at the threshold 0 there."""
    half = [(np.array([[1.0, 0.0]]), np.zeros(1)), (np.array(output), np.zeros(len(output)))]
    boundary = boundary_of(half)
    assert len(boundary) == pieces
    assert boundary.measure == 2 * pieces
    assert boundary.class_shares.tolist() == shares
    assert boundary.tied_volume == 2


def test_outputs_that_are_the_same_tie_everywhere() -> None:
    boundary = boundary_of([(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]), np.zeros(3))])
    assert boundary.classes.tolist() == [[0, 2]]
    assert boundary.class_shares.tolist() == [0.5, 0.0, 0.5]
    assert boundary.tied_volume == 2


def test_three_classes_meet_in_a_point() -> None:
    boundary = boundary_of([(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.zeros(3))])
    found = {piece.classes: piece.measure for piece in boundary}
    assert found == pytest.approx({(0, 1): 1.0, (0, 2): 1.0, (1, 2): sqrt(2)})
    assert boundary.class_shares.tolist() == pytest.approx([1 / 4, 3 / 8, 3 / 8])


@pytest.mark.parametrize("sides", [8, 16, 32])
def test_polygons_around_a_circle_fill_what_it_does(sides: int) -> None:
    angle = 2 * pi * np.arange(sides) / sides
    around = Layer(np.stack([np.cos(angle), np.sin(angle)], axis=1).tolist(), [0.0] * sides, groups=[sides])
    boundary = boundary_of(compiled([around], ([[1.0]], [-0.875])))
    share = boundary.class_shares[0] / 0.875**2
    assert share == pytest.approx(sides * tan(pi / sides) / 4, rel=1e-9)
    assert 0 < share - pi / 4 < 3 / sides**2
    assert boundary.measure == pytest.approx(2 * 0.875 * sides * tan(pi / sides), rel=1e-9)


@every_network
def test_classes_fill_the_domain_and_regions(sizes: list[int], seed: int, whole: int) -> None:
    rs = al.enumerate(random_layers(sizes, seed, whole=whole), al.Box(-1, 1, dim=sizes[0]), vertices=True)
    boundary = rs.decision_boundary()
    assert boundary.class_volumes.sum() == pytest.approx(2 ** sizes[0], rel=ALMOST)
    assert len(boundary.class_volumes) == max(sizes[-1], 2)
    cells = boundary.cells
    assert np.array_equal(np.unique(cells.regions), np.arange(len(rs)))
    assert np.array_equal(rs.locate(cells.parts.points), cells.regions)


@every_network
def test_inside_cells_the_class_is_the_network_s(sizes: list[int], seed: int, whole: int) -> None:
    layers = random_layers(sizes, seed, whole=whole)
    boundary = boundary_of(layers, sizes[0])
    cells = boundary.cells
    for i in range(0, len(cells), max(1, len(cells) // 60)):
        outputs = exact_outputs(layers, cells.parts[i].exact_point)
        assert cells.classes[i] == class_of(outputs)
        assert cells.tied[i] == (outputs.count(max(outputs)) > 1 if len(outputs) > 1 else outputs[0] == 0)


@every_network
def test_on_pieces_two_outputs_are_the_largest(sizes: list[int], seed: int, whole: int) -> None:
    layers = random_layers(sizes, seed, whole=whole)
    boundary = boundary_of(layers, sizes[0])
    assert len(boundary) > 0
    for piece in [boundary[i] for i in range(0, len(boundary), max(1, len(boundary) // 20))]:
        assert len(set(map(tuple, piece.exact_vertices))) == len(piece.vertices) >= sizes[0]
        assert piece.measure > 0
        for exact, rounded in zip(piece.exact_vertices, piece.vertices, strict=True):
            assert [float(v) for v in exact] == pytest.approx(rounded.tolist(), abs=1e-9)
            outputs = exact_outputs(layers, exact)
            assert [outputs[c] for c in piece.classes] == [max(outputs)] * 2 if len(outputs) > 1 else outputs == [0]


@every_network
def test_both_sides_of_a_piece_differ(sizes: list[int], seed: int, whole: int) -> None:
    """A little to each side of the middle of a piece, toward the inside of the cells there."""
    layers = random_layers(sizes, seed, whole=whole)
    boundary = boundary_of(layers, sizes[0])
    for i in range(0, len(boundary), max(1, len(boundary) // 20)):
        corners = boundary.exact_vertices(i)
        middle = [sum(column, Fraction(0)) / len(corners) for column in zip(*corners, strict=True)]
        for cell, winner in zip(boundary.cell_pairs[i].tolist(), boundary[i].classes, strict=True):
            inside = boundary.cells.parts[cell].exact_point
            near = [m + (a - m) / 2**40 for m, a in zip(middle, inside, strict=True)]
            assert class_of(exact_outputs(layers, near)) == winner


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_the_length_in_each_region_is_that_of_clipped_lines(seed: int) -> None:
    rs = al.enumerate(random_layers([2, 8, 8, 3], seed), al.Box(-1, 1, dim=2))
    boundary = rs.decision_boundary()
    assert (boundary.regions[:, 0] == boundary.regions[:, 1]).all()
    lengths = np.bincount(boundary.regions[:, 0], boundary.measures, len(rs))
    for region, length in zip(rs, lengths.tolist(), strict=True):
        assert length == pytest.approx(sum(clipped_lengths(region)), abs=1e-9)


def clipped_lengths(region: al.Region) -> list[float]:
    """The lengths of the lines on which two outputs are equal, as far as no output is larger, in a region."""
    slopes, constants = region.affine
    normals, offsets = region.halfspaces
    found = []
    for a, b in combinations(range(len(slopes)), 2):
        normal, constant = slopes[a] - slopes[b], constants[a] - constants[b]
        if not normal.any():
            continue
        start, along = -constant * normal / (normal @ normal), np.array([-normal[1], normal[0]]) / sqrt(normal @ normal)
        others = [c for c in range(len(slopes)) if c not in (a, b)]
        rows = np.concatenate([normals, slopes[a] - slopes[others]])
        rest = np.concatenate([offsets, constants[a] - constants[others]])
        rate, value = rows @ along, rows @ start + rest
        low = max(-v / r for r, v in zip(rate, value, strict=True) if r > 0)
        high = min(-v / r for r, v in zip(rate, value, strict=True) if r < 0)
        found.append(max(0.0, high - low))
    return found


@pytest.mark.parametrize("seed", [1, 2, 10, 14, 15])
def test_a_path_changes_class_where_it_crosses_a_piece(seed: int) -> None:
    """Along straight lines, on so fine a grid of short numbers that nothing is rounded and nothing missed."""
    layers = random_layers([2, 8, 8, 3], seed, whole=1)
    boundary = boundary_of(layers)
    ends = boundary.vertex_values.reshape(-1, 2, 2)
    steps = np.arange(2**12) / 2**12
    generator = np.random.default_rng(0)
    total = 0
    odd = 2 * generator.integers(-(2**9), 2**9, (40, 2, 2)) + 1
    for start, end in (odd / [2**10, 2**11]).tolist():
        path = np.array(start) + steps[:, None] * np.subtract(end, start)
        classes = np.argmax(boundary.cells.of.network(path), axis=1)
        across = cross(np.subtract(end, start), ends - start)
        along = cross(ends[:, 1] - ends[:, 0], np.array([start, end])[:, None] - ends[:, 0])
        crossed = (across.prod(axis=1) < 0) & (along.prod(axis=0) < 0)
        assert np.count_nonzero(np.diff(classes)) == crossed.sum()
        total += int(crossed.sum())
    assert total > 10


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def exact_outputs(layers: list[tuple[np.ndarray, np.ndarray]], x: list[Fraction]) -> list[Fraction]:
    hidden = [Layer(weight.tolist(), bias.tolist()) for weight, bias in layers[:-1]]
    values, _ = evaluate(hidden, x)
    weight, bias = layers[-1]
    return [
        sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(constant))
        for row, constant in zip(weight.tolist(), bias.tolist(), strict=True)
    ]


def class_of(outputs: list[Fraction]) -> int:
    return outputs.index(max(outputs)) if len(outputs) > 1 else int(outputs[0] > 0)


def test_one_output_of_several_can_be_looked_at() -> None:
    layers = random_layers([2, 8, 3], 4)
    alone = [layers[0], (layers[1][0][2:], layers[1][1][2:])]
    one = boundary_of(layers, output=2, threshold=0.25)
    same = boundary_of(alone, threshold=0.25)
    assert len(one) == len(same) > 0
    assert np.array_equal(one.vertex_values, same.vertex_values)


def test_the_same_boundary_is_found_once() -> None:
    rs = al.enumerate(absolute_sum(2, 0.5), al.Box(-1, 1, dim=2))
    assert rs.decision_boundary() is rs.decision_boundary(output=0, threshold=0)
    assert rs.decision_boundary() is not rs.decision_boundary(threshold=0.5)


@pytest.mark.parametrize("engine", ["vertex", "linear_program"])
def test_however_the_regions_were_found(engine: str, tmp_path: Path) -> None:
    layers = random_layers([2, 8, 8, 3], 15, whole=1)
    reference = boundary_of(layers)
    assert len(reference) > 0
    al.enumerate(layers, al.Box(-1, 1, dim=2), engine=engine).save(tmp_path / "run")
    rs = al.load(tmp_path / "run")
    boundary = rs.decision_boundary()
    assert sorted(boundary.measures.tolist()) == pytest.approx(sorted(reference.measures.tolist()))
    assert np.array_equal(rs.locate(boundary.cells.parts.points), boundary.cells.regions)


def wide_layers() -> list[tuple[np.ndarray, np.ndarray]]:
    """So many units that only those that can switch are kept; three outputs are equal in the middle."""
    generator = np.random.default_rng(0)
    first = generator.normal(size=(4200, 2)), 20 * generator.normal(size=4200)
    last = generator.normal(size=(3, 4200))
    return [first, (last, -last @ np.maximum(first[1], 0.0))]


def maxima() -> al.Network:
    """Maxima of groups of units, and outputs of those."""
    generator = np.random.default_rng(3)
    grouped = Layer(generator.normal(size=(12, 2)).tolist(), generator.normal(size=12).tolist(), groups=[3, 4, 5])
    return compiled([grouped], (generator.normal(size=(3, 3)).tolist(), [0.0, 0.5, 0.25]))


def test_of_a_large_network_only_what_switches_is_looked_at() -> None:
    rs = al.enumerate(wide_layers(), al.Box(-0.1, 0.1, dim=2))
    assert len(rs.switching) < 4200
    boundary = rs.decision_boundary()
    cells = boundary.cells
    assert len(set(cells.classes.tolist())) == 3
    assert np.array_equal(np.argmax(rs.network(cells.parts.points), axis=1), cells.classes)
    assert np.array_equal(rs.locate(cells.parts.points), cells.regions)
    outputs = np.sort(rs.network(boundary.vertex_values), axis=1)
    assert outputs[:, -1] == pytest.approx(outputs[:, -2], abs=1e-9)


@pytest.mark.parametrize(("sizes", "seed", "whole"), [([2, 8, 8, 3], 15, 1), ([3, 8, 6, 3], 7, 0)])
def test_a_domain_walked_in_subdomains_has_the_same_boundary(
    sizes: list[int], seed: int, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers, domain = random_layers(sizes, seed, whole=whole), al.Box(-1, 1, dim=sizes[0])
    reference = al.enumerate(layers, domain).decision_boundary()
    monkeypatch.setattr(areas, "_MANY_SWITCHING", 4)
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)
    rs = al.enumerate(layers, domain)
    boundary = rs.decision_boundary()
    assert restrict(boundary.cells.parts.network, domain.frame).subdomains
    assert sorted(boundary.measures.tolist()) == pytest.approx(sorted(reference.measures.tolist()), rel=1e-9)
    assert np.array_equal(rs.locate(boundary.cells.parts.points), boundary.cells.regions)
    assert boundary.class_shares.tolist() == pytest.approx(reference.class_shares.tolist())
    for piece in list(boundary)[::4]:
        for corner in piece.exact_vertices:
            outputs = exact_outputs(layers, corner)
            assert [outputs[c] for c in piece.classes] == [max(outputs)] * 2


@pytest.mark.parametrize(
    ("model", "width"),
    [
        (random_layers([2, 8, 8, 3], 15, whole=1), 1.0),
        (random_layers([2, 8, 8, 3], 3), 1.0),
        (wide_layers(), 0.01),
        (maxima(), 1.0),
    ],
    ids=["ties", "generic", "wide", "maxima"],
)
def test_an_incomplete_set_has_the_pieces_between_its_own_regions(model: Any, width: float) -> None:
    domain = al.Box(-width, width, dim=2)
    every = al.enumerate(model, domain)
    some = al.enumerate(model, domain, max_regions=3 * len(every) // 4, workers=1)
    assert 0 < len(some) < len(every)
    place = every.locate(some.points)
    found, reference = some.decision_boundary(), every.decision_boundary()
    inside = np.isin(reference.regions, place).all(axis=1)
    assert len(found) == inside.sum() > 0
    expected = {(*place_pair, *classes): measure for place_pair, classes, measure in columns(reference, inside)}
    own = {(*place[list(pair)].tolist(), *classes): measure for pair, classes, measure in columns(found)}
    assert own == pytest.approx(expected)
    assert found.class_volumes.sum() == pytest.approx(
        reference.cells.volumes[np.isin(reference.cells.regions, place)].sum()
    )


def columns(boundary: DecisionBoundary, rows: Any = slice(None)) -> Any:
    return zip(
        boundary.regions[rows].tolist(), boundary.classes[rows].tolist(), boundary.measures[rows].tolist(), strict=True
    )


def test_a_set_that_lacks_a_region_is_refused() -> None:
    rs = al.enumerate(random_layers([2, 8, 8, 3], 3), al.Box(-1, 1, dim=2))
    lacking = replace(rs.outcome, columns=rs.outcome.table[1 : len(rs)], layer_counts=(0, len(rs) - 1))
    with pytest.raises(AffineLensError, match="does not have the network's regions"):
        al.RegionSet(rs.network, rs.domain, lacking, {}).decision_boundary()


def test_a_set_without_regions_has_no_boundary() -> None:
    rs = al.enumerate(random_layers([2, 8, 8, 3], 0, whole=1), al.Box(-1, 1, dim=2))
    empty = al.RegionSet(rs.network, rs.domain, cut_off(rs), {})
    assert len(empty) == 0
    assert len(empty.decision_boundary()) == 0
    assert empty.distance_to_boundary([0.0, 0.0]).value == np.inf


def cut_off(rs: al.RegionSet) -> Any:
    certificate = replace(rs.certificate, complete=False)
    return replace(
        rs.outcome, status=al.Status.TIME_LIMIT, certificate=certificate, columns=rs.outcome.table[0:0],
        layer_counts=(0,) * len(rs.layer_counts),
    )  # fmt: skip


def test_on_a_slice_both_coordinates_are_there() -> None:
    origin, basis = np.array([0.5, -1.0, 0.0]), np.array([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    layers = random_layers([3, 8, 2], 1, whole=1)
    domain = al.Slice(origin, basis, al.Box(-1, 1, dim=2))
    boundary = al.enumerate(layers, domain).decision_boundary()
    composed = [(layers[0][0] @ basis.T, layers[0][0] @ origin + layers[0][1]), layers[1]]
    reference = boundary_of(composed)
    assert len(boundary) == len(reference) > 0
    assert boundary.measure == pytest.approx(reference.measure)
    assert np.array_equal(boundary.vertex_values, domain.to_inputs(boundary.local_vertex_values))
    for piece, length in zip(boundary, boundary.input_measures.tolist(), strict=True):
        assert length == pytest.approx(float(np.linalg.norm(piece.vertices[1] - piece.vertices[0])))
        assert piece.measure == pytest.approx(float(np.linalg.norm(piece.local_vertices[1] - piece.local_vertices[0])))


def test_fixed_inputs_leave_a_boundary_of_the_others() -> None:
    boundary = al.enumerate(absolute_sum(3, 0.75), al.Box([-1, 0.25, -1], [1, 0.25, 1])).decision_boundary()
    assert boundary.measure == pytest.approx(4 * sqrt(2) * 0.5)
    assert np.all(boundary.vertex_values[:, 1] == 0.25)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.5}, "name one with output="),
        ({"output": 3}, "0 to 2"),
        ({"output": True}, "0 to 2"),
        ({"output": 1, "threshold": float("nan")}, "finite number"),
        ({"output": 1, "threshold": "high"}, "finite number"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AffineLensError, match=words):
        boundary_of(random_layers([2, 4, 3], 0, whole=1), **options)


def test_too_many_dimensions_are_refused_in_a_sentence() -> None:
    rs = al.enumerate([(np.eye(16)[:2], np.zeros(2)), (np.eye(2), np.zeros(2))], al.Box(-1, 1, dim=16))
    with pytest.raises(AffineLensError, match="dimension 16"):
        rs.decision_boundary()


@pytest.mark.parametrize(("last", "inverse"), [("Sigmoid", lambda p: np.log(p / (1 - p))), ("Tanh", np.arctanh)])
@pytest.mark.parametrize("threshold", [0.5, 0.25, 0.9])
def test_a_threshold_is_one_of_the_models_own_output(
    last: str, inverse: Callable[[float], float], threshold: float
) -> None:
    """The boundary lies where the model, with its last operator, takes the threshold on."""
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(
        torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1), getattr(torch.nn, last)()
    )
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), (2.0, 6.0, 1.0, -6.0), strict=True):
            parameter.fill_(value)
    rs = al.enumerate(model, al.Box(-2, 2, dim=1))  # the model is last(2 x) from -3 on
    boundary = rs.decision_boundary(threshold=threshold)
    assert boundary.local_vertex_values.ravel() == pytest.approx([inverse(threshold) / 2])
    with pytest.raises(al.AffineLensError, match="whose values lie between"):
        rs.decision_boundary(threshold=1.5)
