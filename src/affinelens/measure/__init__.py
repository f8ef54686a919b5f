"""What regions say about a network."""

from affinelens.measure.boundary_distance import Distance, Distances
from affinelens.measure.decision_boundary import BoundaryPiece, DecisionBoundary
from affinelens.measure.record_directory import load_record
from affinelens.measure.tracker import Tracker, track
from affinelens.measure.training_record import Snapshot, TrainingRecord
from affinelens.measure.unsafe_set import UnsafePart
from affinelens.measure.verification import Result, Verdict, verify
from affinelens.measure.witness import FloatCheck, Witness

__all__ = [
    "BoundaryPiece", "DecisionBoundary", "Distance", "Distances", "FloatCheck", "Result", "Snapshot", "Tracker",
    "TrainingRecord", "UnsafePart", "Verdict", "Witness", "load_record", "track", "verify",
]  # fmt: skip
