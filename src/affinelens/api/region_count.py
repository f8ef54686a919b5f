"""The question how many regions there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from affinelens.api.asking import requested
from affinelens.api.complete_count import require_complete
from affinelens.api.given_limits import LIMITS, limits_given
from affinelens.api.hopeless_walks import MOST_TO_COUNT, warn_if_hopeless
from affinelens.api.walk_into_run import require_directory, walked_in
from affinelens.domain import Domain
from affinelens.engine import run as run_request
from affinelens.files.given_path import given_path
from affinelens.progress_display import ProgressOption, shown
from affinelens.regions.store.asked import Asked
from affinelens.walk import Outcome


def count(
    model: Any,
    domain: Domain,
    *,
    engine: str = "auto",
    workers: int | None = None,
    executor: Any = None,
    max_regions: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
    run: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    cut_outputs: bool = False,
) -> int:
    """Count the regions of a network on a bounded domain.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes.
    domain
        A :class:`Box`, :class:`Polytope` or :class:`Slice` of the network's inputs.
    engine
        ``"auto"``, the fastest of these that fits; ``"count"``, up to dimension 14 and chosen up to 10, which leaves
        out the cells of the last stage; ``"vertex"`` or ``"linear_program"``, as for :func:`enumerate`.
    workers
        Number of threads (of processes, for the linear_program engine); None for one a core. The result does not
        depend on it.
    executor
        What runs the walk instead of threads here: any ``concurrent.futures.Executor``, or a client of Dask
        (``distributed.Client``). It is sent jobs of seconds, those of lost workers again. The result does not depend on
        it.
    max_regions
        Give up after this many regions.
    time_limit
        Give up after this many seconds.
    progress
        True for a line on the terminal or a bar in a notebook, or a function that is called about ten times a second
        with a :class:`affinelens.Progress`.
    run
        Directory to note down in how far the count is, so that one that was stopped or killed goes on: see
        :func:`resume`. It holds no regions.
    overwrite, resume
        Replace a run that is already there, or go on with it, as for :func:`enumerate`.
    cut_outputs
        Also cut regions where an output is zero (the paper's Algorithm 1 as printed).

    Returns
    -------
    int
        The number of regions, always all of them.

    Raises
    ------
    IncompleteError
        If a limit stopped the walk. It holds the number found so far: a partial count is never returned as the count.
    Interrupted
        If Ctrl-C did, likewise.
    AffineLensError
        If the model, the domain or an option cannot be taken.

    Notes
    -----
    Costs one walk, and keeps no regions: it takes little memory however many there are.

    Examples
    --------
    >>> import affinelens as al
    >>> al.count([([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1))
    3
    """
    folder = None if run is None else given_path(run, "a run directory")
    with shown(progress):
        outcome = count_regions(
            model, domain, engine=engine, workers=workers, executor=executor, max_regions=max_regions,
            time_limit=time_limit, cut_outputs=cut_outputs, run=folder, overwrite=overwrite, resume=resume,
        )  # fmt: skip
    require_complete(outcome, folder)
    return outcome.regions


def count_regions(
    model: Any,
    domain: Domain,
    *,
    run: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    **options: Any,
) -> Outcome:
    """A count with all that is known of how it went, complete or not."""
    request = requested(model, domain, regions=False, **options)
    warn_if_hopeless(request, MOST_TO_COUNT)
    if run is None:
        require_directory(overwrite, resume)
        return run_request(request)
    given = {"engine": request.engine, "cut_outputs": bool(options.get("cut_outputs", False))}
    given |= limits_given(*(options.get(name) for name in LIMITS))
    return walked_in(
        given_path(run, "a run directory"), Asked.by(request, domain, given), request.limits, overwrite, resume
    ).outcome
