"""The contract between those who want regions and those who find them: what is asked, and what is answered."""

from affinelens.walk.certificate import NO_DECISIONS, Certificate
from affinelens.walk.column_source import ColumnSource, ColumnView, Rows
from affinelens.walk.columns import Columns, Facets, JoinedLater, Vertices
from affinelens.walk.engine import Engine, Fit, Restriction
from affinelens.walk.hyperplanes import Hyperplanes
from affinelens.walk.job import WHOLE_DOMAIN, Job, Place
from affinelens.walk.layouts import Layouts, OwnLayouts
from affinelens.walk.limits import Limits
from affinelens.walk.outcome import Chunk, Outcome, in_order
from affinelens.walk.request import Ability, Request
from affinelens.walk.selection import EVERYTHING, Selected, Selection
from affinelens.walk.sink import Deposit, HandedTo, SharedPlace, SharedSink, Sink
from affinelens.walk.status import Status

__all__ = [
    "EVERYTHING",
    "NO_DECISIONS",
    "WHOLE_DOMAIN",
    "Ability",
    "Certificate",
    "Chunk",
    "ColumnSource",
    "ColumnView",
    "Columns",
    "Deposit",
    "Engine",
    "Facets",
    "Fit",
    "HandedTo",
    "Hyperplanes",
    "Job",
    "JoinedLater",
    "Layouts",
    "Limits",
    "Outcome",
    "OwnLayouts",
    "Place",
    "Request",
    "Restriction",
    "Rows",
    "Selected",
    "Selection",
    "SharedPlace",
    "SharedSink",
    "Sink",
    "Status",
    "Vertices",
    "in_order",
]
