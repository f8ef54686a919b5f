"""Progress as people see it: a line on a terminal, a bar in a notebook, lines in a log, or their own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, TypeVar

from affinelens.errors import AffineLensError
from affinelens.progress import Progress, ProgressFunction, telling_of_progress
from affinelens.short_text import counted, shown_counts

Update = TypeVar("Update")
ProgressOption = bool | ProgressFunction | None
# What can be as long as it likes, and how often a log is written to.
_ENDLESS = 400
_LOG_EVERY = 30.0
# Of a longer time than these seconds, some three years, a guess is worth nothing.
_HOPELESS = 1e8


@contextmanager
def shown(progress: ProgressOption) -> Iterator[None]:
    """Whatever is done inside tells the caller's function, or shows how far it is if the caller says True."""
    if progress is None or progress is False:
        yield
    elif progress is True:
        with _shown_here() as function, telling_of_progress(function):
            yield
    elif callable(progress):
        with telling_of_progress(progress):
            yield
    else:
        raise AffineLensError(
            f"progress takes True or a function of a Progress, but got {type(progress).__name__}; give progress=True"
        )


@contextmanager
def shown_on_terminal() -> Iterator[None]:
    """How far things are inside, on a line of the terminal; nothing anywhere else."""
    with terminal_line(_terminal_text) as function:
        if function is None:
            yield
        else:
            with telling_of_progress(function):
                yield


@contextmanager
def terminal_line(text: Callable[[Update, int], Any]) -> Iterator[Callable[[Update], None] | None]:
    """A line that is rewritten on a terminal; nothing anywhere else.

    ``text`` makes what rich prints of an update and the terminal's width.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, transient=True, refresh_per_second=10) as live:
        yield lambda update: live.update(text(update, console.width))


def progress_text(update: Progress, width: int = _ENDLESS) -> str:
    """A snapshot in words: what is done, how fast, how much of all, and the cells of the stages if there is room.

    >>> progress_text(Progress(1500, (30, 1500), 2.0, share=0.25))
    '1,500 regions, 750/s, 2 s, 25.0 % of the domain, about 6 s left; cells by stage 30 -> 1,500'
    >>> progress_text(Progress(1500, (30, 1500), 2.0, share=0.25, workers=8), 60)
    '1,500 regions, 750/s by 8 workers, 2 s, 25.0 %, about 6 s left'
    >>> progress_text(Progress(0, (), 3.0, "checking facet lists", 0.5))
    'checking facet lists (3 s, 50.0 %, about 3 s left)'
    """
    share = "" if update.share is None else f", {update.share:.1%}".replace("%", " %")
    left = _time_left(update.seconds_left)
    if update.note:
        return f"{update.note} ({update.seconds:.0f} s{share}{left})"
    rate = update.regions / update.seconds if update.seconds else 0.0
    by = "" if update.workers is None else f" by {counted(update.workers, 'worker')}"
    done = f"{update.regions:,} regions, {rate:,.0f}/s{by}, {update.seconds:.0f} s"
    for end in (f"{share}{' of the domain' if share else ''}{left}", f"{share}{left}"):
        counts = shown_counts(update.layer_counts, width - len(done + end) - len("; cells by stage "))
        if counts:
            return f"{done}{end}; cells by stage {counts}"
    return f"{done}{share}{left}"


def _time_left(seconds: float | None) -> str:
    """A guess that says how rough it is."""
    if seconds is None:
        return ""
    if seconds > _HOPELESS:
        return ", no end in sight"
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f", about {seconds / size:,.0f} {unit} left"
    return f", about {seconds:.0f} s left"


def _terminal_text(update: Progress, width: int) -> Any:
    from rich.text import Text

    return Text(progress_text(update, width), no_wrap=True, overflow="ellipsis")


@contextmanager
def _shown_here() -> Iterator[ProgressFunction]:
    """The display that suits where Python runs."""
    if _in_notebook():
        bar = _NotebookBar()
        try:
            yield bar
        finally:
            bar.close()
        return
    with terminal_line(_terminal_text) as function:
        yield _LogLines() if function is None else function


def _in_notebook() -> bool:
    """Whether output goes to a notebook: there is an interactive shell, and it has a kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


class _NotebookBar:
    """A bar and a line under a cell, from the first snapshot on until the work ends."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, update: Progress) -> None:
        from IPython.display import HTML, display

        value = "" if update.share is None else f' value="{update.share:.4f}"'
        shown_now = HTML(f"<progress{value}></progress> {escape(progress_text(update))}")
        if self._handle is None:
            self._handle = display(shown_now, display_id=True)
        else:
            self._handle.update(shown_now)

    def close(self) -> None:
        """Leave nothing, as on a terminal; what was asked for is below."""
        from IPython.display import HTML

        if self._handle is not None:
            self._handle.update(HTML(""))


class _LogLines:
    """A line now and then, for output that goes to a file."""

    def __init__(self) -> None:
        self._written = time.monotonic()

    def __call__(self, update: Progress) -> None:
        now = time.monotonic()
        if now - self._written >= _LOG_EVERY:
            self._written = now
            print(f"affinelens: {progress_text(update)}", file=sys.stderr, flush=True)
