"""What engines lay out before they walk, kept for further walks of the same request in this process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Layout = TypeVar("Layout")


@dataclass(eq=False)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    made: list[Any] = field(default_factory=list)


class Layouts:
    """So many layouts, those that were asked for last; several threads may ask at the same time.

    >>> layouts = Layouts(2)
    >>> layouts.kept("a", lambda: 1), layouts.kept("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def kept(self, name: Hashable, make: Callable[[], Layout]) -> Layout:
        """The layout of that name, made if there is none; who asks while another makes it waits for that."""
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            self._entries.move_to_end(name)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        with entry.lock:
            if not entry.made:
                entry.made.append(make())
            layout: Layout = entry.made[0]
            return layout


@dataclass(frozen=True, eq=False)
class OwnLayouts:
    """The layouts of one request among those of others."""

    owner: Hashable
    layouts: Layouts

    def kept(self, name: Hashable, make: Callable[[], Layout]) -> Layout:
        """As :meth:`Layouts.kept`."""
        return self.layouts.kept((self.owner, name), make)
