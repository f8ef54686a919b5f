"""The one step of elimination: in a table of affine functions, a row and a column change places."""

from __future__ import annotations

from typing import Any

from affinelens.kernels.compilation import kernel


@kernel
def exchange(table: Any, row: int, column: int, rows: int, columns: int) -> None:
    """Solve a row for a column's variable and put the result into all others.

    Row i of the table is a variable as a function of the columns' variables; a column that is never exchanged holds
    constants.
    """
    pivot = 1.0 / table[row, column]
    for j in range(columns):
        table[row, j] *= -pivot
    table[row, column] = pivot
    for i in range(rows):
        if i == row:
            continue
        factor = table[i, column]
        if factor != 0.0:
            table[i, column] = 0.0
            for j in range(columns):
                table[i, j] += factor * table[row, j]
