"""What a run is of: the same in every sitting, so that nothing has to be said again to go on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from affinelens.domain import Domain
from affinelens.errors import AffineLensError, Option
from affinelens.network import Network
from affinelens.walk import Limits, Outcome, Request, Sink

# Options that say what is found; all others may differ from sitting to sitting.
_WHAT_IS_FOUND = ("cut_outputs", "facets", "vertices", "engine")


@dataclass(frozen=True, eq=False)
class Asked:
    """A network on a domain, whether regions are kept or only counted, and with which geometry.

    ``options`` are a user's, as plain data.
    """

    network: Network
    domain: Domain
    options: dict[str, Any]
    regions: bool = True
    facets: bool = True
    vertices: bool = False

    @classmethod
    def by(cls, request: Request, domain: Domain, options: dict[str, Any]) -> Asked:
        """What a request asks for."""
        return cls(request.network, domain, options, request.regions, request.wants_facets, request.wants_vertices)

    def request(self, limits: Limits, sink: Sink | None = None) -> Request:
        """The request for all of it."""
        engine = str(self.options.get("engine", "auto"))
        return Request(
            self.network, self.domain.frame, engine, regions=self.regions, facets=self.facets, vertices=self.vertices,
            limits=limits, sink=sink,
        )  # fmt: skip

    def with_limits_of(self, options: dict[str, Any]) -> Asked:
        """The same with the limits of another sitting."""
        return replace(self, options=self.options | options)

    def require_same(self, begun: Asked, walked: Outcome) -> None:
        """Refuse to go on with a run that was begun with something else, and name the difference."""
        if self.regions != begun.regions:
            kinds = {True: "regions", False: "a count"}
            raise AffineLensError(
                f"it holds {kinds[begun.regions]}, and {kinds[self.regions]} cannot go on with it; "
                f"choose another directory"
            )
        for name in _WHAT_IS_FOUND:
            old, new = begun.options.get(name), self.options.get(name)
            if old != new and not (name == "engine" and new == walked.engine):
                raise _begun_otherwise(name, old, new)
        if self.network.digest != begun.network.digest:
            raise AffineLensError(
                f"it was begun with another model: {begun.network!r} of SHA-256 {begun.network.digest[:12]}..., not "
                f"{self.network!r} of {self.network.digest[:12]}...; give that one, or choose another directory"
            )
        if self.domain.to_json() != begun.domain.to_json():
            raise AffineLensError(
                f"it was begun on another domain: {begun.domain!r:.200}, not {self.domain!r:.200}; give that one, or "
                f"choose another directory"
            )


def _begun_otherwise(name: str, old: Any, new: Any) -> AffineLensError:
    """The refusal of an option that differs."""
    end = "; give the same, or choose another directory"
    if isinstance(old, bool) and isinstance(new, bool):
        option = Option(name, value=True)
        if old:
            return AffineLensError("it was begun with ", option, end)
        return AffineLensError("it was begun without ", option, end)
    return AffineLensError("it was begun with ", Option(name, old), ", not ", Option(name, new), end)
