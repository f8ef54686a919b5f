"""The question which regions there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from affinelens.api.asked_regions import regions_of, unless_interrupted
from affinelens.api.asking import requested, require_domain
from affinelens.api.given_limits import limits_given
from affinelens.api.hopeless_walks import MOST_IN_MEMORY, MOST_ON_DISK, warn_if_hopeless
from affinelens.api.walk_into_run import require_directory, walked_in
from affinelens.domain import Domain
from affinelens.engine import run as run_request
from affinelens.files.given_path import given_path
from affinelens.progress_display import ProgressOption, shown
from affinelens.region_set import RegionSet
from affinelens.regions.store.asked import Asked


def enumerate(
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
    facets: bool = True,
    vertices: bool = False,
) -> RegionSet:
    """Find every region of a network on a bounded domain.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes.
    domain
        A :class:`Box`, :class:`Polytope` or :class:`Slice` of the network's inputs.
    engine
        ``"auto"``, the fastest of these that fits; ``"vertex"``, up to dimension 14 and chosen up to 10, which builds
        cells from their vertices; ``"linear_program"``, in any dimension, the paper's own way; or, to count only,
        ``"count"``, which is the vertex engine without the cells of the last stage.
    workers
        Number of threads (of processes, for the linear_program engine); None for one a core. The result does not
        depend on it.
    executor
        What runs the walk instead of threads here: any ``concurrent.futures.Executor``, or a client of Dask
        (``distributed.Client``). It is sent jobs of seconds, those of lost workers again. The result does not depend on
        it.
    max_regions
        Stop after this many regions; ``status`` then says so.
    time_limit
        Stop after this many seconds; ``status`` then says so.
    progress
        True for a line on the terminal or a bar in a notebook, or a function that is called about ten times a second
        with a :class:`affinelens.Progress`.
    run
        Directory to save the result in, even if it was stopped early. Regions are written there as they are found and
        read back when they are first looked at, so that the walk takes little memory however many there are. A walk
        that was stopped or killed goes on from there: see :func:`resume`.
    overwrite
        Replace a run that is already there.
    resume
        Go on with the run, if there is one that is not complete; begin it if there is none. All that says which regions
        are found must be the same as when it was begun. ``max_regions`` is of all sittings together, ``time_limit`` of
        this one.
    cut_outputs
        Also cut regions where an output is zero (the paper's Algorithm 1 as printed).
    facets, vertices
        Which geometry to keep with each region. What is not asked for costs nothing.

    Returns
    -------
    RegionSet
        With ``status`` COMPLETE unless a limit stopped the walk.

    Raises
    ------
    Interrupted
        If Ctrl-C stopped the walk; its ``found`` is what would have been returned, and is saved if ``run`` was given.
    AffineLensError
        If the model, the domain or an option cannot be taken, or the engine asked for cannot do what is asked.

    Notes
    -----
    Costs one walk. Regions take memory in proportion to their number, unless ``run`` is given; :func:`count` takes
    none.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.enumerate([([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1))
    >>> len(rs), rs.status.name
    (3, 'COMPLETE')
    """
    options = {
        "engine": engine,
        **limits_given(workers, max_regions, time_limit),
        "cut_outputs": bool(cut_outputs),
        "facets": bool(facets),
        "vertices": bool(vertices),
    }
    require_domain(domain)
    folder = None if run is None else given_path(run, "a run directory")
    with shown(progress):
        request = requested(
            model, domain, engine=engine, workers=workers, executor=executor, max_regions=max_regions,
            time_limit=time_limit, cut_outputs=cut_outputs, facets=facets, vertices=vertices,
        )  # fmt: skip
        warn_if_hopeless(request, MOST_IN_MEMORY if folder is None else MOST_ON_DISK)
        if folder is None:
            require_directory(overwrite, resume)
            return unless_interrupted(RegionSet(request.network, domain, run_request(request), options))
        saved = walked_in(folder, Asked.by(request, domain, options), request.limits, overwrite, resume)
        return unless_interrupted(regions_of(saved), folder)
