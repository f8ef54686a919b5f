"""Counts by stage, in the room there is."""

from __future__ import annotations

import pytest

from affinelens.short_text import shown_counts


@pytest.mark.parametrize("room", [4, 10, 20, 40, 80, 400])
def test_counts_by_stage_fit_their_room(room: int) -> None:
    counts = [7**k for k in range(19)]
    shown = shown_counts(counts, room)
    assert len(shown) <= room
    if room >= 40:
        assert shown.endswith(f"{counts[-1]:,}")
    if room == 400:
        assert shown.count(" -> ") == 18
