"""Bounded input domains."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from affinelens.domain.box import Box
from affinelens.domain.frame import Domain, Frame
from affinelens.domain.numbers import numbers_from_json
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
        return Point([Fraction(value) for value in numbers_from_json(data["values"])])
    if kind == "slice":
        window = domain_from_json(data["window"])
        return Slice.from_json(
            numbers_from_json(data["origin"]), numbers_from_json(data["basis"]), data["shape"], window
        )
    raise AffineLensError(f"a domain of kind {kind!r} is unknown; box, polytope, point and slice are read")
