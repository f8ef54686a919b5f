"""The questions: which regions are there, how many, and which were there in a saved run."""

from affinelens.api.asking import compile_for, compile_given, require_domain, require_inputs
from affinelens.api.complete_count import IncompleteError, require_complete
from affinelens.api.enumeration import enumerate
from affinelens.api.given_limits import checked_limits
from affinelens.api.region_count import count, count_regions
from affinelens.api.saved_runs import load, resume, resume_walk

__all__ = [
    "IncompleteError", "checked_limits", "compile_for", "compile_given", "count", "count_regions", "enumerate", "load",
    "require_complete", "require_domain", "require_inputs", "resume", "resume_walk",
]  # fmt: skip
