"""What users give to a picture: regions, numbers and classes, taken or refused in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError, Words
from affinelens.regions import Regions


def require_regions(given: Any) -> None:
    """Pictures are of region sets."""
    if not isinstance(given, Regions):
        raise AffineLensError(
            f"a picture is of the regions that al.enumerate finds or al.load reads, but got {type(given).__name__}"
        )


def require_dimension(regions: Any, dim: int) -> None:
    """Most pictures are for one dimension each, and of something."""
    require_regions(regions)
    if regions.domain.dim != dim:
        raise AffineLensError(
            f"this picture is of a domain of dimension {dim}, but the set's has {regions.domain.dim}; enumerate on ",
            Words("a Slice", "one given by --slice-axes or --through"),
            f" of dimension {dim}",
        )
    if not len(regions):
        raise AffineLensError("there is no region to draw; enumerate with a larger limit")


def numbers(given: Any, accepted: str) -> Floats:
    """An array of float64s from arrays, lists, tables and tensors; ``accepted`` begins the sentence of refusal."""
    try:
        return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise AffineLensError(f"{accepted}, but got {given!r:.60}") from None


def classes(given: Any, count: int) -> Indices:
    """A class number for each of so many points."""
    accepted = f"labels must be a class number, 0 or more, for each of the {count} points"
    values = numbers(given, accepted)
    if values.shape != (count,):
        raise AffineLensError(f"{accepted}, but have shape {values.shape}")
    wrong = values[~((values >= 0) & (values == np.round(values)))]
    if len(wrong):
        raise AffineLensError(f"{accepted}, but one is {wrong[0]:g}; number the classes from 0")
    return values.astype(np.int64)
