"""The questions: which regions are there, how many, and which were there in a saved run."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from affinelens.domain import Domain
from affinelens.engine import AUTO, require_executor, require_known
from affinelens.engine import run as run_request
from affinelens.errors import AffineLensError, AffineLensWarning, Interrupted, Option
from affinelens.measure.summary.forecast import cells_at_most, forecast
from affinelens.network import Network, compile_model, is_torch_module
from affinelens.progress_display import ProgressOption, shown
from affinelens.region_set import RegionSet
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.durable_walk import walked, walked_on
from affinelens.regions.store.manifest import is_run
from affinelens.regions.store.run_data import SavedRun
from affinelens.regions.store.run_reader import read_run
from affinelens.regions.store.run_writer import command_to_go_on
from affinelens.short_text import counted, power_of_ten
from affinelens.walk import Limits, Outcome, Request, Status

# Powers of ten of how many regions a day of many cores finds, a disk holds, a large memory holds.
_MOST_TO_COUNT = 12.0
_MOST_ON_DISK = 11.0
_MOST_IN_MEMORY = 9.5
# Options that may differ from sitting to sitting.
_LIMITS = ("workers", "max_regions", "time_limit")


class IncompleteError(AffineLensError):
    """A count was stopped at a limit before it was complete.

    Attributes
    ----------
    regions : int
        How many regions were found; there are at least as many.
    status : Status
        What stopped the count.

    Examples
    --------
    >>> import affinelens as al
    >>> layers = [([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])]
    >>> try:
    ...     al.count(layers, al.Box(-1, 1, dim=1), max_regions=1)
    ... except al.IncompleteError as error:
    ...     print(error.regions, error.status.name)
    1 REGION_LIMIT
    """

    def __init__(self, message: str, regions: int = 0, status: Status = Status.TIME_LIMIT) -> None:
        super().__init__(message)
        self.regions = regions
        self.status = status


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
        **_limits_given(workers, max_regions, time_limit),
        "cut_outputs": bool(cut_outputs),
        "facets": bool(facets),
        "vertices": bool(vertices),
    }
    require_domain(domain)
    with shown(progress):
        request = requested(
            model, domain, engine=engine, workers=workers, executor=executor, max_regions=max_regions,
            time_limit=time_limit, cut_outputs=cut_outputs, facets=facets, vertices=vertices,
        )  # fmt: skip
        _warn_if_hopeless(request, _MOST_IN_MEMORY if run is None else _MOST_ON_DISK)
        if run is None:
            _require_directory(overwrite, resume)
            return _unless_interrupted(RegionSet(request.network, domain, run_request(request), options))
        saved = _walked_in(Path(run), Asked.by(request, domain, options), request.limits, overwrite, resume)
        return _unless_interrupted(_regions_of(saved), Path(run))


def _limits_given(workers: Any, max_regions: Any, time_limit: Any) -> dict[str, Any]:
    """The limits as plain data."""
    return {
        "workers": _whole(workers, "workers"),
        "max_regions": _whole(max_regions, "max_regions"),
        "time_limit": _seconds(time_limit),
    }


def _require_directory(overwrite: bool, resume: bool) -> None:
    if overwrite or resume:
        name = "resume" if resume else "overwrite"
        raise AffineLensError(Option(name, value=True), " is about a run directory; say which with ", Option("run"))


def _walked_in(path: Path, asked: Asked, limits: Limits, overwrite: bool, resume: bool) -> SavedRun:
    """A walk that is written to a run directory while it goes on, from the beginning or from where it stood."""
    if overwrite and resume:
        raise AffineLensError(
            Option("overwrite", value=True), " begins a run anew and ", Option("resume", value=True),
            " goes on with it; give one of them",
        )  # fmt: skip
    if resume and is_run(path):
        return walked_on(path, limits, {name: asked.options[name] for name in _LIMITS}, asked)
    return walked(path, asked, limits, overwrite=overwrite)


def _regions_of(saved: SavedRun) -> RegionSet:
    return RegionSet(saved.asked.network, saved.asked.domain, saved.outcome, saved.asked.options, saved.note)


def _unless_interrupted(regions: RegionSet, path: Path | None = None) -> RegionSet:
    if regions.status is Status.CANCELLED:
        saved = "" if path is None else f" and in {path}, where they go on with: {command_to_go_on(path)}"
        raise Interrupted(f"stopped by Ctrl-C; {counted(len(regions), 'region')} are in .found{saved}", regions)
    return regions


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
    with shown(progress):
        saved = resume_walk(path, executor, workers=workers, max_regions=max_regions, time_limit=time_limit)
    if saved.asked.regions:
        return _unless_interrupted(_regions_of(saved), Path(path))
    require_complete(saved.outcome, Path(path))
    return saved.outcome.regions


def resume_walk(path: str | Path, executor: Any = None, **limits: Any) -> SavedRun:
    """As :func:`resume`, with all that is known of how it went, complete or not."""
    return walked_on(Path(path), checked_limits(**limits, executor=executor), _limits_given(**limits))


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
    with shown(progress):
        outcome = count_regions(
            model, domain, engine=engine, workers=workers, executor=executor, max_regions=max_regions,
            time_limit=time_limit, cut_outputs=cut_outputs, run=run, overwrite=overwrite, resume=resume,
        )  # fmt: skip
    require_complete(outcome, None if run is None else Path(run))
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
    _warn_if_hopeless(request, _MOST_TO_COUNT)
    if run is None:
        _require_directory(overwrite, resume)
        return run_request(request)
    given = {"engine": request.engine, "cut_outputs": bool(options.get("cut_outputs", False))}
    given |= _limits_given(*(options.get(name) for name in _LIMITS))
    return _walked_in(Path(run), Asked.by(request, domain, given), request.limits, overwrite, resume).outcome


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
    saved = read_run(Path(path))
    if saved.note:
        warnings.warn(AffineLensWarning(saved.note), stacklevel=2)
    if not saved.asked.regions:
        known = f"{'' if saved.outcome.status is Status.COMPLETE else 'at least '}{saved.outcome.regions:,}"
        raise AffineLensError(
            f"{path}: holds a count and no regions: {known} of them, {saved.outcome.status}; enumerate (affinelens "
            f"enumerate -o) keeps regions"
        )
    return _regions_of(saved)


def _warn_if_hopeless(request: Request, most: float) -> None:
    """Say so before a walk without limits that finds more than ten to this power of regions: it would not end.

    Looking takes as long as a small walk. So it is left out in the plane and in space, and where the stages'
    arrangements together cannot have so many cells.
    """
    limits, dim = request.limits, request.frame.dim
    if limits.max_regions is not None or limits.time_limit is not None or dim <= 3:
        return
    if cells_at_most([len(stage.activation.breaks) for stage in request.network.stages], dim) < most:
        return
    expected = forecast(request.network, request.frame).regions
    if expected > most:
        warnings.warn(
            AffineLensWarning(
                f"very roughly {power_of_ten(expected)} regions are to be expected, more than can be walked; give ",
                Option("max_regions"), " or ", Option("time_limit"), " for a part of them, or fewer dimensions with ",
                Option("slice_axes", in_python="al.Slice"),
            ),
            stacklevel=3,
        )  # fmt: skip


def require_complete(outcome: Outcome, path: Path | None = None) -> None:
    """Refuse to take a partial count for the count; one in a run directory can go on."""
    further = "" if path is None else f"; go on with: {command_to_go_on(path)}"
    if outcome.status is Status.CANCELLED:
        known = f"at least {counted(outcome.regions, 'region')} exist"
        raise Interrupted(f"the count was stopped by Ctrl-C; {known}{further}", outcome.regions)
    if outcome.status is not Status.COMPLETE:
        raise IncompleteError(
            f"the count is {outcome.status}; at least {outcome.regions} regions exist{further}",
            outcome.regions,
            outcome.status,
        )


def requested(
    model: Any,
    domain: Domain,
    *,
    engine: str = AUTO,
    workers: int | None = None,
    executor: Any = None,
    max_regions: int | None = None,
    time_limit: float | None = None,
    cut_outputs: bool = False,
    regions: bool = True,
    facets: bool = True,
    vertices: bool = False,
) -> Request:
    """The request that a user's options stand for, after checking each of them."""
    require_known(engine)
    limits = checked_limits(workers, max_regions, time_limit, executor)
    require_domain(domain)
    compiled = compile_for(model, domain)
    return Request(
        compiled.with_output_cut() if cut_outputs else compiled, domain.frame, engine, regions=regions, facets=facets,
        vertices=vertices, limits=limits,
    )  # fmt: skip


def require_domain(domain: Any) -> None:
    if not isinstance(domain, Domain):
        raise AffineLensError(f"the domain must be a Box, a Polytope or a Slice, but got {type(domain).__name__}")


def compile_for(model: Any, domain: Domain) -> Network:
    """Compile a model and check that it takes the domain's inputs."""
    compiled = compile_given(model, domain)
    require_inputs(compiled, domain)
    return compiled


def compile_given(model: Any, domain: Domain) -> Network:
    """Compile a model where its options cannot be given; sizes it leaves open are the domain's.

    A module is given inputs in the shape of a slice's or, if it does not take that, as a flat row.
    """
    if is_torch_module(model) and len(domain.input_shape) > 1:
        with suppress(AffineLensError):
            return compile_model(model, input_shape=domain.input_shape)
    try:
        return compile_model(model, inputs=domain.inputs)
    except AffineLensError as error:
        if error.options:
            raise error.between("", " (an option of affinelens.network, whose result can be given here)") from None
        raise


def require_inputs(network: Network, domain: Domain) -> None:
    """Refuse a domain of other inputs than the network's."""
    if network.input_size != domain.inputs:
        raise AffineLensError(
            f"the network takes {network.input_size} inputs but the domain has {domain.inputs}; "
            f"give a domain with one range an input"
        )


def checked_limits(workers: Any, max_regions: Any, time_limit: Any, executor: Any = None) -> Limits:
    """Limits as the engine takes them, or an error that names the one that makes no sense."""
    processes = _whole(workers, "workers") or _available_cores()
    if executor is not None:
        require_executor(executor)
    return Limits(_whole(max_regions, "max_regions"), _seconds(time_limit), processes, executor=executor)


def _available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _whole(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise AffineLensError(f"{name} must be a whole number of at least 1, but got {value!r}")
    return int(value)


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise AffineLensError(f"time_limit must be a number of seconds above 0, but got {value!r}")
    return float(value)
