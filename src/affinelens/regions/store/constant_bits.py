"""Which bits are the same in all patterns of a row group, by which most row groups are known not to hold a pattern.

Regions come in depth-first order, so those of a row group agree in most of what was decided first. A file carries this
in its footer, where other readers do not mind it; without it, or if it is damaged, nothing is ruled out.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Bools
from affinelens.regions.store.pattern_bits import PATTERN_BITS

if TYPE_CHECKING:
    import pyarrow

_NAME = b"affinelens.constant_bits"


@dataclass(frozen=True, eq=False)
class ConstantBits:
    """Bytes in which a bit is set where all patterns have it set, and where some pattern has it set."""

    always: NDArray[np.uint8]
    ever: NDArray[np.uint8]

    @classmethod
    def of(cls, table: pyarrow.Table) -> ConstantBits:
        """Those of a table with patterns as bits."""
        import pyarrow as pa

        column = table.column(PATTERN_BITS).combine_chunks()
        if not pa.types.is_fixed_size_binary(column.type) or not len(column):
            none = np.zeros(0, dtype=np.uint8)
            return cls(none, none)
        rows = np.frombuffer(column.buffers()[1], dtype=np.uint8).reshape(-1, column.type.byte_width)
        rows = rows[column.offset : column.offset + len(column)]
        # along contiguous words this is twenty times quicker
        columns = np.ascontiguousarray((rows if rows.shape[1] % 8 else rows.view(np.uint64)).T)
        always, ever = (reduce.reduce(columns, axis=1).view(np.uint8) for reduce in (np.bitwise_and, np.bitwise_or))
        return cls(always, ever)

    @staticmethod
    def to_metadata(groups: Sequence[ConstantBits]) -> dict[bytes, bytes]:
        """An entry of a file's metadata with those of all its row groups."""
        data = b"".join(part.tobytes() for group in groups for part in (group.always, group.ever))
        return {_NAME: base64.b64encode(zlib.crc32(data).to_bytes(4, "little") + data)}

    @classmethod
    def from_metadata(
        cls, metadata: Mapping[bytes, bytes] | None, groups: int, width: int
    ) -> list[ConstantBits] | None:
        """Those of each row group, or None if a file does not say or cannot be believed."""
        try:
            data = base64.b64decode((metadata or {})[_NAME], validate=True)
        except (KeyError, ValueError):
            return None
        if len(data) != 4 + 2 * groups * width or zlib.crc32(data[4:]).to_bytes(4, "little") != data[:4]:
            return None
        rows = np.frombuffer(data, dtype=np.uint8, offset=4).reshape(groups, 2, width)
        return [cls(always, ever) for always, ever in rows]

    def may_hold(self, patterns: NDArray[np.uint8]) -> Bools:
        """Which of some patterns, a row each, the row group may hold."""
        result: Bools = ~(((patterns & self.always) != self.always) | ((patterns | self.ever) != self.ever)).any(axis=1)
        return result
