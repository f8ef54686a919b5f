"""The networks that are trained: what they compute, and how they start."""

from __future__ import annotations

import pytest
import torch

import affinelens as al
from affinelens.study.architectures import mlp, residual_network
from affinelens.study.setup import Setup


def test_sizes_and_activations_of_an_mlp() -> None:
    assert repr(al.network(mlp((3, 7, 5, 2), Setup()))) == "Network(3-7-5-2, 12 units in 2 stages)"


def test_a_skip_adds_the_input_of_a_block() -> None:
    torch.manual_seed(0)
    with_skips = residual_network(2, 4, 1, Setup(), skips=True).eval()
    without = residual_network(2, 4, 1, Setup(), skips=False).eval()
    without.load_state_dict(with_skips.state_dict())
    x = torch.randn(10, 2)
    entering, block = with_skips[:4](x), with_skips[4]
    torch.testing.assert_close(block(entering), torch.relu(block.inner(entering) + entering))
    torch.testing.assert_close(without[4](entering), torch.relu(block.inner(entering)))


def test_without_a_norm_there_is_none() -> None:
    parts = [type(part) for part in residual_network(2, 4, 2, Setup(), skips=True, norm="none").modules()]
    assert torch.nn.BatchNorm1d not in parts
    assert torch.nn.BatchNorm1d in [type(part) for part in residual_network(2, 4, 2, Setup(), skips=True).modules()]


@pytest.mark.parametrize(("weights", "bound"), [("torch", (1 / 50) ** 0.5), ("kaiming", (6 / 50) ** 0.5)])
def test_weights_start_within_their_bounds(weights: str, bound: float) -> None:
    torch.manual_seed(0)
    layer = mlp((50, 40, 2), Setup(weights=weights, biases="zero"))[0]
    assert 0.95 * bound < layer.weight.abs().max().item() <= bound
    assert not layer.bias.any()


def test_the_number_format_is_the_one_asked_for() -> None:
    kinds = {p.dtype for p in residual_network(2, 4, 1, Setup(number_format="float64"), skips=True).parameters()}
    assert kinds == {torch.float64}


def test_the_slope_below_zero() -> None:
    model = mlp((1, 3, 1), Setup(), 0.25)
    assert model[1].negative_slope == 0.25
    assert isinstance(mlp((1, 3, 1), Setup())[1], torch.nn.ReLU)
