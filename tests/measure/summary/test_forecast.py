"""The forecast of a count, beside the count."""

from __future__ import annotations

from math import log10
from pathlib import Path

import pytest

import affinelens as al
from affinelens.measure.summary.forecast import forecast
from affinelens.restrict import restrict
from support.command_line import write_network


@pytest.mark.parametrize("sizes", [(1, 16, 16, 1), (2, 32, 32, 1), (3, 24, 12, 1), (4, 20, 1)])
def test_the_forecast_has_the_right_order_of_magnitude(sizes: tuple[int, ...], tmp_path: Path) -> None:
    network = al.network(write_network(tmp_path / "net.npz", *sizes, seed=3))
    for domain in (al.Box(-1, 1, dim=sizes[0]), al.Box(-0.25, 0.5, dim=sizes[0])):
        expected = forecast(network, domain.frame, restrict(network, domain.frame))
        regions = al.count(network, domain, workers=1)
        assert abs(expected.regions - log10(regions)) < 1
        assert expected.bound is None or log10(regions) <= expected.bound + 1e-9
