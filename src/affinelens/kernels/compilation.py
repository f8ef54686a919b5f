"""How kernels are compiled: native code without the interpreter lock, cached on disk between runs.

Sums may be reordered and products fused: every error bound holds for any order and with or without fused operations.
Nothing is assumed about infinities or NaN, which compare false and therefore leave a decision to rational arithmetic.
Kernels allocate nothing, so their arrays need no reference counts.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numba as nb
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

Function = TypeVar("Function", bound=Callable[..., Any])


_FLAGS = {"contract", "reassoc", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Functions that only kernels call need no way in from Python.
_INNER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: Function) -> Function:
    """Compile a function that Python calls, with all that it calls, on first use; kept on disk for the next time."""
    compiled: Any = nb.njit(cache=True, fastmath=_FLAGS, **_OPTIONS)(function)
    # Numba looks only at the function's own file to see whether its code on disk is stale
    file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = _digest(_room(function))
    if hasattr(compiled, "compile"):
        compiled.compile = _with_plain_loops(compiled.compile)
    result: Function = compiled
    return result


def kernel(function: Function) -> Function:
    """Compile a function for its callers."""
    compiled: Any = nb.njit(fastmath=_FLAGS, **_INNER)(function)
    return compiled


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers: for those that are called for every region or vertex."""
    compiled: Any = nb.njit(forceinline=True, fastmath=_FLAGS, **_INNER)(function)
    return compiled


def merged(function: Function) -> Function:
    """Compile a function only as a part of its one caller."""
    compiled: Any = nb.njit(inline="always", fastmath=_FLAGS, **_INNER)(function)
    return compiled


def unreordered(function: Function) -> Function:
    """As :func:`inlined`, with operations done exactly as written."""
    # said outright, because what is not said is taken from the caller
    compiled: Any = nb.njit(forceinline=True, fastmath=set(), **_INNER)(function)
    return compiled


def _with_plain_loops(compile_it: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without unrolling and vectorising loops: those of kernels have few rounds, and use lanes where it pays.

    Without this all is as right, but slower. Numba has no option for it, so for a while its code generator is given
    another way to make pass builders.
    """
    codegen = cpu_target.target_context.codegen()
    if not hasattr(codegen, "_pass_builder") or not hasattr(codegen, "_tm"):
        return compile_it

    def pass_builder(**options: Any) -> Any:
        tuning = llvm.create_pipeline_tuning_options(speed_level=options.get("opt", 3))
        tuning.loop_vectorization = tuning.loop_unrolling = False
        tuning.slp_vectorization = options.get("slp_vectorize", True)
        return llvm.create_pass_builder(codegen._tm, tuning)

    def compile_plainly(*arguments: Any) -> Any:
        with global_compiler_lock:
            codegen._pass_builder = pass_builder
            try:
                return compile_it(*arguments)
            finally:
                del codegen._pass_builder

    return compile_plainly


@cache
def _digest(room: Path) -> str:
    """Of all that kernels in a room may be made of: its own sources, and those of this folder."""
    digest = hashlib.sha256()
    for source in sorted([*Path(__file__).parent.glob("*.py"), *room.rglob("*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _room(function: Callable[..., Any]) -> Path:
    """The folder that a function's module belongs to, at most two levels below the package: engine/vertex, convex."""
    package = Path(__file__).parents[1]
    inside = Path(inspect.getfile(function)).relative_to(package)
    return package.joinpath(*inside.parent.parts[:2])
