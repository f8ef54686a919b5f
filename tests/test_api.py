"""Before a walk that would not end there is a warning, and none before one that would; paths are paths."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_the_warning_points_at_the_line_that_asked() -> None:
    for question in (al.count, al.enumerate):
        with pytest.warns(al.AffineLensWarning) as caught, pytest.raises(RuntimeError):
            question(HOPELESS, BOX, progress=_give_up)
        assert [Path(warning.filename) for warning in caught] == [Path(__file__)]


def _give_up(_: al.Progress) -> None:
    raise RuntimeError


def test_a_warning_points_past_this_package_alone(tmp_path: Path) -> None:
    script = "from affinelens.errors import AffineLensWarning, warn_user\nwarn_user(AffineLensWarning('so'))\n"
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True)
    assert "script.py:2: AffineLensWarning: so" in done.stderr


MODEL = [([[1.0]], [0.0]), ([[1.0]], [0.0])]


@pytest.mark.parametrize(
    "question",
    [
        al.load,
        al.load_record,
        al.resume,
        al.read_vnnlib,
        lambda path: al.enumerate(MODEL, al.Box(-1, 1, dim=1), run=path),
        lambda path: al.count(MODEL, al.Box(-1, 1, dim=1), run=path),
        lambda path: al.enumerate(MODEL, al.Box(-1, 1, dim=1)).save(path),
    ],
)
@pytest.mark.parametrize("path", [3, b"run", "a\0b", ["run"]], ids=repr)
def test_what_is_no_path_is_refused_in_a_sentence(question: Callable[[Any], object], path: object) -> None:
    with pytest.raises(al.AffineLensError, match=r"is given by its path, as text or a pathlib\.Path, but got"):
        question(path)


def test_a_count_that_was_stopped_counts_one_region_as_one() -> None:
    with pytest.raises(al.IncompleteError, match=r"at least 1 region exists$"):
        al.count(MODEL, al.Box(-1, 1, dim=1), max_regions=1, workers=1)
