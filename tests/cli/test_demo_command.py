"""``affinelens demo``."""

from __future__ import annotations

from pathlib import Path

from support.command_line import COLUMNS, report, run


def test_demo_explains_itself_within_a_terminal(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "complete" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


def test_demo_as_json() -> None:
    found = report("demo")
    assert found["status"] == "COMPLETE"
    assert found["regions"] == found["layer_counts"][-1] > 100


def test_the_demo_ends_with_a_picture_and_says_where_it_is(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    [line] = [line for line in done.stdout.splitlines() if "picture" in line]
    assert (tmp_path / line.split()[-1]).read_bytes().startswith(b"\x89PNG")


def test_a_demo_that_cannot_write_says_so(tmp_path: Path) -> None:
    (tmp_path / "affinelens-demo").write_text("in the way")
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0
    assert "No picture: affinelens-demo" in done.stdout
