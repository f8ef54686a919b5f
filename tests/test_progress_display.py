"""Progress as people see it: who is told, and what a line, a bar and a log say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import affinelens as al
from affinelens.progress import Progress, doing, steps, who_is_told
from affinelens.progress_display import progress_text, shown
from support.random_networks import random_layers


def test_a_function_is_told_of_the_walks_of_every_method_that_may_walk() -> None:
    layers, box = random_layers((3, 40, 40, 2), seed=1), al.Box(-1, 1, dim=3)
    rs = al.enumerate(layers, box)
    for method in ("vertices", "decision_boundary", "metrics", "audit"):
        seen: list[Progress] = []
        getattr(rs, method)(progress=seen.append)
        assert all(isinstance(update, Progress) for update in seen)
        assert who_is_told() is None


def test_a_long_walk_says_how_much_of_the_domain_is_done() -> None:
    layers, seen = random_layers((5, 80, 80, 2), seed=1), list[Progress]()
    with pytest.raises(al.IncompleteError):
        al.count(layers, al.Box(-1, 1, dim=5), time_limit=1.5, progress=seen.append)
    shares = [update.share for update in seen if update.share is not None]
    assert shares == sorted(shares)
    assert 0 < shares[-1] < 1


def test_a_loop_tells_what_it_does_and_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affinelens.progress._REPORT_EVERY", 0.0)
    seen: list[Progress] = []
    with shown(seen.append), doing("counting"):
        assert list(steps(4)) == [0, 1, 2, 3]
    assert [(update.note, update.share) for update in seen] == [("counting", k / 4) for k in range(4)]


def test_what_is_inside_tells_the_outer_caller_unless_it_has_its_own() -> None:
    outer, inner = list[Progress](), list[Progress]()
    with shown(outer.append):
        with shown(None):
            assert who_is_told() is not None
        with shown(inner.append):
            who_is_told()(Progress(1, (1,), 0.0))
    assert (len(outer), len(inner)) == (0, 1)


@pytest.mark.parametrize("wrong", [3, "yes", []])
def test_what_is_no_progress_function_is_one_sentence(wrong: Any) -> None:
    with pytest.raises(al.AffineLensError, match="progress takes True or a function of a Progress, but got"):
        al.count(random_layers((1, 1, 1), seed=0), al.Box(-1, 1, dim=1), progress=wrong)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_line_fits_its_width_by_leaving_stages_out(width: int) -> None:
    text = progress_text(Progress(10**6, tuple(3**k for k in range(12)), 100.0, share=0.1), width)
    assert len(text) <= max(width, len("1,000,000 regions, 10,000/s, 100 s, 10.0 %, about 15 min left"))
    assert text.startswith("1,000,000 regions, 10,000/s, 100 s, 10.0 %")
    assert "about 15 min left" in text


def test_output_that_goes_to_a_file_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("affinelens.progress_display._LOG_EVERY", 0.0)
    with shown(True):
        who_is_told()(Progress(12, (4, 12), 2.0))
    assert capsys.readouterr().err == "affinelens: 12 regions, 6/s, 2 s; cells by stage 4 -> 12\n"


def test_a_notebook_gets_one_bar_that_is_updated_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("IPython.display")
    drawn: list[str] = []

    def display(page: Any, display_id: bool) -> Any:
        assert display_id
        drawn.append(page.data)
        return SimpleNamespace(update=lambda page: drawn.append(f"again {page.data}"))

    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel="a kernel"))
    monkeypatch.setattr("IPython.display.display", display)
    with shown(True):
        who_is_told()(Progress(5, (5,), 1.0, share=0.5))
        who_is_told()(Progress(0, (), 1.0, "compiling <kernels>"))
    assert drawn == [
        '<progress value="0.5000"></progress> 5 regions, 5/s, 1 s, 50.0 % of the domain, about 1 s left; '
        "cells by stage 5",
        "again <progress></progress> compiling &lt;kernels&gt; (1 s)",
        "again ",
    ]
