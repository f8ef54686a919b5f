"""Before a walk that would not end there is a warning, and none before one that would."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import affinelens as al
from support.command_line import SOME_REGIONS, Terminal, write_network
from support.random_networks import random_layers

HOPELESS = random_layers((30, 64, 64, 64, 1), seed=0)
BOX = al.Box(-1, 1, dim=30)


@pytest.mark.parametrize("question", [al.count, al.enumerate])
def test_a_hopeless_walk_is_warned_of_with_the_way_out(question: Callable[..., object]) -> None:
    with pytest.raises(al.AffineLensWarning, match=r"x 10\^\d\d regions .* max_regions= or time_limit= .* al\.Slice"):
        question(HOPELESS, BOX)


@pytest.mark.parametrize("limit", [{"max_regions": 3}, {"time_limit": 0.2}])
def test_a_walk_with_a_limit_needs_no_warning(limit: dict[str, float]) -> None:
    assert al.enumerate(HOPELESS, BOX, **limit).status is not al.Status.COMPLETE


def test_a_walk_that_ends_needs_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        al.count(random_layers((4, 20, 20, 1), seed=0), al.Box(-1, 1, dim=4))
        al.count(random_layers((30, 3, 1), seed=0), BOX)


def test_the_command_line_warns_in_its_own_words(tmp_path: Path) -> None:
    model = write_network(tmp_path / "large.npz", 9, 200, 200, 200, 2, seed=0)
    terminal = Terminal("count", model, "--box", -1, 1)
    assert terminal.read_until(SOME_REGIONS)
    terminal.process.send_signal(signal.SIGINT)
    terminal.finish()
    shown = " ".join(terminal.shown.split())
    assert "affinelens: warning: very roughly" in shown
    assert "--max-regions or --time-limit" in shown
    assert "--slice-axes" in shown
