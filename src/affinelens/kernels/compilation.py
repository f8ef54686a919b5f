"""How kernels are compiled: native code without the interpreter lock, cached on disk between runs.

Every kernel of the package is declared by one of the decorators here, and those that Python calls by an entry. Code on
disk is used only while all sources are unchanged that it may be made of.

Sums may be reordered and products fused: every error bound holds for any order and with or without fused operations.
Nothing is assumed about infinities or NaN, which compare false and therefore leave a decision to rational arithmetic.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba as nb

from affinelens.kernels.announcement import announced
from affinelens.kernels.numba_hooks import as_written_in_python, stamp_cache, with_plain_loops

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parents[1]
_ANY_ORDER = {"contract", "reassoc", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _ANY_ORDER}
# Arrays that are only handed on need no reference counts.
_LEAN: dict[str, Any] = {**_OPTIONS, "_nrt": False}
# Functions that only kernels call need no way in from Python, which has them as they are written.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: Function) -> Function:
    """Compile a function that Python calls, with all that it calls, on first use; kept on disk for the next time.

    It allocates nothing. Loops are neither unrolled nor vectorised: they have few rounds, and use lanes where it pays.
    """
    return _entry(function, _LEAN, with_plain_loops)


def kernel(function: Function) -> Function:
    """Compile a function for its callers."""
    return _inner(function, _LEAN)


def inlined(function: Function) -> Function:
    """Compile a function into each of its callers: for those that are called for every region or vertex."""
    return _inner(function, _LEAN, forceinline=True)


def merged(function: Function) -> Function:
    """Compile a function only as a part of its one caller."""
    return _inner(function, _LEAN, inline="always")


def unreordered(function: Function) -> Function:
    """As :func:`inlined`, with operations done exactly as written."""
    # said outright, because what is not said is taken from the caller
    return _inner(function, {**_LEAN, "fastmath": set()}, forceinline=True)


def array_entry(function: Function) -> Function:
    """As :func:`entry`, for loops over long arrays: they are unrolled and vectorised, and arrays may be allocated."""
    return _entry(function, _OPTIONS, lambda compile_it: compile_it)


def array_kernel(function: Function) -> Function:
    """Compile a function for callers that are declared as :func:`array_entry`."""
    return _inner(function, _OPTIONS)


def _inner(function: Function, options: dict[str, Any], **more: Any) -> Function:
    compiled: Function = as_written_in_python(nb.njit(**options, **_INNER, **more)(function))
    return compiled


def _entry(function: Function, options: dict[str, Any], way: Callable[[Any], Any]) -> Function:
    if nb.config.DISABLE_JIT:
        return function
    compiled: Any = nb.njit(cache=True, **options)(function)
    stamp_cache(compiled, _digest(_sources(function)))
    compiled.compile = announced(way(compiled.compile))
    result: Function = compiled
    return result


def _sources(function: Callable[..., Any]) -> Path:
    """The folder that a function's module belongs to, at most two levels below the package: engine/vertex, convex.

    Outside the package it is the module's own file.
    """
    file = Path(inspect.getfile(function))
    if not file.is_relative_to(_PACKAGE):
        return file
    return _PACKAGE.joinpath(*file.relative_to(_PACKAGE).parent.parts[:2])


@cache
def _digest(sources: Path) -> str:
    """Of all that kernels may be made of: their own sources, and those of this folder."""
    digest = hashlib.sha256()
    for source in sorted([*Path(__file__).parent.glob("*.py"), *_files(sources)]):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _files(sources: Path) -> list[Path]:
    return list(sources.rglob("*.py")) if sources.is_dir() else [sources]
