"""AffineLens: every affine region of a piecewise affine network on a bounded domain, exactly."""

from affinelens.api import IncompleteError, count, enumerate, load
from affinelens.domain import Box, Domain, Point, Polytope, Property, Slice, read_vnnlib
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.network import Network, network
from affinelens.region_set import RegionSet
from affinelens.regions import Region
from affinelens.track import Tracker, TrainingRecord, load_record, track
from affinelens.verify import Verdict, Witness, verify
from affinelens.version import __version__
from affinelens.walk import Certificate, Progress, Status

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
