from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
SCRIPTS = sorted(path for path in GALLERY.glob("*.py") if path.stem != "training")
LARGEST_PICTURE = 150_000


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_has_its_small_picture_on_the_page(script: Path) -> None:
    assert f"![]({script.stem}.png) [{script.name}]({script.name})" in (GALLERY / "README.md").read_text()
    assert 0 < script.with_suffix(".png").stat().st_size < LARGEST_PICTURE


@pytest.mark.parametrize("name", ["cut_away", "exploded", "line", "surface"])
def test_scripts_draw(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(GALLERY))
    drawn = runpy.run_path(str(GALLERY / f"{name}.py"))["draw"]()
    sys.modules.pop("training", None)
    assert drawn.collections
