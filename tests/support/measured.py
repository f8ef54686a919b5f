"""Networks with geometry that is known by hand, for the tests of what is measured."""

from __future__ import annotations

from typing import Any

import affinelens as al
from support.random_networks import random_layers

# |x| on two units: x >= 0 and x <= 0
ABSOLUTE = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])]


def tent(depth: int) -> Any:
    """The tent map composed with itself: slope 2^depth all over [0, 1]."""
    fold = ([[2.0], [4.0]], [0.0, -2.0])
    again = ([[2.0, -2.0], [4.0, -4.0]], [0.0, -2.0])
    return [fold, *[again] * (depth - 1), ([[1.0, -1.0]], [0.0])]


def random_set(*sizes: int, seed: int, **options: Any) -> al.RegionSet:
    return al.enumerate(random_layers(sizes, seed), al.Box(-1, 1, dim=sizes[0]), workers=1, **options)
