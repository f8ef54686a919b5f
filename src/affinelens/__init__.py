"""AffineLens: every affine region of a piecewise affine network on a bounded domain, exactly."""

from affinelens.domain import Box, Domain, Point, Polytope, Property, Slice, read_vnnlib
from affinelens.engine import Certificate, Progress, Status
from affinelens.enumeration import IncompleteError, count, enumerate
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.measure import Tracker, TrainingRecord, Verdict, Witness, load_record, track, verify
from affinelens.network import Network, network
from affinelens.regions import Region, RegionSet, load
from affinelens.version import __version__

__all__ = [
    "AffineLensError",
    "Box",
    "Certificate",
    "Domain",
    "IncompleteError",
    "MissingExtraError",
    "Network",
    "Point",
    "Polytope",
    "Progress",
    "Property",
    "Region",
    "RegionSet",
    "Slice",
    "Status",
    "Tracker",
    "TrainingRecord",
    "Verdict",
    "Witness",
    "__version__",
    "count",
    "enumerate",
    "load",
    "load_record",
    "network",
    "read_vnnlib",
    "track",
    "verify",
]
