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


# All that people read, results and galleries included.
READ = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Where a link into the page can lead: its headings, as they are made into names."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", READ, ids=named)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not target.startswith(("http://", "https://")):
            file, _, place = target.partition("#")
            there = page.parent / file if file else page
            assert there.exists(), target
            assert not place or place in anchors(there), target


def test_readme_is_a_screen_and_a_half_and_has_its_picture() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert (ROOT / picture).stat().st_size > 1000
