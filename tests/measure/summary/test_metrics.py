"""Metrics: plain numbers under stable names."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import affinelens as al
from affinelens.measure.summary.metrics import volume_metrics
from support.measured import ABSOLUTE, random_set
from support.random_networks import random_layers

WITHOUT_VERTICES = {
    "regions", "complete", "dimension", "cells_stage_1", "log10_bound_zaslavsky", "log10_bound_serra", "lipschitz_l2",
    "lipschitz_linf", "facets_mean", "inradius_median", "inradius_max",
}  # fmt: skip
WITH_VERTICES = WITHOUT_VERTICES | {
    "log10_bound_montufar", "vertices_mean", "volume_total", "volume_min", "volume_median", "volume_mean", "volume_max",
    "volume_gini", "volume_entropy", "slope_mean", "output_0_min", "output_0_max", "output_0_mean", "crossed_regions",
    "crossed_share", "uncrossed_volume_median",
}  # fmt: skip


def test_all_are_finite_plain_numbers() -> None:
    metrics = random_set(2, 8, 8, 3, seed=0).metrics()
    assert all(type(value) in (int, float) and math.isfinite(value) for value in metrics.values())
    assert json.loads(json.dumps(metrics)) == metrics


def test_of_the_absolute_value() -> None:
    metrics = al.enumerate(ABSOLUTE, al.Box(-1, 3, dim=1)).metrics()
    assert set(metrics) == WITH_VERTICES
    assert (metrics["regions"], metrics["complete"], metrics["cells_stage_1"]) == (2, 1, 2)
    assert (metrics["volume_min"], metrics["volume_median"], metrics["volume_max"]) == (1.0, 2.0, 3.0)
    assert metrics["volume_gini"] == pytest.approx(0.25)
    assert metrics["volume_entropy"] == pytest.approx(-0.25 * math.log(0.25) - 0.75 * math.log(0.75))
    assert (metrics["output_0_min"], metrics["output_0_max"], metrics["output_0_mean"]) == (0.0, 3.0, 1.25)
    assert (metrics["lipschitz_l2"], metrics["slope_mean"], metrics["inradius_max"]) == (1.0, 1.0, 1.5)
    assert (metrics["crossed_regions"], metrics["crossed_share"]) == (0, 0.0)


def test_of_regions_near_the_boundary() -> None:
    # units at -0.9 and 0; the classes change at 0.5, inside the last region
    model = [([[1.0], [1.0]], [0.9, 0.0]), ([[0.0, 1.0], [0.0, 0.0]], [0.0, 0.5])]
    metrics = al.enumerate(model, al.Box(-1, 1, dim=1)).metrics()
    assert metrics["crossed_regions"] == 1
    assert metrics["crossed_share"] == pytest.approx(0.5)
    assert metrics["crossed_volume_median"] == pytest.approx(1.0)
    assert metrics["uncrossed_volume_median"] == pytest.approx(0.5)
    assert metrics["crossed_density"] == pytest.approx((1 / 1.0) / (3 / 2.0))


def test_equal_volumes_have_no_inequality_and_the_largest_entropy() -> None:
    spread = volume_metrics(np.full(8, 0.25), np.full(8, 0.25))
    assert spread["volume_gini"] == pytest.approx(0.0)
    assert spread["volume_entropy"] == pytest.approx(math.log(8))


def test_where_vertices_are_out_of_reach_their_metrics_are_left_out() -> None:
    rs = al.enumerate(random_layers([30, 2, 1], seed=0), al.Box(-1, 1, dim=30))
    assert set(rs.metrics()) == WITHOUT_VERTICES


def test_a_set_without_facets_leaves_out_what_needs_them() -> None:
    metrics = random_set(2, 4, 4, 1, seed=0, facets=False).metrics()
    assert metrics["volume_total"] == pytest.approx(4.0)
    assert not {"facets_mean", "inradius_max", "output_0_max"} & set(metrics)


def test_an_incomplete_set_says_so() -> None:
    metrics = random_set(2, 8, 8, 1, seed=0, max_regions=5).metrics()
    assert (metrics["regions"], metrics["complete"]) == (5, 0)
    assert 0 < metrics["volume_total"] < 4


def test_a_loaded_run_has_the_same_metrics(tmp_path: object) -> None:
    rs = random_set(2, 8, 8, 2, seed=0)
    assert al.load(rs.save(f"{tmp_path}/run")).metrics() == rs.metrics()
