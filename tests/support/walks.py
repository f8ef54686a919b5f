"""Several ways to the regions of one network on one domain, which must all find the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from affinelens import Network, RegionSet, Status
from affinelens.arithmetic import ExactMatrix
from affinelens.domain import Domain, Frame
from affinelens.engine import Choice, run
from affinelens.engine.choice import engine_named
from affinelens.network import MaxGroups, PiecewiseLinear, Stage
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.walk import Outcome, Request
from support.brute_force import Layer, Polytope, Row, split

Pattern = tuple[int, ...]
FacetSet = frozenset[tuple[int, int]]


def walk_by(
    name: str, network: Network, frame: Frame, restricted: RestrictedNetwork | None = None, **asked: Any
) -> Outcome:
    """What an engine finds on the whole network, or on the part of it that is given."""
    return run(Request(network, frame, name, **asked), Choice(engine_named(name), "named by the test", restricted))


def walked(network: Network, domain: Domain, name: str = "vertex", *, restricted: bool, keep: bool = True) -> Outcome:
    """One engine on the whole network, or on the part of it that switches."""
    restricted = restrict(network, domain.frame) if restricted else None
    outcome = walk_by(name, network, domain.frame, restricted, regions=keep)
    assert outcome.status is Status.COMPLETE
    return outcome


def all_ways(network: Network, domain: Domain, *, programs: bool = False) -> RegionSet:
    """The regions, after finding them directly and restricted, by vertices and by counting (and linear programs)."""
    direct, restricted = (walked(network, domain, restricted=part) for part in (False, True))
    assert restricted.layer_counts == direct.layer_counts
    assert facets_by_pattern(restricted) == facets_by_pattern(direct)
    for part in (False, True):
        counted = walked(network, domain, "count", restricted=part, keep=False)
        assert counted.layer_counts == direct.layer_counts
    if programs:
        other = walk_by("linear_program", network, domain.frame)
        assert other.layer_counts == direct.layer_counts
        assert set(facets_by_pattern(other)) == set(facets_by_pattern(direct))
    return RegionSet(network, domain, restricted, {})


def facets_by_pattern(outcome: Outcome) -> dict[Pattern, FacetSet]:
    """Every region's facets, by its pattern over the whole network."""
    facets = outcome.table.facets
    assert facets is not None
    patterns = outcome.patterns if outcome.switching is None else outcome.switching.whole(outcome.patterns)
    rows = [
        frozenset(zip(facets.numbers[a:b].tolist(), facets.signs[a:b].tolist(), strict=True))
        for a, b in zip(facets.offsets[:-1].tolist(), facets.offsets[1:].tolist(), strict=True)
    ]
    found = {tuple(pattern): row for pattern, row in zip(patterns.tolist(), rows, strict=True)}
    assert len(found) == outcome.regions
    return found


def brute_force_patterns(network: Network, domain: Domain, cell: Polytope) -> set[Pattern]:
    """The patterns of all regions on a domain, whose polytope of coordinates is given, by cutting in rationals."""
    one = ExactMatrix.from_floats(np.eye(1, domain.dim + 1, domain.dim))
    cells: list[tuple[Polytope, Pattern, list[ExactMatrix]]] = [(cell, (), [domain.frame.chart])]
    for stage in network.stages:
        children = []
        for current, pattern, values in cells:
            z = _rows(stage.linear.propagate_exact(values, one))
            for part, longer, outputs in split(current, pattern, z, _layer(stage)):
                children.append((part, longer, [*values, _matrix(outputs)]))
        cells = children
    return {pattern for _, pattern, _ in cells}


def _rows(matrix: ExactMatrix) -> list[Row]:
    return [(tuple(row[:-1]), row[-1]) for row in matrix.to_fractions()]


def _matrix(rows: Sequence[Row]) -> ExactMatrix:
    return ExactMatrix.from_fractions([[*weights, constant] for weights, constant in rows])


def _layer(stage: Stage) -> Layer:
    activation = stage.activation
    if isinstance(activation, MaxGroups):
        return Layer([], [], groups=np.diff(activation.starts).tolist())
    assert isinstance(activation, PiecewiseLinear)
    pieces = []
    for t, slopes, offsets in zip(activation.breakpoints, activation.slopes, activation.offsets, strict=True):
        count = int(np.isfinite(t).sum())
        pieces.append((t[:count].tolist(), slopes[: count + 1].tolist(), offsets[: count + 1].tolist()))
    return Layer([], [], pieces=pieces)


def assert_affine_maps_hold(regions: RegionSet, limit: int | None = None) -> None:
    """At each region's exact interior point, its pattern and affine map are what the network computes there."""
    network = regions.network
    for region in regions[:limit]:
        x = region.exact_point
        form = network.exact_forms(regions.domain.frame.chart, regions.pattern(region.index))[-1]
        t: list[Fraction] = [*region.local.exact_point, Fraction(1)]
        assert network.evaluate_exact(x) == [
            sum((a * b for a, b in zip(row, t, strict=True)), Fraction(0)) for row in form.to_fractions()
        ]
