"""What kernels need of Numba and it has no option for: a cache that sees every source, loops left as written, and
functions for kernels alone that can be called all the same.

The first two are done through attributes that Numba does not promise to keep. Without one of them kernels would be
stale or slow and nobody would know, so a missing one is refused as soon as a kernel is declared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba as nb
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, cpu_target

from affinelens.errors import AffineLensError

# What pyproject.toml asks for, and tests are run with.
ACCEPTED = "numba>=0.68,<0.69"


class UnsupportedNumbaError(AffineLensError, ImportError):
    """The installed Numba lacks something that kernels rely on; the message names both."""


def stamp_cache(dispatcher: Any, stamp: str) -> None:
    """Take a function's code on disk for stale unless it has this stamp: Numba would look at one file only.

    The list of what is on disk names the types of arguments, and cannot be read once one of them has moved.
    """
    file = required(required(dispatcher, "_cache"), "_cache_file")
    required(file, "_source_stamp")
    load_index = required(file, "_load_index")

    def load_index_if_readable() -> Any:
        try:
            return load_index()
        except (ImportError, AttributeError):
            return {}

    file._source_stamp, file._load_index = stamp, load_index_if_readable


def with_plain_loops(compile_it: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without unrolling and vectorising loops: for a while the code generator makes other pass builders."""
    codegen = cpu_target.target_context.codegen()
    required(codegen, "_pass_builder")
    machine = required(codegen, "_tm")

    def pass_builder(**options: Any) -> Any:
        tuning = llvm.create_pipeline_tuning_options(speed_level=options.get("opt", 3))
        tuning.loop_vectorization = tuning.loop_unrolling = False
        tuning.slp_vectorization = options.get("slp_vectorize", True)
        return llvm.create_pass_builder(machine, tuning)

    def compile_plainly(*arguments: Any) -> Any:
        with global_compiler_lock:
            codegen._pass_builder = pass_builder
            try:
                return compile_it(*arguments)
            finally:
                del codegen._pass_builder

    return compile_plainly


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A function that was compiled without a way in from Python, through which Numba would go nevertheless."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def as_written_in_python(compiled: Any) -> Any:
    """Let Python run a function for kernels alone as it is written."""
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _Inner
    return compiled


def required(owner: Any, name: str) -> Any:
    """An attribute of something of Numba's; an error if it is gone."""
    if not hasattr(owner, name):
        raise UnsupportedNumbaError(
            f"numba {nb.__version__} has no {type(owner).__name__}.{name}, which kernels need; "
            f"run: pip install '{ACCEPTED}'"
        )
    return getattr(owner, name)
