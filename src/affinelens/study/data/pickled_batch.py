"""Reading a pickled dictionary of plain values and byte arrays without unpickling it.

A pickle is a program. Of its instructions only those are followed that build dictionaries, lists, tuples, numbers and
texts, and of the functions that it can name only the three that numpy arrays are written with, which are not called:
what they would be given is kept instead. So nothing in the file is run, and what is built is no larger than the file.
"""

from __future__ import annotations

import pickletools
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.study.data.data_folder import batch_bytes

# A batch of CIFAR-10 takes some fifty thousand instructions.
_MOST_INSTRUCTIONS = 1 << 20
_MOST_AXES = 4
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_WITH_VALUE = (
    "BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES",
)  # fmt: skip
_WITH_LATIN_TEXT = ("BINSTRING", "SHORT_BINSTRING")
# How many values an instruction takes off the stack; None for those since the last mark.
_TAKEN = {
    "EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3, "TUPLE": None, "APPEND": 1, "APPENDS": None, "SETITEM": 2,
    "SETITEMS": None, "STACK_GLOBAL": 2, "REDUCE": 2, "BUILD": 1,
}  # fmt: skip
_WITHOUT_EFFECT = ("PROTO", "FRAME", "STOP")
_ARRAY, _KIND, _CLASS = "array", "kind of number", "class of array"
_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"): _ARRAY,
    ("numpy._core.multiarray", "_reconstruct"): _ARRAY,
    ("numpy", "dtype"): _KIND,
    ("numpy", "ndarray"): _CLASS,
}


class _Made:
    """Something that a named function would have made: what it was given then, and later."""

    def __init__(self, by: str, arguments: Any) -> None:
        self.by = by
        self.arguments = arguments
        self.state: Any = None


def read_pickled_batch(path: Path) -> dict[str, Any]:
    """The dictionary in a pickle file, its arrays being of unsigned bytes."""
    data = batch_bytes(path)
    try:
        made = _Builder(path).built(data)
        return {_text(key): _array(value) if isinstance(value, _Made) else value for key, value in made.items()}
    except AffineLensError:
        raise
    except Exception as error:  # a damaged pickle fails in many ways, none of which a user can tell apart
        raise AffineLensError(f"{path}: not a pickled batch of images; download it again") from error


class _Builder:
    """Follows the instructions of a pickle that build plain values."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def built(self, data: bytes) -> dict[Any, Any]:
        for count, (operation, argument, _) in enumerate(pickletools.genops(BytesIO(data))):
            if count > _MOST_INSTRUCTIONS:
                raise AffineLensError(f"{self._path}: takes more instructions than any batch of images; give another")
            self._follow(operation.name, argument)
        (made,) = self._stack
        if not isinstance(made, dict):
            raise ValueError("not a dictionary")
        return made

    def _follow(self, name: str, argument: Any) -> None:
        stack = self._stack
        taken = self._last(_TAKEN[name]) if name in _TAKEN else []
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _WITH_VALUE:
            stack.append(argument)
        elif name in _WITH_LATIN_TEXT:
            stack.append(argument.encode("latin-1"))
        elif "TUPLE" in name:
            stack.append(tuple(taken))
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self._memo[len(self._memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self._memo[argument])
        elif name == "MARK":
            self._marks.append(len(stack))
        elif name in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append({} if name == "EMPTY_DICT" else [])
        elif name in ("APPEND", "APPENDS"):
            stack[-1].extend(taken)
        elif name in ("SETITEM", "SETITEMS"):
            self._set(taken)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(self._named(*(argument.split(" ") if name == "GLOBAL" else taken)))
        elif name == "REDUCE":
            function, arguments = taken
            if not _is_text(function) or function not in (_ARRAY, _KIND):
                raise ValueError("not a function that arrays are written with")
            stack.append(_Made(function, arguments))
        elif name == "BUILD":
            (stack[-1].state,) = taken
        elif name not in _WITHOUT_EFFECT:
            raise AffineLensError(f"{self._path}: has the pickle instruction {name}, which no batch of images needs")

    def _last(self, count: int | None) -> list[Any]:
        """Take so many values off the stack, or those since the last mark."""
        start = self._marks.pop() if count is None else len(self._stack) - count
        if start < 0:
            raise IndexError("the stack is empty")
        taken = self._stack[start:]
        del self._stack[start:]
        return taken

    def _set(self, values: list[Any]) -> None:
        if not all(map(_is_text, values[::2])):
            raise ValueError("a key is not a text")
        self._stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def _named(self, module: Any, name: Any) -> str:
        if not _is_text(module) or not _is_text(name):
            raise ValueError("a name is not a text")
        if (module, name) not in _NAMES:
            raise AffineLensError(
                f"{self._path}: asks for {module}.{name}".replace("\n", " ")[:200]
                + ", which no batch of images needs; nothing of it was run, give the original file"
            )
        return _NAMES[module, name]


def _is_text(value: Any) -> bool:
    """Whether it may be looked up: tuples of tuples, a line each in the file, could take for ever to hash."""
    return isinstance(value, bytes | str)


def _text(value: bytes | str) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else value


def _array(made: _Made) -> NDArray[np.uint8]:
    """The array that was to be made, from the bytes of its state."""
    _, shape, kind, by_column, data = made.state
    if len(shape) > _MOST_AXES:
        raise ValueError("no batch of images has so many axes")
    letter = _text(kind.arguments[0])
    if letter not in ("u1", "|u1", "uint8") or by_column or not isinstance(data, bytes) or prod(shape) != len(data):
        raise ValueError("not an array of unsigned bytes")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)
