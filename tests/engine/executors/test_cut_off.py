"""A host of a cluster that is cut off in the middle of a walk is noticed, and the walk ends complete."""

from __future__ import annotations

import pytest

from support import cut_off

pytest.importorskip("distributed", reason="needs the dask extra")


def test_a_host_is_cut_off_and_the_walk_ends_complete() -> None:
    """Long before Dask gives it up: jobs that are silent for some seconds are sent to the other worker."""
    if not cut_off.can_be_made():
        pytest.skip("needs Linux, root and the ip command")
    assert cut_off.walk_and_cut(None, patience=2.0).is_same
