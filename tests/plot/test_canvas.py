from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot

import affinelens as al
from affinelens.plot import canvas, save_picture
from support.plot_sets import drawn_set

REGIONS = drawn_set(2, 4, 2, seed=0)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_gives_the_same_bytes(tmp_path: Path, kind: str) -> None:
    first = save_picture(REGIONS.plot(), tmp_path / f"first.{kind}").read_bytes()
    assert len(first) > 1000
    assert save_picture(REGIONS.plot().figure, tmp_path / f"second.{kind}").read_bytes() == first


@pytest.mark.parametrize(
    ("name", "says"), [("a.jpg", ".png, .svg or .pdf"), ("no/a.png", "does not exist; create it first")]
)
def test_files_that_cannot_be_written_are_named(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(al.AffineLensError, match=says):
        save_picture(REGIONS.plot(), tmp_path / name)


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def test_importing_and_enumerating_leave_matplotlib_alone() -> None:
    code = (
        "import sys, numpy as np, affinelens as al\n"
        "rs = al.enumerate([(np.eye(2), np.zeros(2))], al.Box(-1, 1, dim=2))\n"
        "print('matplotlib' in sys.modules)\n"
        "rs.plot()\n"
        "print('matplotlib' in sys.modules)\n"
    )
    assert _python(code).split() == ["False", "True"]


def test_without_matplotlib_the_pip_command_is_shown() -> None:
    code = (
        "import sys, numpy as np, affinelens as al\n"
        "sys.modules['matplotlib'] = None\n"
        "try:\n"
        "    al.enumerate([(np.eye(2), np.zeros(2))], al.Box(-1, 1, dim=2)).plot()\n"
        "except al.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    assert "pip install 'affinelens[plot]'" in _python(code)


def test_a_picture_that_fails_leaves_no_figure_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun_only(regions: al.RegionSet, ax: object) -> None:
        canvas.new_figure((2, 2))
        raise al.AffineLensError("the set is damaged")

    before = pyplot.get_fignums()
    monkeypatch.setitem(sys.modules["affinelens.plot.display"]._BY_DIMENSION, 2, begun_only)
    with pytest.raises(al.AffineLensError, match="damaged"):
        REGIONS.plot()
    assert pyplot.get_fignums() == before
