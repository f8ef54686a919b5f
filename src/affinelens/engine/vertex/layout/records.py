"""Tables of records: a class says by its fields what one row holds, and kernels and Python read it by those names.

``table[i].field`` is one number in both, and ``table["field"]`` a column in Python, where that takes less time than
one number by its name. A field ``int`` is an int64, a field ``float`` a float64. Names that NumPy's own
records have, such as ``size`` or ``base``, are not for fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

_KINDS = {"int": np.int64, "float": np.float64}
Row = TypeVar("Row")

if TYPE_CHECKING:

    class Records(Generic[Row]):
        """A table of records of one kind."""

        shape: tuple[int, ...]
        dtype: np.dtype[Any]

        def __len__(self) -> int: ...
        @overload
        def __getitem__(self, place: int | np.integer[Any] | tuple[int, int]) -> Row: ...
        @overload
        def __getitem__(self, places: slice | NDArray[Any] | list[int] | str) -> Any: ...
        def __getitem__(self, place: Any) -> Any: ...
        def __setitem__(self, place: Any, row: Any) -> None: ...

else:
    Records = np.ndarray


def new_records(kind: type[Row], shape: int | tuple[int, ...]) -> Records[Row]:
    """A table of records whose fields are all zero."""
    table: Any = np.zeros(shape, dtype=_row_type(tuple(kind.__annotations__.items())))
    return table


def records_of(kind: type[Row], **columns: Sequence[float] | NDArray[Any]) -> Records[Row]:
    """A table from its columns; those that are shorter than others are followed by zeros."""
    table: Any = np.zeros(
        max(len(column) for column in columns.values()), dtype=_row_type(tuple(kind.__annotations__.items()))
    )
    for name, column in columns.items():
        table[name][: len(column)] = column
    return cast("Records[Row]", table)


def new_record(kind: type[Row]) -> Row:
    """A single record whose fields are all zero."""
    return new_records(kind, 1)[0]


@cache
def _row_type(fields: tuple[tuple[str, str], ...]) -> np.dtype[Any]:
    """Fields of eight bytes each, in a row whose size is a power of two: finding row i is then a shift, which pays."""
    row: Any = {
        "names": [name for name, _ in fields],
        "formats": [_KINDS[kind] for _, kind in fields],
        "offsets": [8 * i for i in range(len(fields))],
        "itemsize": 8 << (len(fields) - 1).bit_length(),
    }
    return np.dtype((np.record, np.dtype(row, align=True)))
