"""Measuring a model while it trains: the model is read at once, the regions are counted beside the training."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

from affinelens.api import IncompleteError, checked_limits, compile_for, require_domain, require_inputs
from affinelens.domain import Domain
from affinelens.engine import require_known
from affinelens.errors import AffineLensError
from affinelens.network import Network, is_torch_module
from affinelens.network import network as compile_network
from affinelens.track.measurement import Measurement, Metric
from affinelens.track.measuring_process import MeasuringProcess
from affinelens.track.serial_thread import SerialThread
from affinelens.track.training_record import LAYER, WORDS, Row, Snapshot, TrainingRecord

_log = logging.getLogger("affinelens")
# How many networks may wait to be counted; then training waits.
_MOST_WAITING = 4


def track(
    domain: Domain,
    *,
    every: int | Collection[int] = 1,
    metrics: bool | Sequence[str] | Mapping[str, Metric] = False,
    keep: bool | int | Collection[int] = True,
    unit: str = "epoch",
    engine: str = "auto",
    workers: int = 1,
    executor: Any = None,
    max_regions: int | None = None,
    time_limit: float | None = None,
    input_shape: Sequence[int] | None = None,
    until: str | None = None,
    fixed: Mapping[str, ArrayLike] | None = None,
) -> Tracker:
    """A callback that records how many regions a model has while it trains.

    Call it with the model and the number of the epoch or step. The model is read at once and left as it was: its
    training mode, gradients and device, and the random state; batch norm is measured in inference mode. Regions are
    counted in another thread while training goes on, and from about the tenth measurement in another process, unless
    ``metrics`` holds functions. The first call waits for the result, so that whatever is wrong is
    said before training; what goes wrong later is written into the table and logged, and training goes on.

    Parameters
    ----------
    domain
        Where regions are counted.
    every
        Which steps are measured: every so many, or those in a collection. Other calls cost nothing.
    metrics
        What to record beside the counts: True for all of ``RegionSet.metrics()``, some of their names, or a mapping
        from names to functions of a :class:`RegionSet` that return a number.
    keep
        Which measured steps leave a snapshot: True for all, False for none, or as ``every``. A snapshot holds the
        model's parameters.
    unit
        What a step is called, in the table and in the snapshots' labels.
    engine, workers, executor, max_regions, time_limit
        As in :func:`affinelens.enumerate`, for one measurement.
    input_shape, until, fixed
        As in :func:`affinelens.network`.

    Returns
    -------
    Tracker
        To be called as ``tracker(model, step)``.

    Raises
    ------
    AffineLensError
        If an option cannot be taken or, at the first call, the model.

    Notes
    -----
    A measurement costs one walk that keeps no regions; with ``metrics``, an enumeration and what they need.

    Examples
    --------
    >>> import affinelens as al
    >>> tracker = al.track(al.Box(-1, 1, dim=1), every=10)
    >>> for epoch in range(11):
    ...     layers = [([[1.0], [1.0]], [0.0, -0.1 * epoch]), ([[1.0, 1.0]], [0.0])]  # or a torch.nn.Module
    ...     tracker(layers, epoch)
    >>> [(row["epoch"], row["regions"]) for row in tracker.table]
    [(0, 2), (10, 2)]
    """
    require_domain(domain)
    require_known(engine)
    if not isinstance(unit, str) or not unit.isidentifier():
        raise AffineLensError(f"unit must be a word such as 'epoch' or 'step', but got {unit!r}")
    return Tracker(
        unit,
        due=_Steps(every, "every"),
        kept=_Steps(int(keep), "keep") if isinstance(keep, bool) and keep else _Steps(keep or (), "keep"),
        measurement=Measurement(
            domain, _checked_metrics(metrics, unit), engine, checked_limits(workers, max_regions, time_limit, executor)
        ),
        compiled=_compiler(domain, input_shape, until, fixed),
    )


class Tracker(TrainingRecord):
    """What :func:`track` returns: call it while a model trains, then read ``table`` and ``snapshots``.

    Reading either waits for what was begun. All else is as in :class:`TrainingRecord`.

    Examples
    --------
    >>> import affinelens as al
    >>> tracker = al.track(al.Box(-1, 1, dim=1), unit="step")
    >>> tracker([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
    >>> tracker
    Tracker(1 rows, 1 snapshots, Box([-1], [1]))
    """

    def __init__(
        self,
        unit: str,
        *,
        due: _Steps,
        kept: _Steps,
        measurement: Measurement,
        compiled: Callable[[Any], Network],
    ) -> None:
        super().__init__(measurement.domain, unit, {}, {})
        self._due = due
        self._kept = kept
        self._measurement = measurement
        self._compiled = compiled
        self._thread = SerialThread()
        self._process = MeasuringProcess(measurement)
        self._is_first = True
        self._waiting: deque[Future[None]] = deque()

    def __call__(self, model: Any, step: int) -> None:
        """Measure the model, if that is due at this step; the first call checks the model in any case.

        Parameters
        ----------
        model
            Anything :func:`affinelens.network` takes; it is read before this returns.
        step
            The number of the epoch or step, from 0.

        Raises
        ------
        AffineLensError
            At the first call, if the model cannot be taken or measured; IncompleteError if a limit stopped that.
        """
        number = _whole_step(step)
        if self._is_first:
            network = self._compiled(model)
            if number in self._due:
                self._rows[number] = {self.unit: number, **self._measurement.row(network)}
                self._keep(network, number)
            self._is_first = False
        elif number in self._due:
            try:
                network = self._compiled(model)
            except AffineLensError as error:
                self._rows[number] = self._failed(number, error)
                return
            self._keep(network, number)
            self._begin(network, number)

    def wait(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()

    def _keep(self, network: Network, step: int) -> None:
        self._snapshots.pop(step, None)
        if step in self._kept:
            self._snapshots[step] = Snapshot(step, self.unit, partial(self._measurement.regions, network), network)

    def _begin(self, network: Network, step: int) -> None:
        """Measure beside the training, after those begun before."""
        while self._waiting and (len(self._waiting) == _MOST_WAITING or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._thread.do(partial(self._measure, network, step)))

    def _measure(self, network: Network, step: int) -> None:
        try:
            self._rows[step] = {self.unit: step, **self._process.row(network)}
        except AffineLensError as error:
            self._rows[step] = self._failed(step, error)

    def _failed(self, step: int, error: AffineLensError) -> Row:
        _log.warning("%s %d could not be measured: %s", self.unit, step, error)
        status = error.status.name if isinstance(error, IncompleteError) else "FAILED"
        return {self.unit: step, "regions": None, "status": status, "seconds": None, "problem": str(error)}


class _Steps:
    """Which steps are meant: every so many, or those in a collection."""

    def __init__(self, given: Any, option: str) -> None:
        chosen = isinstance(given, Collection) and all(_is_step(step) for step in given)
        if not chosen and not (_is_step(given) and given > 0):
            raise AffineLensError(
                f"{option} must be a whole number of at least 1 or a collection of steps, but got {given!r:.80}"
            )
        self._meant: int | frozenset[int] = frozenset(int(step) for step in given) if chosen else int(given)

    def __contains__(self, step: int) -> bool:
        return step % self._meant == 0 if isinstance(self._meant, int) else step in self._meant


def _is_step(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _whole_step(step: Any) -> int:
    if not _is_step(step):
        raise AffineLensError(f"the step must be a whole number of at least 0, but got {step!r:.80}")
    return int(step)


def _checked_metrics(metrics: Any, unit: str) -> bool | Sequence[str] | Mapping[str, Metric]:
    if isinstance(metrics, bool):
        return metrics
    if isinstance(metrics, Mapping) and all(isinstance(n, str) and callable(f) for n, f in metrics.items()):
        taken = [name for name in metrics if name in ("regions", "seconds", unit, *WORDS) or LAYER.fullmatch(name)]
        if taken:
            raise AffineLensError(f"the table has a column {taken[0]!r:.40} of its own; give the metric another name")
        return dict(metrics)
    if isinstance(metrics, Collection) and not isinstance(metrics, str | Mapping):
        names = list(metrics)
        if all(isinstance(name, str) for name in names):
            return names
    raise AffineLensError(
        f"metrics must be True, a list of names or a mapping from names to functions, but got {metrics!r:.80}"
    )


def _compiler(
    domain: Domain,
    input_shape: Sequence[int] | None,
    until: str | None,
    fixed: Mapping[str, ArrayLike] | None,
) -> Callable[[Any], Network]:
    """Compiles the models of one training; what a torch module does is found once."""
    options: dict[str, Any] = {"until": until, "fixed": fixed}
    follow: Callable[[Any], Network] | None = None

    def compiled(model: Any) -> Network:
        nonlocal follow
        if not is_torch_module(model):
            given = input_shape is not None or until is not None or fixed is not None
            network = (
                compile_network(model, input_shape=input_shape, **options) if given else compile_for(model, domain)
            )
        else:
            if follow is None:
                from affinelens.network.torch.following import ModuleFollower

                follow = ModuleFollower(input_shape, inputs=domain.inputs, **options).network
            network = follow(model)
        require_inputs(network, domain)
        return network

    return compiled
