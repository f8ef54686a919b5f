"""The numbers that the paper prints, by the labels of a network and its epoch."""

from __future__ import annotations

from affinelens.study.declaration import Labels

_Numbers = dict[tuple[str | int, ...], int]
_LAST_EPOCH = 5000

# Table 1: regions by (inputs, width) of one hidden layer, after the last epoch on random data.
_WIDTH: _Numbers = {
    (2, 16): 43, (3, 16): 318, (4, 16): 852, (5, 16): 2_684,
    (2, 32): 218, (3, 32): 1_864, (4, 32): 10_663, (5, 32): 62_027,
    (2, 64): 742, (3, 64): 15_800, (4, 64): 188_312, (5, 64): 2_149_855,
}  # fmt: skip

# Table 2: regions by (inputs, width, layers), likewise.
_DEPTH: _Numbers = {
    (3, 16, 2): 1_077, (3, 16, 3): 3_505, (3, 16, 4): 10_524,
    (4, 16, 2): 11_937, (4, 16, 3): 58_589, (4, 16, 4): 163_502,
    (3, 32, 2): 12_442, (3, 32, 3): 96_551, (3, 32, 4): 102_922,
    (4, 32, 2): 256_653, (4, 32, 3): 929_162, (4, 32, 4): 2_294_901,
}  # fmt: skip

# Table 3: regions by (residual blocks, skips, epoch).
_RESIDUAL: _Numbers = {
    (2, "yes", 100): 2_317, (2, "yes", 500): 2_940, (2, "yes", 1000): 3_920, (2, "yes", 2000): 4_472,
    (2, "yes", 5000): 5_449,
    (2, "no", 100): 1_701, (2, "no", 500): 1_929, (2, "no", 1000): 2_477, (2, "no", 2000): 2_776,
    (2, "no", 5000): 3_518,
    (3, "yes", 100): 3_776, (3, "yes", 500): 5_994, (3, "yes", 1000): 7_015, (3, "yes", 2000): 8_362,
    (3, "yes", 5000): 9_439,
    (3, "no", 100): 2_491, (3, "no", 500): 3_006, (3, "no", 1000): 3_467, (3, "no", 2000): 4_137,
    (3, "no", 5000): 4_786,
    (4, "yes", 100): 5_658, (4, "yes", 500): 10_404, (4, "yes", 1000): 12_469, (4, "yes", 2000): 14_870,
    (4, "yes", 5000): 21_263,
    (4, "no", 100): 3_796, (4, "no", 500): 4_187, (4, "no", 1000): 5_106, (4, "no", 2000): 5_826,
    (4, "no", 5000): 7_026,
}  # fmt: skip


def width(labels: Labels) -> int | None:
    """A number of Table 1."""
    return _WIDTH.get((labels["dimension"], labels["width"])) if labels["epoch"] == _LAST_EPOCH else None


def depth(labels: Labels) -> int | None:
    """A number of Table 2."""
    key = (labels["dimension"], labels["width"], labels["depth"])
    return _DEPTH.get(key) if labels["epoch"] == _LAST_EPOCH else None


def residual(labels: Labels) -> int | None:
    """A number of Table 3, whatever the norm."""
    return _RESIDUAL.get((labels["blocks"], labels["skips"], labels["epoch"]))
