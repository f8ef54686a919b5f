"""Names for the kinds of arrays that go around."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
# Sides of hyperplanes: 1, -1, and 0 for a function that is zero everywhere.
Signs: TypeAlias = NDArray[np.int8]
# Bit sets, 64 to a word.
Words: TypeAlias = NDArray[np.uint64]
# Pieces of choices, a row a region where there are several: as they are stored, and as they are computed with.
Patterns: TypeAlias = NDArray[np.unsignedinteger[Any]]
Pattern: TypeAlias = NDArray[np.integer[Any]]
