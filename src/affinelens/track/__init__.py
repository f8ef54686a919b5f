"""Measuring a model while it trains."""

from affinelens.track.record_directory import load_record
from affinelens.track.tracker import Tracker, track
from affinelens.track.training_record import Snapshot, TrainingRecord

__all__ = ["Snapshot", "Tracker", "TrainingRecord", "load_record", "track"]
