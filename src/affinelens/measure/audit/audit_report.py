"""Checking a set of regions again, without the engine that found it.

That the set is complete follows from three facts that are each proved here: its regions exist, because their points
have their patterns; their stated facets are all that they have; and beyond every facet lies another region of the set
or the outside of the domain. The regions of a convex domain are connected through their facets (paper, Theorem 2), so
none can be missing.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from math import inf, isnan
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.measure.audit.facet_lists import FacetLists
from affinelens.measure.audit.random_points import drawn_points, network_agrees
from affinelens.measure.audit.stated_facets import beyond_and_mutual, first_misfit
from affinelens.measure.audit.stated_patterns import StatedPatterns, first_repeated
from affinelens.measure.geometry.volumes import domain_volume, volume_shares
from affinelens.progress import doing
from affinelens.regions import Regions, all_vertices, located_coordinates, neighbor_values

# What of a check that failed keeps others from being looked at.
_WRONG = {
    "points": "the patterns are wrong",
    "patterns": "the patterns are wrong",
    "facets": "facets are wrong",
    "facet lists": "regions or facets are missing",
    "neighbors": "regions or facets are missing",
}
_OF_FACETS = ("facets", "facet lists", "neighbors")
# How wide a report's lines are.
_WIDTH = 79
_MOST_SAMPLES = 10**7
# Vertices are rounded, so volumes are: they must agree in half of the digits. A region that is missing is found by its
# neighbors, however small.
_HALF_THE_DIGITS = 2.0**-26


class Finding(Enum):
    """What a check came to; the value is the word shown to the user."""

    PROVED = "proved"
    MEASURED = "measured"
    SAMPLED = "sampled"
    OPEN = "open"
    FAILED = "FAILED"

    def __str__(self) -> str:
        return self.value


_Verdict: TypeAlias = tuple[Finding, int, str]


@dataclass(frozen=True)
class Check:
    """One thing that was checked: what it came to, of how many, and a sentence that says so."""

    name: str
    finding: Finding
    count: int
    detail: str


@dataclass(frozen=True)
class AuditReport:
    """All that was checked. ``passed`` says that nothing failed, ``proves_complete`` that no region can be missing."""

    checks: tuple[Check, ...]
    seconds: float

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    @property
    def passed(self) -> bool:
        return all(check.finding is not Finding.FAILED for check in self.checks)

    @property
    def proves_complete(self) -> bool:
        return self["complete"].finding is Finding.PROVED

    def to_json(self) -> dict[str, Any]:
        checks = [
            {"name": check.name, "finding": check.finding.name, "count": check.count, "detail": check.detail}
            for check in self.checks
        ]
        return {
            "passed": self.passed, "proves_complete": self.proves_complete, "seconds": round(self.seconds, 3),
            "checks": checks,
        }  # fmt: skip

    def __repr__(self) -> str:
        complete = "proved complete" if self.proves_complete else "not proved complete"
        failed = [check.name for check in self.checks if check.finding is Finding.FAILED]
        return f"AuditReport({'failed: ' + ', '.join(failed) if failed else 'passed'}, {complete})"

    def __str__(self) -> str:
        lines = [_line(f"{check.name:<13} {check.finding!s:<9} ", check.detail) for check in self.checks]
        end = "passed" if self.passed else "FAILED"
        return "\n".join([*lines, f"audit {end} in {self.seconds:.3g} s"])


def _line(label: str, text: str) -> str:
    """A label and a text beside it, on as many lines as it takes."""
    return textwrap.fill(text, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label))


def audit(regions: Regions, *, samples: int = 1000, seed: int = 0) -> AuditReport:
    """Check points, patterns, facets, volumes and random points of a set of regions."""
    if not _is_whole(samples) or not 0 <= samples <= _MOST_SAMPLES:
        raise AffineLensError(
            f"an audit draws from 0 to {_MOST_SAMPLES:,} random points, but {samples!r:.40} were asked for"
        )
    if not _is_whole(seed) or seed < 0:
        raise AffineLensError(f"the seed of an audit is a whole number from 0 on, but got {seed!r:.40}")
    started = time.perf_counter()
    checks = tuple(_checks(regions, samples, seed))
    return AuditReport(checks, time.perf_counter() - started)


def _is_whole(number: Any) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _checks(regions: Regions, samples: int, seed: int) -> Iterator[Check]:
    """The checks in order; what needs facts that did not hold is not looked at."""
    placed = ("points", "patterns")
    stated = (*placed, "facets")
    steps: tuple[tuple[str, Callable[[Regions], _Verdict], tuple[str, ...]], ...] = (
        ("points", _points, ()),
        ("patterns", _patterns, ()),
        ("facets", _facets, placed),
        ("facet lists", partial(_facet_lists, seed=seed), stated),
        ("neighbors", _neighbors, stated),
        ("volumes", _volumes, (*stated, "facet lists", "neighbors")),
        ("random points", partial(_random_points, samples=samples, seed=seed), placed),
    )
    found: dict[str, Check] = {}
    for name, check, needed in steps:
        unseen = _why_not(regions, name, [found[other] for other in needed])
        with doing(f"checking {name}"):
            found[name] = Check(name, *(check(regions) if unseen is None else (Finding.OPEN, 0, unseen)))
    yield from found.values()
    yield Check("complete", *_complete(regions, found))


def _why_not(regions: Regions, name: str, needed: Sequence[Check]) -> str | None:
    """Why something cannot be looked at, if so."""
    failed = next((check.name for check in needed if check.finding is Finding.FAILED), None)
    if failed is not None:
        return f"not looked at, because {_WRONG[failed]}"
    if name in _OF_FACETS and not regions.outcome.has_facets:
        return "the run was made without facets"
    return None


def _points(regions: Regions) -> _Verdict:
    stated = StatedPatterns(regions)
    wrong = stated.first_misplaced()
    if wrong is not None:
        return Finding.FAILED, 1, f"region {wrong[0]}: {wrong[1]}"
    detail = (
        f"all {len(regions):,} interior points are strictly inside the domain and have the stated pattern, strictly "
        f"({stated.tally.signs:,} signs, {stated.tally.exactly:,} of them in rational arithmetic)"
    )
    return Finding.PROVED, len(regions), detail


def _patterns(regions: Regions) -> _Verdict:
    twice = first_repeated(regions)
    if twice is not None:
        return Finding.FAILED, 1, f"regions {twice[0]} and {twice[1]} have the same pattern"
    return Finding.PROVED, len(regions), f"all {len(regions):,} patterns are different"


def _facets(regions: Regions) -> _Verdict:
    wrong = first_misfit(regions)
    if wrong is not None:
        return Finding.FAILED, 1, wrong
    count = len(regions.facet_values)
    return Finding.PROVED, count, f"all {count:,} facets lie on borders of the stated pieces"


def _facet_lists(regions: Regions, seed: int) -> _Verdict:
    lists = FacetLists(regions, seed)
    wrong = lists.first_incomplete()
    if wrong is not None:
        return Finding.FAILED, 1, f"region {wrong[0]} is also bounded by {wrong[1]}"
    tally = lists.tally
    if tally.regions == 0 and len(regions):
        return Finding.OPEN, 0, f"not looked at in dimension {regions.domain.dim}"
    whole = tally.regions == len(regions)
    detail = (
        f"the stated facets of {'all ' if whole else ''}{tally.regions:,} regions are all they have "
        f"({tally.constraints:,} constraints, {tally.exactly:,} of them in rational arithmetic)"
    )
    return Finding.PROVED if whole else Finding.SAMPLED, tally.regions, detail


def _neighbors(regions: Regions) -> _Verdict:
    if not regions.certificate.complete:
        return Finding.OPEN, 0, "the set is incomplete, so facets may lead out of it"
    wrong = beyond_and_mutual(regions)
    if wrong is not None:
        return Finding.FAILED, 1, wrong
    inner = int(np.count_nonzero(neighbor_values(regions) >= 0))
    detail = f"beyond all {inner:,} facets inside the domain lies a region of the run, with the same facet"
    return Finding.PROVED, inner, detail


def _volumes(regions: Regions) -> _Verdict:
    if not regions.certificate.complete:
        return Finding.OPEN, 0, "the set is incomplete, so volumes need not sum to the domain's"
    try:
        corners = all_vertices(regions)
    except AffineLensError:
        return Finding.OPEN, 0, f"not looked at in dimension {regions.domain.dim}"
    shares = volume_shares(regions.domain, corners)
    off = abs(float(shares.sum()) - 1)
    if isnan(off):
        return Finding.OPEN, 0, "the domain is too thin for its volume in float64"
    whole = domain_volume(regions.domain)
    stated = f", {whole:.6g}," if 0 < whole < inf else ""
    finding = Finding.MEASURED if off < _HALF_THE_DIGITS else Finding.FAILED
    return finding, len(shares), f"volumes sum to the domain's{stated} up to {off:.1e} of it"


def _random_points(regions: Regions, samples: int, seed: int) -> _Verdict:
    points = drawn_points(regions, samples, seed)
    if not len(points):
        return Finding.OPEN, 0, "none were drawn"
    places = located_coordinates(regions, points)
    lost, found = int(np.count_nonzero(places < 0)), places >= 0
    if lost and regions.certificate.complete:
        example = points[np.argmin(places)].tolist()
        shown = ", ".join(f"{v:.6g}" for v in example[:4])
        return Finding.FAILED, lost, f"{lost:,} lie in no region, such as ({shown})"
    if not network_agrees(regions, points[found], places[found]):
        return Finding.FAILED, 1, "the whole network has another pattern where one is drawn"
    where = f"all {len(points):,}" if not lost else f"{int(found.sum()):,} of {len(points):,}"
    return Finding.SAMPLED, len(points), f"{where} lie in exactly one region"


def _complete(regions: Regions, checks: dict[str, Check]) -> _Verdict:
    if any(check.finding is Finding.FAILED for check in checks.values()):
        return Finding.OPEN, 0, "nothing can be said of a run that is wrong"
    if not regions.certificate.complete:
        return Finding.OPEN, 0, f"cannot be claimed: {regions.status}"
    if not len(regions):
        return Finding.FAILED, 0, "a complete run has at least one region"
    needed = [checks[name] for name in ("points", "patterns", "facets", "facet lists", "neighbors")]
    if all(check.finding is Finding.PROVED for check in needed):
        return Finding.PROVED, len(regions), "no region is missing, by the paper's Theorem 2"
    others = ", ".join(check.name for check in needed if check.finding is not Finding.PROVED)
    if checks["facet lists"].finding is Finding.SAMPLED:
        return Finding.SAMPLED, len(regions), "no region is missing if all facet lists are right"
    return Finding.OPEN, 0, f"not proved, because this was not: {others}"
