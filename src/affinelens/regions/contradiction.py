"""Where a set states something that cannot be: data that nobody vouches for may fit together and still be wrong."""

from __future__ import annotations

from affinelens.errors import AffineLensError


def contradiction(what: str) -> AffineLensError:
    """The error for a set that is not one of its network."""
    return AffineLensError(f"the set is not one of its network, because {what}; rs.audit() says more, enumerate again")
