"""How kernels are compiled: native code without the interpreter lock, cached on disk between runs.

Sums may be reordered and products fused: every error bound holds for any order and with or without fused operations.
Nothing is assumed about infinities or NaN, which compare false and therefore leave a decision to rational arithmetic.
Kernels allocate nothing, so their arrays need no reference counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function on first use."""
    return _compiled(function, inline=False)


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers: for those that are called for every region or vertex."""
    return _compiled(function, inline=True)


def _compiled(function: Function, inline: bool) -> Function:
    flags = {"contract", "reassoc", "nsz"}
    options = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": flags, "_nrt": False}
    compiled: Function = nb.njit(forceinline=inline, **options)(function)
    return compiled
