"""How far something is, on a line of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from affinelens.walk import Progress, ProgressFunction, shown_counts

Update = TypeVar("Update")


@contextmanager
def live_line(shown: Callable[[Update, int], Any]) -> Iterator[Callable[[Update], None] | None]:
    """A line that is rewritten on a terminal; nothing anywhere else.

    ``shown`` makes what rich prints of an update and the terminal's width.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, transient=True, refresh_per_second=10) as live:
        yield lambda update: live.update(shown(update, console.width))


def walk_progress() -> AbstractContextManager[ProgressFunction | None]:
    """How far a walk is."""
    return live_line(_walk_line)


def _walk_line(update: Progress, width: int) -> Any:
    from rich.text import Text

    if update.note:
        return Text(f"{update.note} ({update.seconds:.0f} s)")
    rate = update.regions / update.seconds if update.seconds else 0.0
    done = f"{update.regions:,} regions, {rate:,.0f}/s, {update.seconds:.0f} s"
    layers = shown_counts(update.layer_counts, width - len(done) - len("; cells by stage "))
    return Text(f"{done}; cells by stage {layers}" if layers else done, no_wrap=True, overflow="ellipsis")
