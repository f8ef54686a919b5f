"""``affinelens plot``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import affinelens as al
from affinelens.cli.commands import commands
from affinelens.plot import KINDS
from affinelens.plot.fills import COLORS
from support.command_line import run
from support.plot_sets import drawn_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one, two, three and four dimensions."""
    place = tmp_path_factory.mktemp("runs")
    for dim in range(1, 5):
        drawn_set(dim, 4, 3, 2, seed=0).save(place / f"run{dim}")
    return place


@pytest.fixture
def plot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, run in this process and in the folder with the runs."""
    monkeypatch.chdir(folder)
    return lambda *arguments: CliRunner().invoke(commands, ["plot", *arguments], standalone_mode=False)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_picture_fits_the_dimension(folder: Path, plot: Callable[..., Result], dim: int) -> None:
    done = plot(f"run{dim}")
    assert done.output == f"saved in run{dim}.png\n"
    assert (folder / f"run{dim}.png").read_bytes().startswith(b"\x89PNG")


def test_the_help_names_every_picture_and_color(plot: Callable[..., Result]) -> None:
    words = set(re.findall(r"\w+", plot("--help").output))
    assert {*KINDS, *COLORS} <= words


def test_options_reach_the_picture(folder: Path, plot: Callable[..., Result]) -> None:
    plot("run2", "--color", "class", "--hyperplanes", "--window", "0", "1", "0", "1", "-o", "zoomed.svg")
    text = (folder / "zoomed.svg").read_text()
    assert "class 0" in text
    assert "stage 1" in text


@pytest.mark.parametrize("kind", ["surface", "stages", "volumes", "layers"])
def test_other_pictures_by_name(folder: Path, plot: Callable[..., Result], kind: str) -> None:
    done = plot("run2", "--kind", kind, "-o", f"{kind}.pdf")
    assert done.exception is None
    assert (folder / f"{kind}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run4"], "dimension 1, 2 or 3"),
        (["run2", "--color", "color"], "take one of"),
        (["run2", "--kind", "photo"], "no picture 'photo'"),
        (["run2", "--explode", "1"], "does not take --explode; it takes --color, --boundary"),
        (["run2", "--kind", "images"], "through three of them"),
        (["run2", "--of-output", "1"], "does not take --of-output; it takes"),
        (["run2", "--window", "5", "6", "0", "1"], "shows nothing of the domain"),
        (["run2", "-o", "missing/folder/a.png"], "does not exist; create it first"),
        (["run2", "--dpi", "5"], "--dpi takes a whole number from 20 to 2000, but got '5'"),
        (["run2", "--window", "a", "6", "0", "1"], "--window takes a number, but got 'a'"),
        (["run3", "--kind", "surface"], "dimension 2"),
        (["run2", "-o", "a.bmp"], ".png, .svg or .pdf"),
        (["run2", "-o", " "], "empty text"),
        (["nothing"], "not a run directory"),
    ],
)
def test_what_cannot_be_drawn_is_named(plot: Callable[..., Result], arguments: list[str], says: str) -> None:
    error = plot(*arguments).exception
    assert isinstance(error, al.AffineLensError)
    assert says in str(error)


def test_an_error_is_one_sentence(folder: Path) -> None:
    done = run("plot", "run2", "--color", "color", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_picture_is_of_the_run_that_was_saved(folder: Path) -> None:
    regions = al.load(folder / "run2")
    assert len(regions.plot().collections[0].get_paths()) == len(regions)
