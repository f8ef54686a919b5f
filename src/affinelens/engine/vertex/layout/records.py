"""Tables of records: a class says by its fields what one row holds, and kernels and Python read it by those names.

``table[i].field`` is one number in both, and ``table.field`` a column in Python. A field ``int`` is an int64, a field
``float`` a float64. Names that NumPy's own records have, such as ``size`` or ``base``, are not for fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

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
        def __getitem__(self, places: slice | NDArray[Any] | list[int]) -> Any: ...
        def __getitem__(self, place: Any) -> Any: ...
        def __setitem__(self, place: Any, row: Row) -> None: ...
        def __getattr__(self, field: str) -> Any: ...
        def __setattr__(self, field: str, column: Any) -> None: ...

else:
    Records = np.recarray


def new_records(kind: type[Row], shape: int | tuple[int, ...]) -> Records[Row]:
    """A table of records whose fields are all zero."""
    table: Any = np.zeros(shape, dtype=_row_type(kind)).view(np.recarray)
    return table


def new_record(kind: type[Row]) -> Row:
    """A single record whose fields are all zero."""
    return new_records(kind, 1)[0]


def _row_type(kind: type) -> np.dtype[Any]:
    """Fields of eight bytes each, in a row whose size is a power of two: finding row i is then a shift, which pays."""
    fields: dict[str, str] = kind.__annotations__
    return np.dtype(
        {
            "names": list(fields),
            "formats": [_KINDS[field] for field in fields.values()],
            "offsets": [8 * i for i in range(len(fields))],
            "itemsize": 8 << (len(fields) - 1).bit_length(),
        },
        align=True,
    )
