"""Runs that were saved before the format had notes with a kind are read as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.network.note import NoteKind

RUNS = Path(__file__).parent / "earlier_runs"


def test_a_plain_run_with_vertices() -> None:
    rs = al.load(RUNS / "plain")
    generator = np.random.default_rng(0)
    layers = [
        (generator.normal(size=(n, m)), generator.normal(size=n)) for m, n in [(2, 6), (6, 5), (5, 2)]
    ]  # what was saved
    again = al.enumerate(layers, al.Box(-1, 1, dim=2), vertices=True)
    assert rs.network.digest == again.network.digest
    assert (rs.status, rs.layer_counts, rs.certificate) == (again.status, again.layer_counts, again.certificate)
    for name in ("points", "patterns", "facet_values", "facet_signs", "vertex_values", "vertex_offsets"):
        np.testing.assert_array_equal(getattr(rs, name), getattr(again, name), err_msg=name)
    assert rs.volumes().sum() == pytest.approx(4.0)


def test_a_stopped_run_of_a_restricted_network_with_notes() -> None:
    rs = al.load(RUNS / "restricted")
    assert (len(rs), rs.status) == (9, al.Status.REGION_LIMIT)
    assert 0 < len(rs.switching) < rs.patterns.shape[1]
    assert [note.kind for note in rs.network.notes] == [NoteKind.ROUNDED, NoteKind.CUT_OFF]
    assert [rs.locate(region.local.point) for region in rs] == list(range(9))
    assert rs.audit(samples=10).passed
