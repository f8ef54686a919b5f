"""One output of a linear map at a time, exactly: the coefficients that are not zero.

Where a network is sparse, a single unit depends on few others, and its function costs a few products however large the
maps are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

from affinelens.arithmetic.rational import as_integers
from affinelens.array_types import Floats, Indices


class Coefficients(NamedTuple):
    """``sum_i numerators[i] / denominator * x[columns[i]]``, every column at most once."""

    columns: list[int]
    numerators: list[int]
    denominator: int

    @classmethod
    def of_floats(cls, columns: Indices, values: Floats, over: int = 1) -> Coefficients:
        """``values / over`` at the given columns."""
        used = np.flatnonzero(values)
        whole, denominator = as_integers(values[used])
        return cls(columns[used].tolist(), whole, over * denominator)

    @classmethod
    def combined(cls, parts: Sequence[Coefficients], weights: Sequence[int], denominator: int = 1) -> Coefficients:
        """The sum of some coefficients, each times its weight over the denominator."""
        common = lcm(*(part.denominator for part in parts))
        total: dict[int, int] = {}
        for part, weight in zip(parts, weights, strict=True):
            factor = weight * (common // part.denominator)
            for column, numerator in zip(part.columns, part.numerators, strict=True):
                total[column] = total.get(column, 0) + factor * numerator
        common *= denominator
        divisor = gcd(common, *total.values())
        used = [(column, numerator // divisor) for column, numerator in total.items() if numerator]
        return cls([column for column, _ in used], [numerator for _, numerator in used], common // divisor)
