"""Networks trained as a stack are those that are trained one by one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
import torch

from affinelens.study.architectures import mlp, residual_network
from affinelens.study.data.samples import two_moons
from affinelens.study.setup import Setup
from affinelens.study.stacking import Stack
from affinelens.study.training import train

SETUP = Setup(epochs=(1, 4), number_format="float64", learning_rate=1e-2)
BUILDERS = {
    "relu": partial(mlp, (2, 5, 4, 2), SETUP),
    "leaky": partial(mlp, (2, 6, 2), SETUP, 0.1),
    "residual": partial(residual_network, 2, 4, 2, SETUP, skips=True),
    "plain blocks": partial(residual_network, 2, 4, 2, SETUP, skips=False, norm="none"),
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def trained(builder, seeds):
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(builder())
    samples = [two_moons(seed, 45, 0.2) for seed in seeds]
    milestones = list(train(models, samples, seeds, SETUP, lambda: None))
    return models, milestones


@pytest.mark.parametrize("name", BUILDERS)
def test_a_stack_trains_each_network_as_alone(name: str) -> None:
    models, milestones = trained(BUILDERS[name], (0, 1, 2))
    for seed, model in enumerate(models):
        [alone], own = trained(BUILDERS[name], (seed,))
        for key, value in alone.state_dict().items():
            torch.testing.assert_close(model.state_dict()[key], value, rtol=1e-6, atol=1e-8)
        for together, [separate] in zip(milestones, own, strict=True):
            assert together[seed].epoch == separate.epoch
            assert together[seed].accuracy == separate.accuracy
            assert together[seed].loss == pytest.approx(separate.loss, rel=1e-8)


def test_training_changes_the_networks() -> None:
    torch.manual_seed(0)
    before = BUILDERS["relu"]().state_dict()
    [after, _], _ = trained(BUILDERS["relu"], (0, 1))
    assert all(not torch.equal(before[name], value) for name, value in after.state_dict().items())


def test_other_modules_are_not_stacked() -> None:
    with pytest.raises(TypeError, match="Conv1d"):
        Stack([torch.nn.Sequential(torch.nn.Conv1d(1, 1, 1)) for _ in range(2)])
