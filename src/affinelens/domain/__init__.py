"""Bounded input domains."""

from __future__ import annotations

from math import prod
from typing import Any

from affinelens.domain.box import Box
from affinelens.domain.domain import Domain
from affinelens.domain.frame import Frame
from affinelens.domain.numbers import Numbers, numbers_from_json, read_numbers
from affinelens.domain.output_condition import Condition, Output, class_is, inequalities, output
from affinelens.domain.point import Point
from affinelens.domain.polytope import Polytope
from affinelens.domain.slice import Slice
from affinelens.domain.vnnlib.property import Case, Constraint, Property
from affinelens.domain.vnnlib.reader import read_vnnlib
from affinelens.errors import AffineLensError

__all__ = [
    "Box",
    "Case",
    "Condition",
    "Constraint",
    "Domain",
    "Frame",
    "Output",
    "Point",
    "Polytope",
    "Property",
    "Slice",
    "class_is",
    "domain_from_json",
    "inequalities",
    "output",
    "read_vnnlib",
]


def domain_from_json(data: dict[str, Any]) -> Domain:
    """Rebuild a domain from what its ``to_json`` returned."""
    kind = data.get("kind")
    if kind == "box":
        return Box(numbers_from_json(data["lower"]), numbers_from_json(data["upper"]))
    if kind == "polytope":
        return Polytope(numbers_from_json(data["W"]), numbers_from_json(data["b"]))
    if kind == "point":
        return Point(numbers_from_json(data["values"]))
    if kind == "slice":
        origin = _shaped(read_numbers(numbers_from_json(data["origin"]), "the slice's origin"), data["shape"])
        return Slice(origin, numbers_from_json(data["basis"]), domain_from_json(data["window"]))
    raise AffineLensError(f"a domain of kind {kind!r} is unknown; box, polytope, point and slice are read")


def _shaped(origin: Numbers, shape: Any) -> Numbers:
    """The origin of a slice in the shape that is written beside it."""
    if not (isinstance(shape, list) and all(isinstance(n, int) and n > 0 for n in shape)):
        raise AffineLensError(f"a slice of shape {shape!r:.40} is unknown")
    if origin.shape != (prod(shape),):
        raise AffineLensError("its slice's origin does not have the slice's shape")
    return origin.reshaped(*shape)
