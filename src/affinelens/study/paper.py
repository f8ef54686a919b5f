"""The numbers that the paper prints, by the labels of a network and its epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from affinelens.study.declaration import Labels

_LAST_EPOCH = 5000
_EPOCHS = (100, 500, 1000, 2000, _LAST_EPOCH)
Key = tuple[str | int, ...]


def _table(columns: Sequence[int], rows: Mapping[Key, Sequence[int]]) -> dict[Key, int]:
    """The numbers by row and column."""
    return {
        (*row, column): number for row, numbers in rows.items() for column, number in zip(columns, numbers, strict=True)
    }


# Table 1: regions of one hidden layer by width, a column a number of inputs; after the last epoch on random data.
_WIDTH = _table((2, 3, 4, 5), {
    (16,): (43, 318, 852, 2_684),
    (32,): (218, 1_864, 10_663, 62_027),
    (64,): (742, 15_800, 188_312, 2_149_855),
})  # fmt: skip

# Table 2: regions by inputs and width, a column a number of layers; likewise.
_DEPTH = _table((2, 3, 4), {
    (3, 16): (1_077, 3_505, 10_524),
    (4, 16): (11_937, 58_589, 163_502),
    (3, 32): (12_442, 96_551, 102_922),
    (4, 32): (256_653, 929_162, 2_294_901),
})  # fmt: skip

# Table 3: regions by residual blocks and skips, a column an epoch.
_RESIDUAL = _table(_EPOCHS, {
    (2, "yes"): (2_317, 2_940, 3_920, 4_472, 5_449),
    (2, "no"): (1_701, 1_929, 2_477, 2_776, 3_518),
    (3, "yes"): (3_776, 5_994, 7_015, 8_362, 9_439),
    (3, "no"): (2_491, 3_006, 3_467, 4_137, 4_786),
    (4, "yes"): (5_658, 10_404, 12_469, 14_870, 21_263),
    (4, "no"): (3_796, 4_187, 5_106, 5_826, 7_026),
})  # fmt: skip


def width(labels: Labels) -> int | None:
    """A number of Table 1."""
    return _WIDTH.get((labels["width"], labels["dimension"])) if labels["epoch"] == _LAST_EPOCH else None


def depth(labels: Labels) -> int | None:
    """A number of Table 2."""
    key = (labels["dimension"], labels["width"], labels["depth"])
    return _DEPTH.get(key) if labels["epoch"] == _LAST_EPOCH else None


def residual(labels: Labels) -> int | None:
    """A number of Table 3, whatever the norm."""
    return _RESIDUAL.get((labels["blocks"], labels["skips"], labels["epoch"]))
