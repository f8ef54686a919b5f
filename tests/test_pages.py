"""README and the pages under docs: what they print runs, top to bottom, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from support.command_line import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Languages and texts, but for calls of make."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, text) for language, text in found if not text.startswith("make ")]


# A page whose first block imports what it needs can be followed from nothing; others quote lines on the reader's files.
FOLLOWED = [page for page in PAGES if any(text.startswith("import ") for _, text in blocks(page)[:1])]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", FOLLOWED, ids=named)
def test_a_page_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, named(page), "exec"), names)
        for line in block.splitlines():
            program, *arguments = shlex.split(line, comments=True) or [""]
            if program == "affinelens":
                done = run(*arguments, cwd=tmp_path)
                assert done.returncode == 0, (line, done.stderr)


def test_the_readme_is_followed() -> None:
    assert {"README.md", "docs/command-line.md", "docs/measures.md"} <= set(map(named, FOLLOWED))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
