"""AffineLens: every affine region of a piecewise affine network on a bounded domain, exactly."""

from affinelens.api import IncompleteError, count, enumerate, load, resume
from affinelens.domain import (
    Box,
    Case,
    Condition,
    Constraint,
    Domain,
    Output,
    Point,
    Polytope,
    Property,
    Slice,
    class_is,
    inequalities,
    output,
    read_vnnlib,
)
from affinelens.errors import AffineLensError, AffineLensWarning, Interrupted, MissingExtraError
from affinelens.inspection import Inspection, inspect
from affinelens.network import Network, network
from affinelens.progress import Progress
from affinelens.region_set import RegionSet
from affinelens.regions import Region
from affinelens.track import Tracker, TrainingRecord, load_record, track
from affinelens.verify import Robustness, Verdict, Witness, property_of, robust, verify
from affinelens.version import __version__
from affinelens.walk import Certificate, Status

__all__ = [
    "AffineLensError",
    "AffineLensWarning",
    "Box",
    "Case",
    "Certificate",
    "Condition",
    "Constraint",
    "Domain",
    "IncompleteError",
    "Inspection",
    "Interrupted",
    "MissingExtraError",
    "Network",
    "Output",
    "Point",
    "Polytope",
    "Progress",
    "Property",
    "Region",
    "RegionSet",
    "Robustness",
    "Slice",
    "Status",
    "Tracker",
    "TrainingRecord",
    "Verdict",
    "Witness",
    "__version__",
    "class_is",
    "count",
    "enumerate",
    "inequalities",
    "inspect",
    "load",
    "load_record",
    "network",
    "output",
    "property_of",
    "read_vnnlib",
    "resume",
    "robust",
    "track",
    "verify",
]


def __dir__() -> list[str]:
    """The public names alone, for prompts that complete them."""
    return sorted(__all__)
