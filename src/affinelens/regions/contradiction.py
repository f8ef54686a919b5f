"""Where a set states something that cannot be: data that nobody vouches for may fit together and still be wrong."""

from __future__ import annotations

from affinelens.errors import AffineLensError


def contradiction(what: str) -> AffineLensError:
    """The error for a set that is not one of its network."""
    return AffineLensError(f"the set is not one of its network, because {what}; rs.audit() says more, enumerate again")


def no_volume() -> AffineLensError:
    """The error where regions are to be weighed by volumes that are all zero in float64."""
    return AffineLensError(
        "the regions have no volume that float64 tells from zero; rs.audit() says whether they are the network's"
    )
