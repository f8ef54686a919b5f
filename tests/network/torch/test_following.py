"""A module that is trained is exported once, and its networks are those of compiling it in full."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import affinelens as al
from affinelens.network.torch.following import ModuleFollower

SLOPE = [0.1]


class Residual(nn.Module):
    """Batch norm, a skip, a non-persistent buffer, a plain tensor attribute, and a slope from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner, self.last = nn.Linear(2, 5), nn.Linear(5, 5), nn.Linear(5, 2)
        self.norm = nn.BatchNorm1d(5)
        self.register_buffer("shift", torch.tensor([0.5]), persistent=False)
        self.factor = torch.tensor([2.0])
        self.power = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x)) + self.shift
        x = x * self.factor + nn.functional.leaky_relu(self.norm(self.inner(x)), SLOPE[0])
        for _ in range(self.power):
            x = torch.relu(self.inner(x))
        return self.last(x)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 6), nn.PReLU(), nn.Linear(6, 2))


def convolutional() -> nn.Module:
    layers = [nn.Unflatten(1, (1, 2, 1)), nn.Conv2d(1, 3, (2, 1)), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(3, 2))


def weight_normed() -> nn.Module:
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 4)), nn.ReLU(), nn.Linear(4, 1))


def tied() -> nn.Module:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Linear(2, 1))


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one at every export."""
    found: list[object] = []
    export = torch.export.export

    def counted(module: nn.Module, *example: object) -> object:
        found.append(module)
        return export(module, *example)

    monkeypatch.setattr(torch.export, "export", counted)
    return found


def train_a_little(module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    module.train()
    for _ in range(3):
        x = torch.rand(16, 2)
        optimizer.zero_grad()
        module(x).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("make", [Residual, mlp, convolutional, weight_normed, tied])
def test_networks_are_those_of_a_full_compile(make: Callable[[], nn.Module], exports: list[object]) -> None:
    torch.manual_seed(0)
    module = make()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    follower = ModuleFollower(inputs=2)
    digests = set()
    for _ in range(2):
        train_a_little(module, optimizer)
        digests.add(follower.network(module).digest)
        followed = len(exports)
        full = al.network(module, input_shape=(2,))
        del exports[followed:]
        again = follower.network(module)
        assert again.digest == full.digest
        assert again.notes == full.notes
    assert len(digests) == 2
    assert len(exports) == 1


def replace_parameter(module: Residual) -> None:
    module.last.weight = nn.Parameter(torch.ones(2, 5))


def change_buffer(module: Residual) -> None:
    module.shift = torch.tensor([3.0])


CHANGES: dict[str, tuple[Callable[[Residual], object], bool]] = {
    "another parameter object": (replace_parameter, False),
    "a buffer": (change_buffer, False),
    "a plain tensor": (lambda module: module.factor.fill_(-3.0), True),
    "an attribute": (lambda module: setattr(module, "power", 2), True),
    "a global variable": (lambda module: SLOPE.__setitem__(0, 0.25), True),
    "epsilon": (lambda module: setattr(module.norm, "eps", 0.5), True),
    "a hook": (lambda module: module.inner.register_forward_hook(lambda _, __, result: -result), True),
    "the numbers' type": (lambda module: module.double(), True),
    "a wider layer": (lambda module: setattr(module, "last", nn.Linear(5, 3)), True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changes_is_seen(name: str, exports: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SLOPE", [0.1])
    torch.manual_seed(0)
    module, follower = Residual(), ModuleFollower()
    before = follower.network(module).digest
    change, exported_again = CHANGES[name]
    change(module)
    after = follower.network(module)
    assert len(exports) == (2 if exported_again else 1)
    assert after.digest == al.network(module).digest != before


def test_untying_weights_is_seen() -> None:
    torch.manual_seed(0)
    module, follower = tied(), ModuleFollower()
    follower.network(module)
    module[2].weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert follower.network(module).digest == al.network(module).digest


class OnlyExported(nn.Module):
    """Runs nowhere but in the exporter."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_exporting():
            raise RuntimeError("not here")
        return torch.relu(self.linear(x))


def test_a_module_that_cannot_be_traced_is_compiled_in_full(exports: list[object]) -> None:
    module, follower = OnlyExported(), ModuleFollower()
    for _ in range(2):
        assert follower.network(module).units == 2
    assert len(exports) == 2


def test_the_module_and_the_random_state_are_left_alone(exports: list[object]) -> None:
    torch.manual_seed(0)
    module = Residual()
    module(torch.rand(4, 2)).sum().backward()
    module.norm.eval()
    follower = ModuleFollower()
    numbers = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    gradients = {name: parameter.grad for name, parameter in module.named_parameters()}
    values = {name: None if grad is None else grad.clone() for name, grad in gradients.items()}
    state = torch.get_rng_state()
    for _ in range(3):
        follower.network(module)
    assert torch.equal(torch.get_rng_state(), state)
    assert [part.training for part in module.modules()] == [True, True, True, True, False]
    assert all(torch.equal(tensor, numbers[name]) for name, tensor in module.state_dict().items())
    for name, parameter in module.named_parameters():
        assert parameter.requires_grad
        assert parameter.grad is gradients[name]
        expected = values[name]
        assert expected is None or torch.equal(gradients[name], expected)
    assert len(exports) == 1
