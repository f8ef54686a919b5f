"""Runs in directories: one is walked into, gone on with, and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from affinelens.api.asked_regions import regions_of, unless_interrupted
from affinelens.api.complete_count import require_complete
from affinelens.api.given_limits import checked_limits, limits_given
from affinelens.errors import AffineLensError, AffineLensWarning, warn_user
from affinelens.files.given_path import given_path
from affinelens.progress_display import ProgressOption, shown
from affinelens.region_set import RegionSet
from affinelens.regions.store.durable_walk import walked_on
from affinelens.regions.store.run_data import SavedRun
from affinelens.regions.store.run_reader import read_run
from affinelens.walk import Status


def resume(
    path: str | Path,
    *,
    workers: int | None = None,
    executor: Any = None,
    max_regions: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> RegionSet | int:
    """Go on with a walk that was stopped or killed, from the last checkpoint in its run directory.

    Parameters
    ----------
    path
        The directory, from :func:`enumerate` or :func:`count`. All else is in it, the network too.
    workers, executor
        As for :func:`enumerate`; may differ from sitting to sitting.
    max_regions
        Stop after this many regions, of all sittings together.
    time_limit
        Stop after this many seconds of this sitting.
    progress
        As for :func:`enumerate`.

    Returns
    -------
    RegionSet or int
        The regions of all sittings or, if it is a count, their number. The result does not depend on how often the walk
        was stopped. If it was complete already, it is returned.

    Raises
    ------
    IncompleteError, Interrupted
        As :func:`enumerate` and :func:`count` do.
    AffineLensError
        If there is no run, another process writes to it, or it does not say what is left to do.

    Notes
    -----
    What was found after the last checkpoint before a walk was killed, 20 s at most, is walked once more. The hashes of
    all files are checked first.

    Examples
    --------
    >>> import affinelens as al
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> layers = [([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])]
    >>> with TemporaryDirectory() as folder:
    ...     rs = al.enumerate(layers, al.Box(-1, 1, dim=1), run=Path(folder) / "run")
    ...     al.resume(Path(folder) / "run")
    RegionSet(3 regions, COMPLETE, dimension 1, by vertex)
    """
    folder = given_path(path, "a run directory")
    with shown(progress):
        saved = resume_walk(folder, executor, workers=workers, max_regions=max_regions, time_limit=time_limit)
    if saved.asked.regions:
        return unless_interrupted(regions_of(saved), folder)
    require_complete(saved.outcome, folder)
    return saved.outcome.regions


def resume_walk(path: str | Path, executor: Any = None, **limits: Any) -> SavedRun:
    """As :func:`resume`, with all that is known of how it went, complete or not."""
    return walked_on(
        given_path(path, "a run directory"), checked_limits(**limits, executor=executor), limits_given(**limits)
    )


def load(path: str | Path) -> RegionSet:
    """Read a run directory that :meth:`RegionSet.save` or ``enumerate(..., run=...)`` wrote.

    Nothing in it is trusted: there is no pickle, and shapes, ranges and hashes are checked. Of a walk that goes on, or
    was killed, it is what was found by the last checkpoint, with the status UNFINISHED; :func:`resume` goes on.

    Parameters
    ----------
    path
        The directory.

    Returns
    -------
    RegionSet
        As it was saved; its model need not be at hand.

    Raises
    ------
    AffineLensError
        If the directory holds no run, or one that is damaged or of another format version.

    Notes
    -----
    Does not walk. A run whose files take less than 50 MiB is read into memory. Of a larger one, which may have 10^8
    regions, nothing is read but what is looked at: ``points`` and ``patterns`` stand for arrays and give rows;
    ``locate``, iteration, ``rs[rows]``, ``filter`` and ``to_batches`` read what they need; ``column`` computes a part
    of the regions at a time. What needs all facets or vertices at once, as ``neighbor_values`` and ``adjacency`` do,
    reads all into memory then. Damage of such a run's files is found where they are read.

    Examples
    --------
    >>> import affinelens as al
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1))
    >>> with TemporaryDirectory() as folder:
    ...     al.load(rs.save(Path(folder) / "run"))
    RegionSet(2 regions, COMPLETE, dimension 1, by vertex)
    """
    saved = read_run(given_path(path, "a run directory"))
    if saved.note:
        warn_user(AffineLensWarning(saved.note))
    if not saved.asked.regions:
        known = f"{'' if saved.outcome.status is Status.COMPLETE else 'at least '}{saved.outcome.regions:,}"
        raise AffineLensError(
            f"{path}: holds a count and no regions: {known} of them, {saved.outcome.status}; enumerate (affinelens "
            f"enumerate -o) keeps regions"
        )
    return regions_of(saved)
