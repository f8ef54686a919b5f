"""How far a walk is, on a line of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from affinelens.walk import Progress, ProgressFunction, shown_counts


@contextmanager
def walk_progress() -> Iterator[ProgressFunction | None]:
    """A line that is rewritten on a terminal; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def line(update: Progress) -> Text:
        if update.note:
            return Text(f"{update.note} ({update.seconds:.0f} s)")
        rate = update.regions / update.seconds if update.seconds else 0.0
        done = f"{update.regions:,} regions, {rate:,.0f}/s, {update.seconds:.0f} s"
        room = console.width - len(done) - len("; cells by stage ")
        layers = shown_counts(update.layer_counts, room)
        return Text(f"{done}; cells by stage {layers}" if layers else done, no_wrap=True, overflow="ellipsis")

    console = Console(stderr=True)
    with Live(console=console, transient=True, refresh_per_second=10) as live:
        yield lambda update: live.update(line(update))
