"""Whether a property holds: by bounds, by a search for a witness, and by walking all regions where neither decides."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from affinelens.api import checked_limits
from affinelens.deadline import NEVER, Deadline, TimeIsUp
from affinelens.domain import Case, Condition, Domain, Property, Slice, read_vnnlib
from affinelens.engine import choose, require_known
from affinelens.errors import AffineLensError, Interrupted, Option
from affinelens.network import Network, compile_model
from affinelens.progress_display import ProgressOption, shown
from affinelens.verify.case_search import CaseSearch
from affinelens.verify.last_operator import on_model, on_network
from affinelens.verify.onnx_check import OnnxCheck
from affinelens.verify.tallied_walks import TalliedWalks
from affinelens.verify.unsafe_set import UnsafePart
from affinelens.verify.verdict import Result, Verdict
from affinelens.verify.witness import Judge, Witness
from affinelens.walk import Ability, Request, Status


def verify(
    model: Any,
    property: str | Path | Property | Domain,  # noqa: A002 (the word that the field uses)
    *,
    never: Condition | None = None,
    always: Condition | None = None,
    all: bool = False,  # noqa: A002
    engine: str = "auto",
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
    until: str | None = None,
) -> Verdict:
    """Decide whether any input satisfies the condition of a VNN-LIB property, or of one written in Python.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes.
    property
        A ``.vnnlib`` or ``.vnnlib.gz`` file, or what :func:`affinelens.read_vnnlib` made of one; or a domain, of which
        ``never`` or ``always`` says what is to hold there.
    never
        A condition that no input of the domain may meet: ``sat`` if some input does.
    always
        A condition that every input of the domain must meet: ``sat`` if some input does not.
    all
        If some input does, find all of them: ``verdict.unsafe`` is the exact unsafe set as polytopes, with volumes.
    engine, workers, time_limit, progress
        As for :func:`affinelens.enumerate`; the time limit is for everything, and is looked at between steps.
    until
        Where to cut the model, as for :func:`affinelens.network`.

    Returns
    -------
    Verdict
        ``sat`` with a witness that was checked in rational arithmetic, and in floats by onnxruntime if the model is an
        ONNX file and onnxruntime is installed; ``unsat`` if the property holds; or ``timeout``.

    Raises
    ------
    AffineLensError
        If the model or the property cannot be taken, or they do not fit each other.
    Interrupted
        If Ctrl-C stopped it; its ``found`` is the verdict so far, which is ``unknown`` unless a witness was found.

    Notes
    -----
    A few thousand points and bounds over the domain often decide. Where they do not, costs a walk of the regions that
    bounds leave, a case; ``all`` costs one more.

    Conditions speak of the model's own outputs. Where its last sigmoid or tanh was left out of the network, a threshold
    of one output is taken to the place where the operator takes that value, rounded to float64 unless that is exact
    (0.5 of a probability is 0), and a note says so; ``class_is(1)`` of a single sigmoid is a probability above 0.5.
    Witnesses show the network's output.

    Examples
    --------
    >>> import affinelens as al
    >>> from affinelens.domain import Case, Constraint
    >>> from fractions import Fraction
    >>> above_half = Constraint((), ((0, Fraction(1)),), Fraction(-1, 2))  # Y_0 >= 1/2
    >>> prop = al.Property((1,), (1,), (Case(al.Box(-1, 1, dim=1), ((above_half,),)),))
    >>> verdict = al.verify([([[1.0]], [0.0]), ([[0.25]], [0.0])], prop)  # or al.verify("net.onnx", "prop.vnnlib")
    >>> print(verdict, "-", verdict.reason)
    unsat - the property holds: no input satisfies its condition
    >>> print(al.verify([([[1.0]], [0.0]), ([[0.25]], [0.0])], al.Box(-1, 1, dim=1), always=al.output(0) <= 0.2))
    sat
    """
    started = time.monotonic()
    require_known(engine)
    limits = checked_limits(workers, None, time_limit)
    if not isinstance(property, str | Path | Property | Domain):
        raise AffineLensError(
            "what is asked of the model is a .vnnlib file, a Property, or a Box or Polytope with never=... or "
            f"always=..., but got {property!r:.60}"
        )
    asked = property if isinstance(property, Domain | Property) else read_vnnlib(property)
    network = compile_model(model, until=until, inputs=asked.inputs)
    prop = _property(asked, network, never, always)
    try:
        prop.require_sizes(network.input_size, network.output_size)
    except AffineLensError as error:
        raise error.located(str(property)) if isinstance(property, str | Path) else error from None
    deadline = NEVER if limits.time_limit is None else Deadline(started + limits.time_limit)
    walks = TalliedWalks(engine, limits, deadline)
    check = OnnxCheck.of(model) if until is None else None
    with shown(progress):
        verdict = _verdict(network, prop, check, walks, started, everything=all)
    if walks.stopped is Status.CANCELLED:
        raise Interrupted(f"stopped by Ctrl-C; the verdict so far, {verdict}, is in .found", verdict)
    return verdict


def _property(
    asked: Property | Domain, network: Network, never: Condition | None, always: Condition | None
) -> Property:
    """A property as it is, or what must not happen on a domain as one."""
    if isinstance(asked, Property):
        if never is not None or always is not None:
            raise AffineLensError(
                "never and always speak of a domain; a property has its own condition: leave them out"
            )
        return asked
    if (never is None) == (always is None):
        given = "neither was" if never is None else "both were"
        raise AffineLensError(
            f"of a domain, say what is to hold there by either never=... or always=..., but {given} given"
        )
    condition = never if never is not None else always
    if not isinstance(condition, Condition):
        raise AffineLensError(
            f"a condition is made of output(i), class_is(k) and inequalities(A, b), but got {condition!r:.60}"
        )
    if isinstance(asked, Slice):
        raise AffineLensError("properties are decided on a Box or a Polytope, but got a Slice; give the box around it")
    unsafe = condition if never is not None else ~condition
    case = Case(asked, unsafe.normal_form(network.output_size))
    return Property((asked.inputs,), (network.output_size,), (case,))


@np.errstate(all="ignore")  # a bound that overflows proves nothing
def _verdict(
    network: Network, prop: Property, check: OnnxCheck | None, walks: TalliedWalks, started: float, *, everything: bool
) -> Verdict:
    stated, prop = on_model(prop, network), on_network(prop, network)
    searches = [
        CaseSearch(network, case, number, Judge(network, case, number, check, walks.deadline, as_stated), walks)
        for number, (case, as_stated) in enumerate(zip(prop.cases, stated.cases, strict=True))
    ]
    witness: Witness | None = None
    unsafe: list[UnsafePart] = []
    try:
        if everything:
            _require_vertices(network, prop, walks)
        witness = _first_witness(searches, walks)
        if witness is not None and everything:
            for search in searches:
                unsafe += search.unsafe_parts()
    except TimeIsUp:
        walks.stopped = Status.TIME_LIMIT
    except KeyboardInterrupt:
        walks.stopped = Status.CANCELLED
    result, reason = _conclusion(witness, walks.stopped)
    if witness is not None and everything and walks.stopped is not None:
        reason += "; not all of the unsafe set was found"
    return Verdict(
        result, reason, time.monotonic() - started, walks.regions, tuple(walks.engines), walks.certificate, witness,
        tuple(unsafe) if everything and result in (Result.SAT, Result.UNSAT) else None,
        (*map(str, network.notes), *prop.notes),
    )  # fmt: skip


def _require_vertices(network: Network, prop: Property, walks: TalliedWalks) -> None:
    """The unsafe set is made of cells with vertices."""
    for case in prop.cases:
        if case.domain.dim:
            choice = choose(Request(network, case.domain.frame, walks.engine), walks.deadline)
            if Ability.VERTICES not in choice.engine.abilities:
                raise AffineLensError(
                    "the whole unsafe set is made of cells with vertices, which the vertex engine alone finds, but the "
                    f"engine here is {choice.name} ({choice.reason}); leave out ",
                    Option("all", True),
                    " for the verdict alone",
                )


def _first_witness(searches: Sequence[CaseSearch], walks: TalliedWalks) -> Witness | None:
    """A witness, or None; then either there is none or a walk was stopped."""
    for search in searches:
        witness = search.found_quickly()
        if witness is not None:
            return witness
    for search in searches:
        witness = search.walked()
        if witness is not None or walks.stopped is not None:
            return witness
    return None


def _conclusion(witness: Witness | None, stopped: Status | None) -> tuple[Result, str]:
    if witness is not None:
        return Result.SAT, _sat_reason(witness)
    if stopped is Status.TIME_LIMIT:
        return Result.TIMEOUT, "the time limit came before an answer; raise it"
    if stopped is not None:
        return Result.UNKNOWN, "stopped by the user before an answer"
    return Result.UNSAT, "the property holds: no input satisfies its condition"


def _sat_reason(witness: Witness) -> str:
    reason = "an input satisfies the condition, checked in rational arithmetic"
    floats = witness.floats
    if floats is None:
        return f"{reason}; it was not checked by onnxruntime"
    if floats.holds and floats.inside:
        return f"{reason} and by onnxruntime's own evaluation"
    if floats.holds:
        return f"{reason} and by onnxruntime's own evaluation, whose rounded input is just outside the domain"
    return f"{reason}, but not by onnxruntime, whose rounding hides it: no witness in this cell satisfies it in floats"
