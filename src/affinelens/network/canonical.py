"""The canonical network: stages of *linear map, then activation*, and a final linear map.

Stage l computes ``z_l = sum_{k<l} A_{l,k} x_k + b_l`` and ``x_l = phi_l(z_l)``, where x_0 is the input (paper, Eqs.
1-3, with several sources so that a residual connection is one more term). The coefficients are the model's own
numbers; everything computed from them here is available in float64 with error bounds and in exact rationals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats, Pattern
from affinelens.deadline import NEVER, Deadline
from affinelens.errors import AffineLensError
from affinelens.network.activation import Activation
from affinelens.network.enclosure import Enclosure
from affinelens.network.note import Note, NoteKind
from affinelens.network.piecewise_linear import PiecewiseLinear
from affinelens.network.stage import AffineSum, Stage

__all__ = ["AffineSum", "Network", "Stage", "input_chart"]

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Network:
    """A piecewise affine network in canonical form: stages of units that are decided together, and a last affine map.

    Build one with :func:`affinelens.network`, or from stages by hand. Called with inputs, it evaluates them. A
    *pattern* says which piece each unit is on, stages in order; where it holds, the network is one affine function.
    The *breaks* of a unit are the hyperplanes between its pieces, numbered over all stages.

    Attributes
    ----------
    input_shape : tuple of int
        Shape of one input, without a batch axis.
    stages : tuple of Stage
        Their affine maps and activations.
    output : AffineSum
        The affine map behind the last stage.
    notes : tuple of Note
        What compiling changed, if anything: a kind, a text and a place each; ``str(note)`` is the sentence.
    output_shape : tuple of int
        The output's shape in the model; for display only.

    Examples
    --------
    >>> import affinelens as al
    >>> net = al.network([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5]), ([[1.0, 1.0]], [0.0])])
    >>> net
    Network(2-2-1, 2 units in 1 stage)
    >>> net([0.5, 0.25]), net([[0.5, 0.25], [-1.0, -1.0]])
    (array([1.25]), array([[1.25],
           [0.  ]]))
    """

    input_shape: tuple[int, ...]
    stages: tuple[Stage, ...]
    output: AffineSum
    notes: tuple[Note, ...] = field(default=())
    output_shape: tuple[int, ...] = ()

    @property
    def input_size(self) -> int:
        """How many numbers an input has."""
        return prod(self.input_shape)

    @property
    def output_size(self) -> int:
        """How many numbers an output has."""
        return self.output.size

    @property
    def units(self) -> int:
        """Number of units, over all stages."""
        return sum(stage.activation.size_in for stage in self.stages)

    @property
    def products(self) -> int:
        """How many numbers are multiplied to evaluate all units at a point, at most."""
        return sum(part.products for stage in self.stages for _, part in stage.linear.sources)

    @cached_property
    def choice_offsets(self) -> tuple[int, ...]:
        """Stage l's part of a pattern is ``pattern[choice_offsets[l]:choice_offsets[l + 1]]``."""
        return tuple(np.cumsum([0, *(s.activation.choices for s in self.stages)]).tolist())

    @cached_property
    def break_offsets(self) -> tuple[int, ...]:
        """Stage l's hyperplanes are numbered ``break_offsets[l] .. break_offsets[l + 1]``."""
        return tuple(np.cumsum([0, *(len(s.activation.breaks) for s in self.stages)]).tolist())

    @cached_property
    def choice_pieces(self) -> NDArray[np.int64]:
        """For every entry of a pattern the number of pieces its stage has at most: int64 of shape (choices,)."""
        activations = [stage.activation for stage in self.stages]
        return np.repeat([a.pieces for a in activations], [a.choices for a in activations]).astype(np.int64)

    @property
    def pattern_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """Smallest type that holds a pattern: uint8, or uint16 where a unit has more than 256 pieces."""
        small = all(stage.activation.pieces <= 256 for stage in self.stages)
        return np.dtype(np.uint8) if small else np.dtype(np.uint16)

    def stage_pattern(self, pattern: Pattern, stage: int) -> Pattern:
        """The part of a pattern that belongs to one stage.

        Parameters
        ----------
        pattern
            The pieces of all choices: integers of shape (choices,) or (choices, patterns).
        stage
            Its number, from 0.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> network = al.network([([[1.0]], [0.0]), ([[1.0], [2.0]], [0.0, 1.0]), ([[1.0, 1.0]], [0.0])])
        >>> network.stage_pattern(np.array([1, 0, 1]), 1)
        array([0, 1])
        """
        return pattern[self.choice_offsets[stage] : self.choice_offsets[stage + 1]]

    def __call__(self, inputs: ArrayLike) -> Floats:
        """Evaluate in float64.

        Parameters
        ----------
        inputs
            One input, flat or of shape ``input_shape``, or several stacked along the first axis.

        Returns
        -------
        numpy.ndarray
            float64 of shape (outputs,), or (inputs, outputs) of several.

        Examples
        --------
        >>> import affinelens as al
        >>> al.network([([[1.0]], [0.5]), ([[1.0]], [0.0])])([[1.0], [-1.0]])
        array([[1.5],
               [0. ]])
        """
        array = np.asarray(inputs, dtype=np.float64)
        columns, single = self._as_columns(array)
        values = [columns]
        for stage in self.stages:
            values.append(stage.activation.apply(stage.linear.apply(values)))
        outputs = self.output.apply(values).T
        return outputs[0] if single else outputs

    def _as_columns(self, array: Floats) -> tuple[Floats, bool]:
        size = self.input_size
        if array.size == size and array.shape in ((size,), self.input_shape):
            return array.reshape(size, 1), True
        if array.ndim >= 1 and array.size == len(array) * size:
            return array.reshape(len(array), size).T, False
        raise AffineLensError(f"the network takes inputs of {size} numbers, but got an array of shape {array.shape}")

    def evaluate_exact(self, inputs: Sequence[float | Fraction], deadline: Deadline = NEVER) -> list[Fraction]:
        """Evaluate one input in rational arithmetic.

        Parameters
        ----------
        inputs
            One number an input; floats stand for their exact values.
        deadline
            When to give up, looked at between stages.

        Returns
        -------
        list of fractions.Fraction
            One number an output.

        Examples
        --------
        >>> import affinelens as al
        >>> from fractions import Fraction
        >>> al.network([([[1.0]], [0.5]), ([[1.0]], [0.0])]).evaluate_exact([Fraction(1, 3)])
        [Fraction(5, 6)]
        """
        if len(inputs) != self.input_size:
            raise AffineLensError(f"the network takes {self.input_size} numbers, but got {len(inputs)}")
        one = ExactMatrix.from_floats(np.ones((1, 1)))
        values = [ExactMatrix.from_fractions([[Fraction(v)] for v in inputs])]
        for stage in self.stages:
            deadline.check()
            values.append(stage.activation.apply_exact(stage.linear.propagate_exact(values, one)))
        return [row[0] for row in self.output.propagate_exact(values, one).to_fractions()]

    def forms(self, chart: Enclosure, pattern: Pattern, depth: int | None = None) -> list[Enclosure]:
        """Pre-activations of stages 0 .. depth as affine functions of a chart's coordinates, where a pattern holds.

        Parameters
        ----------
        chart
            The inputs as affine functions of coordinates, or their values at points.
        pattern
            The pieces of all choices, of which those of earlier stages are read (paper, Eqs. 5-12).
        depth
            The number of stages unless given; the "pre-activation" of that one is the network's output.

        Returns
        -------
        list of Enclosure
            One a stage, with bounds on their rounding.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> from affinelens.network.enclosure import Enclosure
        >>> network = al.network([([[1.0]], [0.5]), ([[2.0]], [0.0])])
        >>> [form.rows for form in network.forms(Enclosure.values(np.array([[1.0]])), np.array([1]))]
        [array([[1.5]]), array([[3.]])]
        """
        return self._forms(
            chart, pattern, depth, AffineSum.propagate, lambda activation, form, pieces: activation.select(form, pieces)
        )

    def exact_forms(self, chart: ExactMatrix, pattern: Pattern, depth: int | None = None) -> list[ExactMatrix]:
        """As :meth:`forms`, in rational arithmetic from the model's own parameters.

        Parameters
        ----------
        chart
            The inputs as affine functions ``[W | b]`` of coordinates.
        pattern, depth
            As for :meth:`forms`.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> from affinelens.network.canonical import input_chart
        >>> network = al.network([([[1.0]], [0.5]), ([[2.0]], [0.0])])
        >>> network.exact_forms(input_chart(1), np.array([1]))[-1].to_floats()  # 2 x + 1
        array([[2., 1.]])
        """
        width = chart.shape[1]
        one = ExactMatrix.from_floats(np.eye(1, width, width - 1))
        return self._forms(
            chart,
            pattern,
            depth,
            lambda linear, sources: linear.propagate_exact(sources, one),
            lambda activation, form, pieces: activation.select_exact(form, pieces),
        )

    def _forms(
        self,
        chart: Value,
        pattern: Pattern,
        depth: int | None,
        added: Callable[[AffineSum, Sequence[Value]], Value],
        select: Callable[[Activation, Value, Pattern], Value],
    ) -> list[Value]:
        sources, found = [chart], []
        for index, stage in enumerate(self.stages[:depth]):
            found.append(added(stage.linear, sources))
            sources.append(select(stage.activation, found[-1], self.stage_pattern(pattern, index)))
        last = [*(stage.linear for stage in self.stages), self.output][len(found)]
        return [*found, added(last, sources)]

    def effective(self, pattern: Pattern, stage: int | None = None) -> tuple[Floats, Floats]:
        """Effective ``W_l, b_l`` of a stage's pre-activation where a pattern holds.

        Parameters
        ----------
        pattern
            The pieces of all choices: integers of shape (choices,), such as :attr:`Region.pattern`.
        stage
            Its number, from 0; the output unless given.

        Returns
        -------
        W : numpy.ndarray
            float64 of shape (units, inputs), correctly rounded from exact arithmetic.
        b : numpy.ndarray
            float64 of shape (units,), likewise.

        Examples
        --------
        >>> import affinelens as al
        >>> import numpy as np
        >>> al.network([([[1.0], [-1.0]], [0.0, 0.5]), ([[2.0, 1.0]], [0.0])]).effective(np.array([1, 0]))
        (array([[2.]]), array([0.]))
        """
        form = self.exact_forms(input_chart(self.input_size), pattern, stage)[-1].to_floats()
        return form[:, :-1], form[:, -1]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines the network's function and its patterns, in 64 hexadecimal digits."""
        digest = hashlib.sha256()
        parts: list[tuple[str, NDArray[np.generic]]] = [("input", np.array([self.input_size]))]
        for stage in self.stages:
            parts += [*stage.linear.parameters(), *stage.activation.parameters()]
        parts += self.output.parameters()
        for name, array in parts:
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def report(self) -> str:
        """What the network is and what compiling changed, in a few lines of text.

        Examples
        --------
        >>> import affinelens as al
        >>> print(al.network([([[1.0]], [0.5]), ([[1.0]], [0.0])]).report())
        Network(1-1-1, 1 units in 1 stage)
          stage 1 (layer 0): 1 units from input
          all coefficients are the model's own numbers; nothing was rounded
        """
        lines = [repr(self)]
        for index, stage in enumerate(self.stages, start=1):
            sources = ", ".join("input" if k == 0 else f"stage {k}" for k, _ in stage.linear.sources)
            lines.append(
                f"  stage {index} ({stage.name}): {stage.activation.size_in} units from {sources or 'constants'}"
            )
        lines += [f"  note: {note}" for note in self.notes]
        if not any(note.kind is NoteKind.ROUNDED for note in self.notes):
            lines.append("  all coefficients are the model's own numbers; nothing was rounded")
        return "\n".join(lines)

    def with_output_cut(self) -> Network:
        """The network whose regions are also cut where an output is zero (the paper's Algorithm 1 as printed).

        Examples
        --------
        >>> import affinelens as al
        >>> al.network([([[1.0]], [0.5]), ([[1.0]], [0.0])]).with_output_cut()
        Network(1-1-1-1, 2 units in 2 stages)
        """
        cut = Stage("output", self.output, PiecewiseLinear.relu(self.output_size), "cut at 0", self.output_shape)
        return replace(self, stages=(*self.stages, cut))

    def locate_break(self, index: int) -> tuple[int, int]:
        """The stage that a hyperplane belongs to, and its number there.

        Parameters
        ----------
        index
            Its number over all stages.

        Examples
        --------
        >>> import affinelens as al
        >>> network = al.network([([[1.0]], [0.0]), ([[1.0], [2.0]], [0.0, 1.0]), ([[1.0, 1.0]], [0.0])])
        >>> network.locate_break(2)
        (1, 1)
        """
        stage = int(np.searchsorted(self.break_offsets, index, side="right")) - 1
        return stage, index - self.break_offsets[stage]

    def describe_break(self, index: int) -> str:
        """Name of a hyperplane.

        Parameters
        ----------
        index
            Its number over all stages.

        Examples
        --------
        >>> import affinelens as al
        >>> al.network([([[1.0], [-1.0]], [0.0, 0.5]), ([[1.0, 1.0]], [0.0])]).describe_break(1)
        'stage 1, unit 1'
        """
        stage, inner = self.locate_break(index)
        return f"stage {stage + 1}, {self.stages[stage].activation.describe(inner)}"

    def __repr__(self) -> str:
        sizes = [self.input_size, *(s.activation.size_in for s in self.stages), self.output_size]
        stages = f"{len(self.stages)} stage{'' if len(self.stages) == 1 else 's'}"
        return f"Network({'-'.join(map(str, sizes))}, {self.units} units in {stages})"


def input_chart(size: int) -> ExactMatrix:
    """The identity chart: every input is a coordinate."""
    return ExactMatrix.from_floats(np.hstack([np.eye(size), np.zeros((size, 1))]))
