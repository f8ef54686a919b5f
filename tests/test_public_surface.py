"""What a user meets has a docstring that says what it is and shows it; and there is not too much of it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import affinelens as al
from affinelens.engine import ENGINE_NAMES

NAMES = [name for name in al.__all__ if name != "__version__"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(al, name))]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(al, name))]
# Classes that users make themselves.
CONSTRUCTED = ["Box", "Point", "Polytope", "Slice"]
INTERNAL = {"adjoint", "corners", "known_vertices", "places", "restricted_functions", "results", "switching_part"}


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """The public members that the package gives a class, bases included."""
    for name in dir(owner):
        if not name.startswith("_"):
            giver = next(base for base in owner.__mro__ if name in base.__dict__)
            if giver.__module__.startswith("affinelens"):
                yield name, inspect.getattr_static(owner, name)


def described(owner: type, name: str, member: Any) -> bool:
    """Whether a member has a docstring, its own or inherited, or a line among the attributes of its class."""
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if inspect.isfunction(member) or isinstance(member, property | cached_property):
        return bool(member.__doc__ or inspect.getdoc(member))
    return any(name in attributes(base) for base in owner.__mro__)


def attributes(owner: type) -> set[str]:
    """The names that the Attributes section of a class lists."""
    return section(inspect.cleandoc(owner.__doc__ or ""), "Attributes")


def section(text: str, title: str) -> set[str]:
    """The names that a section of a numpydoc text lists."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    entries = re.findall(r"^\S.*$", found[1], flags=re.MULTILINE) if found else []
    return {name.strip(" *") for entry in entries for name in entry.split(" : ")[0].split(",")}


def documentation(name: str) -> str:
    return inspect.cleandoc(getattr(al, name).__doc__ or "")


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is_and_shows_it(name: str) -> None:
    first, *_ = documentation(name).splitlines()
    assert first.endswith((".", "?", ":"))
    assert ">>> " in documentation(name)


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_member_has_a_docstring(name: str) -> None:
    owner = getattr(al, name)
    assert [member for member, value in members(owner) if not described(owner, member, value)] == []


@pytest.mark.parametrize("name", CLASSES)
def test_fields_are_listed_as_attributes(name: str) -> None:
    owner = getattr(al, name)
    fields = {field.name for field in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    if issubclass(owner, Enum):
        fields |= set(owner.__members__)
    assert fields <= attributes(owner)


@pytest.mark.parametrize("name", [*FUNCTIONS, *CONSTRUCTED])
def test_every_parameter_is_listed(name: str) -> None:
    assert set(inspect.signature(getattr(al, name)).parameters) == section(documentation(name), "Parameters")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_return_and_what_they_raise(name: str) -> None:
    assert section(documentation(name), "Returns")
    assert "AffineLensError" in section(documentation(name), "Raises")


def test_the_help_of_enumerate_and_count_names_every_engine() -> None:
    for name in ENGINE_NAMES:
        assert f'``"{name}"``' in documentation("enumerate")
        assert f'``"{name}"``' in documentation("count")


def test_a_region_set_shows_few_members_and_none_of_its_workings() -> None:
    regions = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
    public = {name for name in dir(regions) if not name.startswith("_")}
    assert len(public) <= 60
    assert not public & INTERNAL


def methods() -> list[str]:
    """The public methods of public classes as "Class.method", each where it is first given."""
    found = {}
    for name in CLASSES:
        for member, value in members(getattr(al, name)):
            function = getattr(value, "__func__", value)
            if inspect.isfunction(function):
                found.setdefault(function, f"{name}.{member}")
    return list(found.values())


@pytest.mark.parametrize("name", methods())
def test_what_a_method_takes_is_listed_and_shown(name: str) -> None:
    owner, member = name.split(".")
    method = getattr(getattr(al, owner), member)
    text = inspect.getdoc(method) or ""
    assert set(inspect.signature(method).parameters) - {"self"} == section(text, "Parameters")
    assert ">>> " in text


def test_prose_is_spelled_as_the_names_are() -> None:
    root = Path(__file__).parents[1]
    other_spelling = re.compile("neighbo[u]r|colo[u]r|cent[r](e|ing)", flags=re.IGNORECASE)
    files = [*(root / "src").rglob("*.py"), *(root / "docs").glob("*.md"), root / "README.md"]
    assert [str(file) for file in files if other_spelling.search(file.read_text(encoding="utf-8"))] == []
