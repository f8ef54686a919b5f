"""Numba's attributes that kernels rely on: one that is gone is refused in a sentence. That they work is tested with
what is compiled through them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from numba.core.registry import cpu_target

from affinelens.kernels.compilation import entry
from affinelens.kernels.numba_hooks import ACCEPTED, UnsupportedNumbaError, stamp_cache, with_plain_loops


def refusal(name: str) -> str:
    return rf"^numba {numba.__version__} has no \w+\.{name}, which kernels need; run: pip install '{ACCEPTED}'$"


@pytest.mark.parametrize(
    ("dispatcher", "missing"),
    [
        (SimpleNamespace(), "_cache"),
        (SimpleNamespace(_cache=SimpleNamespace()), "_cache_file"),
        (SimpleNamespace(_cache=SimpleNamespace(_cache_file=SimpleNamespace())), "_source_stamp"),
        (SimpleNamespace(_cache=SimpleNamespace(_cache_file=SimpleNamespace(_source_stamp=""))), "_load_index"),
    ],
)
def test_a_cache_that_takes_no_stamp_is_refused(dispatcher: Any, missing: str) -> None:
    with pytest.raises(UnsupportedNumbaError, match=refusal(missing)):
        stamp_cache(dispatcher, "stamp")


@pytest.mark.parametrize("missing", ["_pass_builder", "_tm"])
def test_a_code_generator_of_another_kind_is_refused(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codegen = cpu_target.target_context.codegen()
    owner = next(o for o in (codegen, *type(codegen).__mro__) if missing in vars(o))
    monkeypatch.delattr(owner, missing)
    with pytest.raises(UnsupportedNumbaError, match=refusal(missing)):
        with_plain_loops(lambda: None)
    with pytest.raises(ImportError, match=refusal(missing)):
        entry(lambda x: x)


def test_the_package_asks_for_what_is_accepted() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert ACCEPTED in project["project"]["dependencies"]
