"""What a network's outputs decide, as one more stage of the network: the cells of that stage each have one class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, isfinite, log, log1p
from numbers import Integral, Real
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network import Activation, AffineSum, MaxGroups, Network, PiecewiseLinear, Stage
from affinelens.network.composed_maps import chain
from affinelens.network.linear_map import Select
from affinelens.network.note import NoteKind


@dataclass(frozen=True)
class Decision:
    """The class is the number of the largest output (of equal ones the first), unless one ``output`` is named.

    Then it is 1 where that output is above the threshold and 0 elsewhere.
    """

    output: int | None = None
    threshold: float = 0.0

    @classmethod
    def of(cls, network: Network, output: Any, threshold: Any) -> Decision:
        """The decision that a user asks for; of a network with one output that output is named."""
        size = network.output_size
        if output is not None and (
            isinstance(output, bool) or not isinstance(output, Integral) or not 0 <= int(output) < size
        ):
            raise AffineLensError(
                f"output must be the number of one of the network's outputs, 0 to {size - 1}, but got {output!r}"
            )
        if threshold is not None and (
            isinstance(threshold, bool) or not isinstance(threshold, Real) or not isfinite(float(threshold))
        ):
            raise AffineLensError(f"threshold must be a finite number, but got {threshold!r}")
        if output is None and size > 1:
            if threshold is not None:
                raise AffineLensError(
                    f"a threshold is for one output, but the network has {size}; name one with output="
                )
            return cls()
        return cls(int(output or 0), 0.0 if threshold is None else _on_output(network, float(threshold)))

    def classes(self, network: Network) -> int:
        """How many classes there are."""
        return network.output_size if self.output is None else 2

    def added_to(self, network: Network) -> Network:
        """The network with a last stage that makes a single choice: the class."""
        functions, activation = network.output, self._activation(network)
        if self.output is not None:
            functions = _picked(functions, self.output)
        return replace(network, stages=(*network.stages, Stage("class", functions, activation)))

    def _activation(self, network: Network) -> Activation:
        if self.output is None:
            return MaxGroups(np.array([0, network.output_size]))
        return PiecewiseLinear.of(1, [self.threshold], [0.0, 1.0], [self.threshold, 0.0])


def _picked(functions: AffineSum, index: int) -> AffineSum:
    """One entry of an affine sum."""
    pick = Select(np.array([index]), functions.size)
    sources = tuple((k, chain(part, pick)) for k, part in functions.sources)
    return AffineSum(1, sources, None if functions.bias is None else chain(functions.bias, pick))


def _on_output(network: Network, threshold: float) -> float:
    """A threshold of the model's own output as one of the network's, which may lack the model's last operator.

    Behind a sigmoid or tanh it is taken back, with one rounding to float64; 0.5 of a probability is exactly 0.
    """
    cut = next((note for note in network.notes if note.kind.is_cut_off), None)
    if cut is None:
        return threshold
    if cut.kind is NoteKind.SIGMOID_CUT_OFF and 0 < threshold < 1:
        return log(threshold) - log1p(-threshold)
    if cut.kind is NoteKind.TANH_CUT_OFF and -1 < threshold < 1:
        return atanh(threshold)
    values = {NoteKind.SIGMOID_CUT_OFF: "lie between 0 and 1", NoteKind.TANH_CUT_OFF: "lie between -1 and 1"}
    raise AffineLensError(
        f"a threshold of {threshold:g} cannot be taken behind the model's last operator, {cut.place}, whose values "
        f"{values.get(cut.kind, 'depend on all outputs')}; give one of its values, or cut the model before it"
    )
