"""Where float64 overflows or underflows, measures are those of the same picture at another scale, and never nan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.measure.geometry.lengths import lengths
from support.random_networks import random_layers

# Powers of two: scaling by them rounds nothing.
HUGE, TINY = 2.0**900, 2.0**-900


def picture(dim: int, size: float = 1.0, height: float = 1.0) -> al.RegionSet:
    """One and the same picture, on a box of any size and with outputs of any height."""
    (weight, offset), middle, (last, constant) = random_layers([dim, 6, 4, 2], seed=1)
    layers = [(weight / size, offset), middle, (last * height, constant * height)]
    return al.enumerate(layers, al.Box(-size, size, dim=dim), vertices=True)


def in_numbers(rs: al.RegionSet) -> dict[str, Any]:
    boundary = rs.decision_boundary()
    return {
        **rs.metrics(),
        **{name: rs.column(name) for name in rs.columns},
        "means": rs.output_means(),
        "shares": boundary.class_shares,
        "class_volumes": boundary.class_volumes,
        "measures": boundary.measures,
        "tied": boundary.tied_volume,
        "distance": [found.value for found in (rs.distance_to_boundary(rs.points[0], norm=n) for n in ("l2", "linf"))],
        "vertices": rs[0].vertices,
        "region_volume": rs[0].volume,
        "region_centroid": rs[0].centroid,
    }


def without_nan(found: dict[str, Any]) -> bool:
    return not any(np.isnan(np.asarray(values, dtype=np.float64)).any() for values in found.values())


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("size", [HUGE, TINY])
def test_a_box_of_any_size_has_the_measures_of_a_usual_one(dim: int, size: float) -> None:
    usual, found = in_numbers(picture(dim)), in_numbers(picture(dim, size))
    assert without_nan(found)
    assert set(found) == set(usual)
    same = ("volume_gini", "volume_entropy", "crossed_share", "crossed_regions", "means", "shares", "class", "output")
    for name in same:
        np.testing.assert_allclose(found[name], usual[name], rtol=1e-9, err_msg=name)
    for name in ("inradius", "centroid", "center", "distance", "border_distance"):
        np.testing.assert_allclose(np.asarray(found[name]) / size, usual[name], rtol=1e-9, atol=1e-9, err_msg=name)
    for name in ("jacobian_norm", "gradient_norm", "lipschitz_l2", "lipschitz_linf", "slope_mean"):
        np.testing.assert_allclose(np.asarray(found[name]) * size, usual[name], rtol=1e-9, err_msg=name)
    report = picture(dim, size).audit(samples=50)
    assert report.proves_complete
    assert report.passed


@pytest.mark.parametrize("height", [2.0**1000, 2.0**-1000])
def test_outputs_of_any_height_have_the_measures_of_usual_ones(height: float) -> None:
    usual, found = in_numbers(picture(2)), in_numbers(picture(2, height=height))
    assert without_nan(found)
    for name in ("jacobian_norm", "gradient_norm", "lipschitz_l2", "lipschitz_linf", "means", "output", "slope_mean"):
        np.testing.assert_allclose(np.asarray(found[name]) / height, usual[name], rtol=1e-9, err_msg=name)
    np.testing.assert_array_equal(found["class"], usual["class"])
    np.testing.assert_allclose(found["shares"], usual["shares"])


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_outputs_beyond_float64_are_infinite_or_right_and_never_nan() -> None:
    layers = [(weight * 2.0**600, offset * 2.0**600) for weight, offset in random_layers([2, 6, 4, 2], seed=1)]
    rs = al.enumerate(layers, al.Box(-1, 1, dim=2), vertices=True)
    assert without_nan(in_numbers(rs))
    span = rs.output_ranges()[0]
    assert span.highest > 2**1100
    assert "inf" in repr(span)


def test_lengths_that_squares_cannot_hold() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    for size in (1.0, 2.0**600, 2.0**-600):
        np.testing.assert_array_equal(lengths(rows * size), [5.0 * size, 0.0])


def test_regions_too_thin_for_float64_are_weighed_alone_or_not_at_all() -> None:
    """Two hairs at 1/3 and 2/3, of widths below an ulp; one alone has its mean, both together have no weights."""
    layers = [([[3.0], [1.0], [3.0], [1.0]], [-1.0, -1 / 3, -2.0, -2 / 3]), ([[1.0, 1.0, 1.0, 1.0]], [0.0])]
    rs = al.enumerate(layers, al.Box(-1, 1, dim=1), vertices=True)
    thin = np.flatnonzero(rs.volumes() == 0)
    assert len(thin) == 2
    alone, both = rs[thin[:1]], rs[thin]
    np.testing.assert_allclose(alone.output_means(), alone[0](alone[0].centroid), atol=1e-15)
    assert alone.metrics()["volume_gini"] == 0
    with pytest.raises(al.AffineLensError, match="too thin"):
        both.output_means()
    with pytest.raises(al.AffineLensError, match="too thin"):
        _ = both.decision_boundary(threshold=0).class_shares
    found = both.metrics()
    assert not any(np.isnan(value) for value in found.values())
    assert "volume_entropy" not in found
    assert found["output_0_max"] >= found["output_0_min"]


@pytest.mark.parametrize("seed", range(4))
def test_weights_whose_products_overflow_warn_nowhere(seed: int) -> None:
    """Weights of all magnitudes: audits, measures and maps say nothing but their results."""
    generator = np.random.default_rng(seed)
    layers = [
        (np.sign(weight) * 10.0 ** generator.uniform(-140, 140, weight.shape), bias)
        for weight, bias in random_layers([2, 6, 5, 2], seed=seed)
    ]
    rs = al.enumerate(layers, al.Box(-1, 1, dim=2), vertices=True)
    assert rs.audit(samples=20).passed
    assert not any(np.isnan(value) for value in rs.metrics().values())
    assert rs.adjacency().pairs.shape[1] == 2
