"""Whether a property holds: by bounds, by a search for a witness, and by walking all regions where neither decides."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from affinelens.api import checked_limits
from affinelens.deadline import NEVER, Deadline, TimeIsUp
from affinelens.domain import Point, Property, read_vnnlib
from affinelens.domain.vnnlib.property import Case, Constraint
from affinelens.engine import choose, require_known, run
from affinelens.errors import AffineLensError
from affinelens.network import Network, compile_model
from affinelens.network.note import NoteKind
from affinelens.restrict import Clauses, restrict
from affinelens.verify.condition import ALWAYS, Condition, with_condition
from affinelens.verify.onnx_check import OnnxCheck
from affinelens.verify.relaxed_cells import Cells
from affinelens.verify.unsafe_set import UnsafePart, unsafe_part
from affinelens.verify.verdict import Result, Verdict
from affinelens.verify.witness import Judge, Witness
from affinelens.verify.witness_search import promising
from affinelens.walk import (
    NO_DECISIONS,
    Ability,
    Limits,
    Outcome,
    ProgressFunction,
    Request,
    Status,
)

# How many cells on which the relaxed condition holds are found before they are looked at.
_CELLS_AT_FIRST, _CELLS_FACTOR = 1, 64


def verify(
    model: Any,
    property: str | Path | Property,  # noqa: A002 (the word that the field uses)
    *,
    all: bool = False,  # noqa: A002
    engine: str = "auto",
    workers: int | None = None,
    time_limit: float | None = None,
    progress: ProgressFunction | None = None,
    until: str | None = None,
) -> Verdict:
    """Decide whether any input satisfies the condition of a VNN-LIB property.

    Parameters
    ----------
    model
        Anything :func:`affinelens.network` takes.
    property
        A ``.vnnlib`` or ``.vnnlib.gz`` file, or what :func:`affinelens.read_vnnlib` made of one.
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

    Notes
    -----
    A few thousand points and bounds over the domain often decide. Where they do not, costs a walk of the regions that
    bounds leave, a case; ``all`` costs one more.

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
    """
    started = time.monotonic()
    require_known(engine)
    limits = checked_limits(workers, None, time_limit)
    prop = property if isinstance(property, Property) else read_vnnlib(property)
    network = compile_model(model, until=until, inputs=prop.inputs)
    try:
        prop.require_sizes(network.input_size, network.output_size)
    except AffineLensError as error:
        raise error if isinstance(property, Property) else error.located(str(property)) from error
    _require_outputs(network, prop)
    check = OnnxCheck.of(model) if until is None else None
    return _Verification(network, prop, check, engine, limits, progress, started).run(everything=all)


def _require_outputs(network: Network, prop: Property) -> None:
    """Refuse questions about values that a curved last operator, which was cut off, would change."""
    cut = next((note for note in network.notes if note.kind is NoteKind.CUT_OFF), None)
    if cut is None:
        return
    for case in prop.cases:
        for conjunction in case.condition:
            for constraint in conjunction:
                if not _compares_outputs(constraint):
                    raise AffineLensError(
                        f"{cut}, but not the values that the property's condition {str(constraint)!r:.80} speaks of; "
                        "ask about comparisons of two outputs, or cut the model there yourself"
                    )


def _compares_outputs(constraint: Constraint) -> bool:
    """Whether it reads ``Y_i >= Y_j`` (or is one of inputs alone)."""
    coefficients = [c for _, c in constraint.outputs]
    if not coefficients:
        return True
    return len(coefficients) == 2 and not constraint.inputs and not constraint.constant and sum(coefficients) == 0


class _Verification:
    """One run: what is asked, and what was done so far."""

    def __init__(
        self,
        network: Network,
        prop: Property,
        check: OnnxCheck | None,
        engine: str,
        limits: Limits,
        progress: ProgressFunction | None,
        started: float,
    ) -> None:
        self._network = network
        self._prop = prop
        self._check = check
        self._engine = engine
        self._limits = limits
        self._progress = progress
        self._started = started
        self._deadline = NEVER if limits.time_limit is None else Deadline(started + limits.time_limit)
        self._regions = 0
        self._engines: dict[str, None] = {}
        self._certificate = NO_DECISIONS
        self._stopped: Status | None = None

    def run(self, *, everything: bool) -> Verdict:
        witness: Witness | None = None
        unsafe: list[UnsafePart] = []
        try:
            if everything:
                self._require_vertices()
            witness = self._first_witness()
            if witness is not None and everything:
                unsafe += self._unsafe_parts()
        except TimeIsUp:
            self._stopped = Status.TIME_LIMIT
        if witness is not None:
            unfinished = "; not all of the unsafe set was found" if everything and self._stopped is not None else ""
            reason = _sat_reason(witness) + unfinished
            return self._verdict(Result.SAT, reason, witness, tuple(unsafe) if everything else None)
        if self._stopped is Status.TIME_LIMIT:
            return self._verdict(Result.TIMEOUT, "the time limit came before an answer; raise it")
        if self._stopped is not None:
            return self._verdict(Result.UNKNOWN, "stopped by the user before an answer")
        return self._verdict(
            Result.UNSAT, "the property holds: no input satisfies its condition", unsafe=() if everything else None
        )

    def _require_vertices(self) -> None:
        """The unsafe set is made of cells with vertices."""
        for case in self._prop.cases:
            if case.domain.dim:
                choice = choose(Request(self._network, case.domain.frame, self._engine), self._deadline)
                if Ability.VERTICES not in choice.engine.abilities:
                    raise AffineLensError(
                        f"all unsafe inputs can be found by the vertex engine only, and here it is {choice.name}: "
                        f"{choice.reason}; ask for the verdict alone"
                    )

    def _first_witness(self) -> Witness | None:
        """A witness, or None; then either there is none or the run was stopped."""
        questions = [_Question(self, number, case) for number, case in enumerate(self._prop.cases)]
        for question in questions:
            witness = question.found_quickly()
            if witness is not None:
                return witness
        for question in questions:
            witness = question.walked()
            if witness is not None or self._stopped is not None:
                return witness
        return None

    def _unsafe_parts(self) -> Iterator[UnsafePart]:
        for number, case in enumerate(self._prop.cases):
            part = _Question(self, number, case).unsafe_part()
            if part is not None:
                yield part

    def judge(self, number: int, case: Case) -> Judge:
        return Judge(self._network, case, number, self._check, self._deadline)

    @property
    def network(self) -> Network:
        return self._network

    @property
    def deadline(self) -> Deadline:
        return self._deadline

    def walk(
        self, network: Network, case: Case, clauses: Clauses, *, most: int | None = None, vertices: bool = False
    ) -> Outcome | None:
        """Walk the regions that may be wanted; None if bounds prove that there are none.

        An engine that cannot keep to a condition finds all regions.
        """
        self._deadline.check()
        frame = case.domain.frame
        request = Request(network, frame, self._engine, facets=True, vertices=vertices, progress=self._progress)
        choice = choose(request, self._deadline)
        restricted = choice.restricted if choice.restricted is not None else restrict(network, frame, self._deadline)
        if not restricted.open_clauses(clauses):
            return None
        self._deadline.check()
        limits = replace(self._limits, time_limit=self._deadline.left)
        if Ability.CONDITION in choice.engine.abilities:
            request, limits = replace(request, condition=clauses), replace(limits, max_regions=most)
        self._engines[choice.name] = None
        outcome = run(replace(request, limits=limits), choice)
        self._note(outcome)
        return outcome

    def _note(self, outcome: Outcome) -> None:
        self._regions += outcome.layer_counts[-2] if len(outcome.layer_counts) > 1 else 1
        self._certificate += outcome.certificate
        if outcome.status in (Status.TIME_LIMIT, Status.CANCELLED):
            self._stopped = outcome.status

    def _verdict(
        self, result: Result, reason: str, witness: Witness | None = None, unsafe: tuple[UnsafePart, ...] | None = None
    ) -> Verdict:
        return Verdict(
            result, reason, time.monotonic() - self._started, self._regions, tuple(self._engines), self._certificate,
            witness, unsafe, (*map(str, self._network.notes), *self._prop.notes),
        )  # fmt: skip


class _Question:
    """One case of the property."""

    def __init__(self, run: _Verification, number: int, case: Case) -> None:
        self._run = run
        self._number = number
        self._case = case
        self._judge = run.judge(number, case)

    @property
    def _is_open(self) -> bool:
        """Whether the condition can hold at all, on more than one point."""
        return bool(self._case.condition) and not isinstance(self._case.domain, Point)

    def found_quickly(self) -> Witness | None:
        """A witness from evaluating the network at some points."""
        domain = self._case.domain
        if isinstance(domain, Point):
            witness = self._judge.at_input(domain.exact)
            return None if witness is None else self._judge.checked(witness)
        return self._judge.best(promising(self._run.network, self._case, self._run.deadline)) if self._is_open else None

    @property
    def _condition(self) -> Condition:
        """The condition, no conjunction of which is empty."""
        return [conjunction or (ALWAYS,) for conjunction in self._case.condition]

    def walked(self) -> Witness | None:
        """A witness from the cells on which the relaxed condition holds."""
        if not self._is_open:
            return None
        network, clauses = with_condition(self._run.network, self._condition, relaxed=True)
        most: int | None = _CELLS_AT_FIRST
        while True:
            outcome = self._run.walk(network, self._case, clauses, most=most)
            if outcome is None:
                return None
            cells = Cells(network, self._case.domain.frame, outcome, self._condition, clauses)
            for index in cells.candidates:
                self._run.deadline.check()
                witness = self._in_cell(cells, index)
                if witness is not None:
                    return witness
            if outcome.status is not Status.REGION_LIMIT:
                return None
            most = most * _CELLS_FACTOR if most is not None and most < _CELLS_FACTOR**3 else None

    def _in_cell(self, cells: Cells, index: int) -> Witness | None:
        """A witness in a cell: its middle if floats agree there, or else the deepest point."""
        middle = self._judge.best([cells.point(index)])
        if middle is not None and middle.agreement:
            return middle
        deepest = cells.deepest_point(index)
        found = None if deepest is None else self._judge.best([deepest])
        return found if found is not None and (middle is None or found.agreement) else middle

    def unsafe_part(self) -> UnsafePart | None:
        """All cells on which the condition holds; None where it can only hold at single points."""
        if not self._is_open:
            return None
        network, clauses = with_condition(self._run.network, self._condition, relaxed=False)
        outcome = self._run.walk(network, self._case, clauses, vertices=True)
        if outcome is None:
            return None
        complete = outcome.status is Status.COMPLETE
        return unsafe_part(self._number, network, self._case.domain, outcome, clauses, is_complete=complete)


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
