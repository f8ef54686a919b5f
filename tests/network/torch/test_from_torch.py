"""A compiled module computes what the module computes, with the module's own numbers, and leaves the module alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

import affinelens as al  # noqa: E402
from affinelens.errors import AffineLensError  # noqa: E402
from affinelens.network import Network, network  # noqa: E402


class Function(nn.Module):
    """A module made of a function of (module, x), with a linear layer and buffers at hand."""

    def __init__(self, function: Any, width: int = 4, **buffers: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.function = function
        for name, values in buffers.items():
            self.register_buffer(name, values)

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def outputs(module: Any, points: Any) -> Any:
    """The module's outputs one input at a time, which is what a network describes."""
    with torch.no_grad():
        return torch.stack([module(point[None]).flatten() for point in points]).double().numpy()


def assert_same_function(module: Any, shape: tuple[int, ...], *, rtol: float = 1e-9) -> Network:
    """Compile the module in float64 and compare on random inputs."""
    module = module.double()
    net = network(module, input_shape=shape)
    points = torch.randn(40, *shape, dtype=torch.float64)
    np.testing.assert_allclose(net(points.numpy()), outputs(module.eval(), points), rtol=rtol, atol=1e-12)
    assert net.input_shape == shape
    return net


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.LeakyReLU(0.1))
        self.block = nn.Sequential(nn.Linear(5, 5), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(5, 5))
        self.act = nn.ReLU()
        self.out = nn.Linear(5, 2, bias=False)
        norm = self.first[1]
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        nn.init.uniform_(norm.weight)
        nn.init.uniform_(norm.bias)

    def forward(self, x: Any) -> Any:
        h = self.first(x)
        h = self.act(self.block(h) + h)
        return self.out(self.act(self.block(h) - h))


def test_plain_chain_keeps_the_parameters_bit_for_bit() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    net = network(module)
    for linear, layer in ((net.stages[0].linear, module[0]), (net.output, module[2])):
        assert np.array_equal(linear.sources[0][1].weight, layer.weight.detach().numpy().astype(np.float64))
        assert np.array_equal(linear.bias.weight[:, 0], layer.bias.detach().numpy().astype(np.float64))
    assert net.notes == ()
    assert net.input_shape == (3,)
    assert [stage.name for stage in net.stages] == ["1/relu"]


def test_nested_residual_module_with_batch_norm_and_reused_activation() -> None:
    net = assert_same_function(Residual(), (3,))
    assert [k for k, _ in net.stages[2].linear.sources] == [1, 2]
    assert len(net.stages) == 5
    assert any("batch norm" in note.text for note in net.notes)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: F.relu(m.layer(F.relu(m.layer(x)))),
        lambda m, x: F.leaky_relu(m.layer(x), 0.3) + x,
        lambda m, x: 1 - 2 * torch.relu(x - 0.25) / 3,
        lambda m, x: -torch.add(m.layer(x), x, alpha=0.7).reshape(-1).unsqueeze(0),
        lambda m, x: (m.layer.weight @ x.T).T.relu(),
        lambda m, x: torch.addmm(m.layer.bias, x, m.layer.weight.t(), beta=0.5, alpha=3).relu(),
        lambda m, x: (x.view(2, 2) @ m.square).relu().flatten() / m.scale,
        lambda m, x: (m.square @ x.view(1, 2, 2)).relu().transpose(1, 2),
        lambda m, x: F.relu(x) * m.scale + m.scale.expand(1, 4),
        lambda m, x: F.relu(x.unsqueeze(1).expand(1, 3, 4)).squeeze(),
        lambda m, x: m.layer(x) * m.scale[1].item(),
        lambda m, x: F.relu_(x),
        lambda m, x: m.scale * 2.0,
    ],
)
def test_functional_code(function: Any) -> None:
    scale = torch.tensor([0.5, -1.25, 3.0, 7.0])
    assert_same_function(Function(function, scale=scale, square=torch.randn(2, 2)), (4,))


def test_in_place_change_of_a_view_changes_the_base() -> None:
    def function(module: Any, x: Any) -> Any:
        h = module.layer(x)
        v = h.view(2, 4)
        F.relu_(v)
        return h + 1

    net = assert_same_function(Function(function, width=8), (8,))
    assert net.units == 8


def test_prelu_with_one_slope_and_with_one_per_channel() -> None:
    for slopes, shape in ((1, (4,)), (4, (4,)), (4, (4, 3))):
        prelu = nn.PReLU(slopes)
        nn.init.uniform_(prelu.weight, -1, 2)
        assert_same_function(prelu, shape)


def test_batch_norm_over_channels_and_without_gain() -> None:
    norm = nn.BatchNorm1d(3, affine=False)
    norm.running_var.uniform_(0.5, 2)
    assert_same_function(nn.Sequential(norm, nn.ReLU()), (3, 4))


def test_numbers_in_the_code_are_those_the_framework_computes_with() -> None:
    for dtype, value in ((torch.float32, np.float32(0.1)), (torch.float64, 0.1), (torch.bfloat16, np.float32(0.1))):
        net = network(nn.Sequential(nn.Linear(2, 2), nn.LeakyReLU(0.1)).to(dtype))
        assert net.stages[0].activation.slopes[0, 0] == float(value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_short_float_parameters_are_taken_exactly(dtype: Any) -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).to(dtype)
    net = network(module)
    assert np.array_equal(net.stages[0].linear.sources[0][1].weight, module[0].weight.detach().double().numpy())


def test_exact_value_of_a_residual_network() -> None:
    module = nn.Sequential(nn.Linear(2, 2))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x: Any) -> Any:
            return F.relu(self.inner(x)) + x * 0.1

    x = [Fraction(1, 3), Fraction(-2, 7)]
    weight = [[Fraction(v) for v in row] for row in module[0].weight.double().tolist()]
    bias = [Fraction(v) for v in module[0].bias.double().tolist()]
    tenth = Fraction(float(np.float32(0.1)))
    by_hand = [
        max(Fraction(0), sum((w * v for w, v in zip(row, x, strict=True)), b)) + tenth * v
        for row, b, v in zip(weight, bias, x, strict=True)
    ]
    assert network(Net(), input_shape=(2,)).evaluate_exact(x) == by_hand


def test_division_is_exact() -> None:
    net = network(Function(lambda m, x: x / m.by, by=torch.tensor([3.0, -0.7, 3.0, 1e-30])), input_shape=(4,))
    by = [Fraction(float(v)) for v in np.array([3.0, -0.7, 3.0, 1e-30], dtype=np.float32)]
    assert net.evaluate_exact([1.0, 2.0, 3.0, 4.0]) == [Fraction(n) / d for n, d in zip((1, 2, 3, 4), by, strict=True)]


def test_constants_combined_by_the_model_are_noted() -> None:
    module = Function(lambda m, x: F.linear(x, m.layer.weight * 0.1))
    net = network(module, input_shape=(4,))
    with torch.no_grad():
        expected = (module.layer.weight * 0.1).double().numpy()
    assert np.array_equal(net.output.sources[0][1].weight, expected)
    assert len(net.notes) == 1
    assert "aten.mul" in net.notes[0].text


def test_the_module_is_left_as_it_was() -> None:
    module = Residual().train()
    module.block.eval()
    module.first[0].weight.requires_grad_(False)
    flags = [part.training for part in module.modules()]
    gradients = [parameter.requires_grad for parameter in module.parameters()]
    state = {name: values.clone() for name, values in module.state_dict().items()}
    in_training = network(module)
    assert [part.training for part in module.modules()] == flags
    assert [parameter.requires_grad for parameter in module.parameters()] == gradients
    assert all(torch.equal(values, state[name]) for name, values in module.state_dict().items())
    assert torch.is_grad_enabled()
    assert in_training.digest == network(module.eval()).digest


def test_flags_are_restored_when_tracing_fails() -> None:
    module = Function(lambda m, x: x if x.sum() > 0 else -x).train()
    with pytest.raises(AffineLensError, match="data-dependent"):
        network(module, input_shape=(4,))
    assert all(part.training for part in module.modules())


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Linear(2, 2)),
            ["1/sigmoid", "aten.sigmoid", "until='linear'"],
        ),
        (
            nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=1), nn.Linear(2, 2)),
            ["1/softmax", "aten.softmax", "until='linear'"],
        ),
        (Function(lambda m, x: x * x, width=2), ["mul", "must be a constant"]),
        (Function(lambda m, x: x @ x.T, width=2), ["matmul", "must be a constant"]),
        (Function(lambda m, x: x + torch.rand(2), width=2), ["aten.rand", "random"]),
        (Function(lambda m, x: x.long().float(), width=2), ["_to_copy", "torch.int64"]),
        (Function(lambda m, x: x / m.by, width=2, by=torch.zeros(2)), ["aten.div", "contains 0"]),
        (Function(lambda m, x: (x, x), width=2), ["returns '0' (x), '1' (x)", "one tensor"]),
        (Function(lambda m, x: 3.0, width=2), ["returns 3.0", "one tensor"]),
        (Function(lambda m, x: x + m.by.add_(1), width=2, by=torch.zeros(2)), ["buffer by", "function"]),
        (Function(lambda m, x: x * m.by, width=2, by=torch.ones(2) * 1j), ["by", "complex64", "real"]),
        (Function(lambda m, x: x * m.by, width=2, by=torch.tensor([1.0, float("nan")])), ["by contains NaN"]),
        (Function(lambda m, x: m.layer(x), width=3), ["(1, 2)", "input_shape="]),
        (nn.LazyLinear(2), ["weight has no values yet"]),
    ],
)
def test_refusals_name_what_was_found(module: Any, words: list[str], capfd: Any) -> None:
    with pytest.raises(AffineLensError) as caught:
        network(module, input_shape=(2,))
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("shape", [(), (0,), (2, -1), (1.5,), 3])
def test_impossible_input_shapes_are_refused(shape: Any) -> None:
    with pytest.raises(AffineLensError, match="is not a shape"):
        network(nn.Linear(2, 2), input_shape=shape)


def test_input_shape_is_inferred_only_from_a_leading_linear_layer() -> None:
    assert network(nn.Sequential(nn.Flatten(), nn.Linear(6, 2))).input_shape == (6,)
    with pytest.raises(AffineLensError, match=r"0 \(BatchNorm1d\).*input_shape="):
        network(nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2)))
    with pytest.raises(AffineLensError, match="input_shape="):
        network(nn.ReLU())


def test_a_refusal_shows_no_frames_of_the_inside() -> None:
    """A traceback ends in the sentence, without the errors that led to it."""
    curved = nn.Sequential(nn.Linear(2, 3), nn.GELU())
    with pytest.raises(AffineLensError, match="not piecewise affine") as caught:
        al.count(curved, al.Box(-1, 1, dim=2))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_module_takes_inputs_in_the_shape_of_a_slice() -> None:
    torch.manual_seed(0)
    body = [nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 16, 3)]
    images = np.random.default_rng(0).normal(size=(3, 1, 6, 6))
    plane = al.Slice.through(*images)
    convolution, flat = nn.Sequential(*body), nn.Sequential(nn.Linear(36, 4), nn.ReLU(), nn.Linear(4, 2))
    assert al.count(convolution, plane) == al.count(network(convolution, input_shape=(1, 6, 6)), plane) > 1
    assert al.count(flat, plane) == al.count(network(flat), plane)


def test_an_exported_program_is_taken_as_it_is() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 3)

        def forward(self, x: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
            return nn.functional.softshrink(self.inner(x) + shift, 0.3)

    module = Two()
    program = torch.export.export(module, (torch.zeros(1, 2), torch.zeros(1, 3)))
    before = str(program.graph)
    net = network(program, fixed={"shift": [[1.0, 2.0, 3.0]]})
    same = network(module, fixed={"shift": [[1.0, 2.0, 3.0]]})
    assert (net.digest, str(program.graph)) == (same.digest, before)
    assert network(program, until="inner", fixed={"shift": [[0.0] * 3]}).stages == ()
    with pytest.raises(AffineLensError, match=r"inputs are 'x', 'shift'"):
        network(program)
    with pytest.raises(AffineLensError, match=r"input_shape=\(3,\) is not what the program was exported for, \(2,\)"):
        network(program, input_shape=(3,), fixed={"shift": [[0.0] * 3]})


def test_a_program_exported_for_a_batch_is_refused() -> None:
    open_batch = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)}
    for options in ({}, open_batch):
        program = torch.export.export(nn.Linear(2, 3), (torch.zeros(4, 2),), **options)
        with pytest.raises(AffineLensError, match=r"exported for an input of shape \(.*, 2\); export it for one input"):
            network(program)


def test_a_guessed_shape_that_is_refused_is_asked_for() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    with pytest.raises(al.AffineLensError, match=r"does not take a row of 16 numbers .*; pass input_shape=") as caught:
        al.count(module, al.Box(0, 1, dim=16))
    assert caught.value.__suppress_context__
    assert al.network(module, input_shape=(1, 4, 4)).input_size == 16
