"""Functions summed up one from another, while the pattern changes, against those carried back to the input."""

from __future__ import annotations

import numpy as np
import pytest

from affinelens import Network
from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.proportional_rows import direction
from affinelens.network.adjoint import Adjoint
from affinelens.network.affine_functions import AffineFunctions, NetworkTerms
from support.random_networks import dense_network, pooled_network


def _network(seed: int) -> tuple[Network, np.random.Generator]:
    generator = np.random.default_rng(seed)
    return pooled_network(generator, bias=True) if seed % 4 == 0 else dense_network(generator, 3), generator


def _assert_same_rows(
    functions: AffineFunctions, adjoint: Adjoint, network: Network, pattern: np.ndarray, breaks: np.ndarray
) -> None:
    for number in breaks.tolist():
        stage = int(np.searchsorted(network.break_offsets, number, side="right")) - 1
        index = number - network.break_offsets[stage]
        expected = [int(n) for n in adjoint.break_row(stage, index, pattern)]
        assert direction(functions.break_row(stage, index)) == direction(expected)


@pytest.mark.parametrize("seed", range(12))
def test_functions_follow_the_pattern(seed: int) -> None:
    """Patterns need not have a region: each of them makes every unit an affine function."""
    network, generator = _network(seed)
    inputs = network.input_size
    chart = ExactMatrix.from_floats(np.round(generator.normal(size=(inputs, 3)), 2))
    pieces = np.concatenate([
        np.diff(stage.activation.starts) if hasattr(stage.activation, "starts") else
        np.isfinite(stage.activation.breakpoints).sum(axis=1) + 1
        for stage in network.stages
    ])  # fmt: skip
    pattern = generator.integers(0, pieces)
    functions, adjoint = AffineFunctions(NetworkTerms(network, chart), pattern.tolist()), Adjoint(network, chart)
    for _ in range(6):
        breaks = generator.permutation(network.break_offsets[-1])[:12]
        _assert_same_rows(functions, adjoint, network, pattern, breaks)
        changed = generator.choice(len(pattern), size=min(len(pattern), 3), replace=False)
        pattern[changed] = generator.integers(0, pieces[changed])
        functions.change(zip(changed.tolist(), pattern[changed].tolist(), strict=True))


def test_walks_that_share_terms_have_patterns_of_their_own() -> None:
    network, _ = _network(1)
    chart = ExactMatrix.from_floats(np.eye(3, 4))
    terms = NetworkTerms(network, chart)
    adjoint = Adjoint(network, chart)
    choices = network.choice_offsets[-1]
    first, second = AffineFunctions(terms, [0] * choices), AffineFunctions(terms, [1] * choices)
    breaks = np.arange(network.break_offsets[-1])
    for _ in range(2):
        _assert_same_rows(first, adjoint, network, np.zeros(choices, dtype=np.int64), breaks)
        _assert_same_rows(second, adjoint, network, np.ones(choices, dtype=np.int64), breaks)
        first.change((choice, 1) for choice in range(choices))
        first.change((choice, 0) for choice in range(choices))
