"""Bounded input domains."""

from __future__ import annotations

from typing import Any

from affinelens.domain.box import Box
from affinelens.domain.frame import Domain, Frame
from affinelens.domain.polytope import Polytope
from affinelens.errors import AffineLensError

__all__ = ["Box", "Domain", "Frame", "Polytope", "domain_from_json"]


def domain_from_json(data: dict[str, Any]) -> Domain:
    """Rebuild a domain from what its ``to_json`` returned."""
    kind = data.get("kind")
    if kind == "box":
        return Box(data["lower"], data["upper"])
    if kind == "polytope":
        return Polytope(data["W"], data["b"])
    raise AffineLensError(f"a domain of kind {kind!r} is unknown; box and polytope are read")
