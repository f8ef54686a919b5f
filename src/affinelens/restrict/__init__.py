"""Networks restricted to domains: bounds that prove what cannot switch there, and what is left."""

from __future__ import annotations

import numpy as np

from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict.extended_rows import ExtendedRows
from affinelens.restrict.restricted_functions import ExactBreaks, RestrictedFunctions, ZeroFunctions
from affinelens.restrict.restricted_network import Clauses, RestrictedNetwork, RestrictedStage, SwitchingChoices
from affinelens.restrict.restricted_rows import RestrictedRows, restricted_rows
from affinelens.restrict.stage_bounds import StageBounds, merged
from affinelens.restrict.subdivision import Report, bound_subdomains

__all__ = [
    "Clauses", "ExactBreaks", "ExtendedRows", "RestrictedFunctions", "RestrictedNetwork", "RestrictedRows",
    "RestrictedStage", "StageBounds", "SwitchingChoices", "ZeroFunctions", "restrict",
    "restricted_rows",
]  # fmt: skip


@np.errstate(all="ignore")  # a bound that overflows proves nothing
def restrict(
    network: Network, frame: Frame, deadline: Deadline = NEVER, report: Report = lambda finished, waiting: None
) -> RestrictedNetwork:
    """What is left of a network on a domain: the units that may switch there, all others being proved not to.

    Where many can, the domain is divided into subdomains; how many are finished and waiting is reported now and then.
    """
    bounded = bound_subdomains(network, frame, deadline, report)
    subdomains = tuple(
        RestrictedNetwork(network, subdomain.frame, bounds, subdomain.sides) for subdomain, bounds in bounded
    )
    if len(subdomains) == 1:
        return subdomains[0]
    everywhere = merged([bounds for _, bounds in bounded])
    return RestrictedNetwork(network, frame, everywhere, subdomains=subdomains)
