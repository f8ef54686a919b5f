"""What a stopped walk says it has covered is what its regions fill, and no more than that where it cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from support.random_networks import random_layers

CUBE = al.Box(-1, 1, dim=3)
SIMPLEX = al.Polytope([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]], [1, 1, 1, 0])


def covered(rs: al.RegionSet, domain: al.Domain) -> float:
    whole = al.enumerate([(np.ones((1, 3)), np.zeros(1))], domain)
    return float(rs.column("volume").sum() / whole.column("volume").sum())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("domain", [CUBE, SIMPLEX], ids=["cube", "simplex"])
@pytest.mark.parametrize("limit", [1, 10, 60])
def test_the_share_is_what_the_regions_fill(domain: al.Domain, limit: int, workers: int) -> None:
    rs = al.enumerate(random_layers([3, 9, 8, 1], seed=2), domain, engine="vertex", max_regions=limit, workers=workers)
    assert rs.status is al.Status.REGION_LIMIT
    assert len(rs) == limit
    assert rs.share is not None
    assert rs.share <= covered(rs, domain) + 1e-12
    if workers == 1:
        assert rs.share == pytest.approx(covered(rs, domain), abs=1e-12)


def test_more_regions_are_a_larger_share() -> None:
    layers = random_layers([3, 9, 8, 1], seed=3)
    shares = [al.enumerate(layers, CUBE, engine="vertex", max_regions=n, workers=1).share for n in (1, 5, 25, 10**6)]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[2] < shares[3] == 1
