"""Where regions go while they are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from affinelens.walk.columns import Columns

Sink = Callable[[Columns], Any]
