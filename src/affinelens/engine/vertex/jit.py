"""How kernels are compiled: native code without the interpreter lock, cached on disk between runs.

Sums may be reordered and products fused: every error bound holds for any order and with or without fused operations.
Nothing is assumed about infinities or NaN, which compare false and therefore leave a decision to rational arithmetic.
Kernels allocate nothing, so their arrays need no reference counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Set
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba as nb

Function = TypeVar("Function", bound=Callable[..., Any])


_FLAGS = {"contract", "reassoc", "nsz"}
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def kernel(function: Function) -> Function:
    """Compile a function on first use."""
    return _compiled(function, inline=False)


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers: for those that are called for every region or vertex."""
    return _compiled(function, inline=True)


def merged(function: Function) -> Function:
    """Compile a function only as a part of its one caller."""
    compiled: Any = nb.njit(inline="always", **_OPTIONS, fastmath=_FLAGS)(function)
    return compiled


def unreordered(function: Function) -> Function:
    """As :func:`inlined`, with operations done exactly as written."""
    return _compiled(function, inline=True, flags=set())


def _compiled(function: Function, inline: bool, flags: Set[str] = _FLAGS) -> Function:
    compiled: Any = nb.njit(forceinline=inline, fastmath=set(flags), **_OPTIONS)(function)
    _tie_cache_to_all_kernels(compiled)
    result: Function = compiled
    return result


def _tie_cache_to_all_kernels(compiled: Any) -> None:
    """Make a kernel's cache stale when any kernel changes: Numba looks only at the kernel's own file."""
    file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = _digest()


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()
