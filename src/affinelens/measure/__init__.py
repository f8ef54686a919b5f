"""What regions say about a network: functions of :class:`affinelens.regions.Regions`; each keeps its result."""

from affinelens.measure.audit.audit_report import AuditReport, audit
from affinelens.measure.decision.boundary_distance import Distance, Distances
from affinelens.measure.decision.decision_boundary import BoundaryPiece, DecisionBoundary, decision_boundary
from affinelens.measure.geometry.regularity import Regularity, regularity
from affinelens.measure.geometry.volumes import volumes
from affinelens.measure.maps.linear_regions import LinearRegions, linear_regions
from affinelens.measure.maps.lipschitz import lipschitz_constant
from affinelens.measure.maps.output_mean import output_means
from affinelens.measure.maps.output_range import OutputRange, output_ranges
from affinelens.measure.summary.export import to_arrow, to_batches, to_pandas
from affinelens.measure.summary.metrics import metrics
from affinelens.measure.summary.quantities import quantity, quantity_names
from affinelens.measure.summary.text import summary
from affinelens.measure.summary.theory import RegionBounds, region_bounds
from affinelens.measure.topology.adjacency import Adjacency, adjacency, to_networkx

__all__ = [
    "Adjacency",
    "AuditReport",
    "BoundaryPiece",
    "DecisionBoundary",
    "Distance",
    "Distances",
    "LinearRegions",
    "OutputRange",
    "RegionBounds",
    "Regularity",
    "adjacency",
    "audit",
    "decision_boundary",
    "linear_regions",
    "lipschitz_constant",
    "metrics",
    "output_means",
    "output_ranges",
    "quantity",
    "quantity_names",
    "region_bounds",
    "regularity",
    "summary",
    "to_arrow",
    "to_batches",
    "to_networkx",
    "to_pandas",
    "volumes",
]
