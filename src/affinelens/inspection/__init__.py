"""Looking at a network, and at what a walk of it would take, before anything is walked."""

from affinelens.inspection.findings import Inspection, inspect

__all__ = ["Inspection", "inspect"]
