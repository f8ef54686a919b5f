"""A walk that is written to a run directory while it goes on."""

from __future__ import annotations

from pathlib import Path

from affinelens.api.given_limits import LIMITS
from affinelens.errors import AffineLensError, Option
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.durable_walk import walked, walked_on
from affinelens.regions.store.manifest import is_run
from affinelens.regions.store.run_data import SavedRun
from affinelens.walk import Limits


def walked_in(path: Path, asked: Asked, limits: Limits, overwrite: bool, resume: bool) -> SavedRun:
    """A walk that is written to a run directory while it goes on, from the beginning or from where it stood."""
    if overwrite and resume:
        raise AffineLensError(
            Option("overwrite", value=True), " begins a run anew and ", Option("resume", value=True),
            " goes on with it; give one of them",
        )  # fmt: skip
    if resume and is_run(path):
        return walked_on(path, limits, {name: asked.options[name] for name in LIMITS}, asked)
    return walked(path, asked, limits, overwrite=overwrite)


def require_directory(overwrite: bool, resume: bool) -> None:
    if overwrite or resume:
        name = "resume" if resume else "overwrite"
        raise AffineLensError(Option(name, value=True), " is about a run directory; say which with ", Option("run"))
