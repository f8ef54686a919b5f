"""Every torch operator that is read computes what torch computes, in float64 and exactly where that can be told."""

from __future__ import annotations

import traceback
from collections.abc import Callable
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
from affinelens.network.note import NoteKind  # noqa: E402

SHAPES = {1: (4, 9), 2: (4, 7, 6), 3: (2, 5, 4, 6)}


class Function(nn.Module):
    """A module made of a function of x."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class Functions(nn.Module):
    """Several functions of the same x, side by side: exporting takes longer than anything else here."""

    def __init__(self, functions: list[Callable[[Any], Any]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x: Any) -> Any:
        return torch.cat([function(x).flatten() for function in self.functions])


def assert_same_functions(functions: list[Callable[[Any], Any]], shape: tuple[int, ...]) -> Network:
    """As for one module; what a failure shows is the one function that is wrong."""
    with torch.no_grad():
        sizes = [function(torch.zeros(1, *shape)).numel() for function in functions]
    return assert_same_function(Functions(functions), shape, np.cumsum(sizes[:-1]).tolist())


def together(functions: list[Any]) -> Any:
    """Test cases of at most eight functions each."""
    return pytest.mark.parametrize("functions", [functions[k : k + 8] for k in range(0, len(functions), 8)])


def together_by_axes(functions: list[tuple[int, Any]]) -> Any:
    """Test cases of all functions of tensors with the same number of axes."""
    cases = [(axes, [function for count, function in functions if count == axes]) for axes in SHAPES]
    return pytest.mark.parametrize(("axes", "functions"), cases)


@pytest.fixture(autouse=True)
def _float64() -> Any:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def assert_same_function(module: Any, shape: tuple[int, ...], ends: list[int] | None = None) -> Network:
    """Compare in float64 at some points and exactly at the first, part by part where ``ends`` says so."""
    net = network(module, input_shape=shape)
    inputs = torch.randn(4, *shape) * 2
    with torch.no_grad():
        expected = np.stack([module(x[None]).flatten().numpy() for x in inputs])
    exact = np.array([float(y) for y in net.evaluate_exact(inputs[0].flatten().tolist())])
    found = np.concatenate([net(inputs.numpy()), exact[None]])
    expected = np.concatenate([expected, expected[:1]])
    assert found.shape == expected.shape
    parts = (np.split(values, ends or [], axis=1) for values in (found, expected))
    for number, (ours, theirs) in enumerate(zip(*parts, strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10, err_msg=f"function {number}")
    return net


CONVOLUTIONS = [
    (1, nn.Conv1d, {"kernel_size": 3}),
    (1, nn.Conv1d, {"kernel_size": 4, "stride": 3, "padding": 5, "dilation": 2, "groups": 2}),
    (2, nn.Conv2d, {"kernel_size": 3, "padding": 1, "bias": False}),
    (2, nn.Conv2d, {"kernel_size": (3, 2), "stride": (2, 3), "padding": (2, 0), "dilation": (1, 2), "groups": 4}),
    (2, nn.Conv2d, {"kernel_size": (2, 4), "padding": "same", "dilation": (3, 1)}),
    (2, nn.Conv2d, {"kernel_size": 3, "padding": "valid"}),
    (2, nn.Conv2d, {"kernel_size": 3, "padding": 2, "padding_mode": "circular"}),
    (2, nn.Conv2d, {"kernel_size": 3, "padding": 1, "padding_mode": "reflect"}),
    (2, nn.Conv2d, {"kernel_size": 1, "stride": 3}),
    (3, nn.Conv3d, {"kernel_size": (2, 3, 2), "stride": (1, 2, 2), "padding": (0, 1, 1), "groups": 2}),
    (1, nn.ConvTranspose1d, {"kernel_size": 3, "stride": 2, "output_padding": 1}),
    (2, nn.ConvTranspose2d, {"kernel_size": 4, "stride": 2, "padding": 1}),
    (2, nn.ConvTranspose2d, {"kernel_size": (2, 3), "stride": (3, 2), "padding": (1, 0), "output_padding": (2, 1),
                             "dilation": (2, 1), "groups": 2, "bias": False}),
    (3, nn.ConvTranspose3d, {"kernel_size": 2, "stride": (1, 2, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(("axes", "kind", "options"), CONVOLUTIONS)
def test_convolutions(axes: int, kind: Any, options: dict[str, Any]) -> None:
    shape = SHAPES[axes]
    net = assert_same_function(kind(shape[0], 4, **options), shape)
    assert net.notes == ()


POOLINGS = [
    (1, lambda x: F.max_pool1d(x, 3, stride=2, padding=1)),
    (2, lambda x: F.max_pool2d(x, 2)),
    (2, lambda x: F.max_pool2d(x, (3, 2), stride=(1, 2), padding=(1, 1), ceil_mode=True)),
    (2, lambda x: F.max_pool2d(x, 2, stride=3, dilation=2, ceil_mode=True)),
    (2, lambda x: F.max_pool2d(x, 2, return_indices=True)[0]),
    (2, lambda x: F.max_pool2d(x, 1, stride=2)),
    (3, lambda x: F.max_pool3d(x, 2, padding=1)),
    (1, lambda x: F.avg_pool1d(x, 4, stride=3, padding=2, ceil_mode=True)),
    (2, lambda x: F.avg_pool2d(x, 3)),
    (2, lambda x: F.avg_pool2d(x, 3, stride=1, padding=1)),
    (2, lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)),
    (2, lambda x: F.avg_pool2d(x, (4, 3), stride=(3, 2), padding=(2, 1), ceil_mode=True)),
    (2, lambda x: F.avg_pool2d(x, (4, 3), stride=(3, 2), padding=(2, 1), ceil_mode=True, count_include_pad=False)),
    (2, lambda x: F.avg_pool2d(x, 2, divisor_override=7)),
    (3, lambda x: F.avg_pool3d(x, 2, stride=(1, 2, 2))),
    (1, lambda x: F.adaptive_avg_pool1d(x, 4)),
    (2, lambda x: F.adaptive_avg_pool2d(x, 1)),
    (2, lambda x: F.adaptive_avg_pool2d(x, (3, 4))),
    (2, lambda x: F.adaptive_avg_pool2d(x, (None, 2))),
    (3, lambda x: F.adaptive_avg_pool3d(x, (2, 3, 1))),
    (1, lambda x: F.adaptive_max_pool1d(x, 4)),
    (2, lambda x: F.adaptive_max_pool2d(x, (3, 4))),
    (2, lambda x: F.max_pool2d(x[0], 3)),
]


@together_by_axes(POOLINGS)
def test_poolings(axes: int, functions: Any) -> None:
    assert_same_functions(functions, SHAPES[axes])


RESIZINGS = [
    (1, lambda x: F.interpolate(x, size=13)),
    (2, lambda x: F.interpolate(x, scale_factor=2)),
    (2, lambda x: F.interpolate(x, size=(3, 11))),
    (2, lambda x: F.interpolate(x, size=(3, 11), mode="nearest-exact")),
    (3, lambda x: F.interpolate(x, scale_factor=(1, 2, 0.5))),
    (1, lambda x: F.interpolate(x, size=13, mode="linear")),
    (2, lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear")),
    (2, lambda x: F.interpolate(x, scale_factor=0.4, mode="bilinear", recompute_scale_factor=True)),
    (2, lambda x: F.interpolate(x, size=(10, 3), mode="bilinear", align_corners=True)),
    (2, lambda x: F.interpolate(x, size=(1, 6), mode="bilinear", align_corners=True)),
    (3, lambda x: F.interpolate(x, size=(3, 8, 6), mode="trilinear")),
]


@together_by_axes(RESIZINGS)
def test_resizings(axes: int, functions: Any) -> None:
    net = assert_same_functions(functions, SHAPES[axes])
    assert net.stages == ()


LAYOUT = [
    lambda x: torch.cat([x, 2 * x[:, :1], torch.ones(1, 1, 7, 6)], 1),
    lambda x: torch.cat([x.new_zeros(1, 4, 1, 6), x, torch.full_like(x, 0.5)], -2),
    lambda x: torch.stack([x, x.relu(), -x], 2),
    lambda x: torch.cat(torch.split(x, 3, 2)[::-1], 2),
    lambda x: torch.split(x, [1, 5, 1], 2)[1],
    lambda x: x.chunk(2, 1)[0] - x.chunk(2, 1)[1],
    lambda x: x.unbind(1)[2].relu() + x.select(1, 0),
    lambda x: x[:, 1:, ::3, -2:],
    lambda x: x.index_select(1, torch.tensor([3, 0, 0])),
    lambda x: x[:, [3, 1], :, 2],
    lambda x: x[:, :, torch.tensor([[0, 1], [5, 2]]), [0, 1]],
    lambda x: x.flip(1, 3).roll(2, 2),
    lambda x: x.gather(1, torch.tensor([2, 1]).reshape(1, 2, 1, 1)),
    lambda x: x.permute(0, 3, 1, 2).transpose(1, 2).movedim(3, 0),
    lambda x: F.pixel_shuffle(x, 2) @ torch.ones(12, 1),
    lambda x: F.pixel_unshuffle(x[:, :, :6], 3),
    lambda x: x.repeat(1, 2, 1, 2).tile(2),
    lambda x: x.repeat_interleave(2, 2),
    lambda x: x[:, :1].expand(1, 5, 7, 6).relu(),
    lambda x: F.unfold(x, 2, padding=1, stride=2),
    lambda x: x.unfold(2, 3, 2),
    lambda x: x.diagonal(0, 2, 3),
    lambda x: x.tril(1) + x.triu(2).abs(),
    lambda x: F.pad(x, (1, 2, -1, 0), value=3.0),
    lambda x: F.pad(x, (1, 2, 3, 0)),
    lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"),
    lambda x: F.pad(x, (1, 2, 3, 0), mode="replicate"),
    lambda x: F.pad(x, (1, 2, 3, 0), mode="circular"),
    lambda x: x.masked_fill(torch.eye(7, 6).bool(), 0.25),
    lambda x: torch.where(torch.eye(7, 6).bool(), x, -x),
    lambda x: x.flatten(1).unflatten(1, (2, -1)).squeeze(0),
    lambda x: torch.hstack([x, -x]) + torch.vstack([x, x]).sum(0).repeat(2, 1, 1),
    lambda x: torch.dstack([x[0, 0], x[0, 1]]),
    lambda x: torch.stack(torch.broadcast_tensors(x, x[:, :1], torch.ones(1))),
    lambda x: x.scatter(1, torch.tensor([2, 0]).reshape(1, 2, 1, 1), x[:, 1:3]),
    lambda x: x.scatter(3, torch.tensor([2, 0]).reshape(1, 1, 1, 2), 1.5),
    lambda x: x.index_copy(1, torch.tensor([3, 1]), x[:, :2]).select_scatter(x[:, 0], 1, 2),
    lambda x: written(x),
    lambda x: torch.zeros(1, 4, 7, 6).copy_(2 * x).diff(dim=1),
]


def written(x: Any) -> Any:
    """In-place writes into views, of tensors, constants and whole numbers."""
    y = torch.zeros(1, 4, 7, 6)
    y[:, 1:3] = x[:, :2]
    y[:, [0, 2], 1] = x[:, [3, 1], 2]
    y[:, :, 3] = torch.tensor([5])
    y[0, 0, 0, 0] = 7
    y.index_put_((torch.tensor([0]), torch.tensor([3])), x[0, 0])
    return y


@together(LAYOUT)
def test_layout(functions: Any) -> None:
    assert_same_functions(functions, SHAPES[2])


_PLACES = torch.tensor([0, 2, 2]).reshape(1, 3, 1, 1).expand(1, 3, 7, 2)

ARITHMETIC = [
    lambda x: x.mean((2, 3)),
    lambda x: x.mean(),
    lambda x: x.sum(1, keepdim=True) - x.sum((0, 2, 3)).reshape(1, 4, 1, 1),
    lambda x: torch.einsum("bchw,dc->bdhw", x, torch.linspace(-1, 1, 8).reshape(2, 4)),
    lambda x: torch.tensordot(x, torch.linspace(-1, 1, 12).reshape(6, 2), 1),
    lambda x: x @ torch.linspace(-1, 1, 4 * 6 * 3).reshape(4, 6, 3),
    lambda x: torch.linspace(-1, 1, 4 * 2 * 7).reshape(1, 4, 2, 7) @ x,
    lambda x: torch.baddbmm(x[0], x[0], torch.linspace(-1, 1, 144).reshape(4, 6, 6), beta=0.5, alpha=2),
    lambda x: torch.addcmul(x, 2 * x, torch.linspace(0, 1, 6), value=0.5),
    lambda x: x.flatten().dot(torch.linspace(0, 1, 168)),
    lambda x: 3 - x / torch.tensor([1.0, 3.0, 5.0, 7.0, 9.0, 11.0]),
    lambda x: x.cumsum(1) - x.cumsum(3),
    lambda x: torch.lerp(x, torch.linspace(0, 1, 6), 0.3) + torch.lerp(torch.zeros(6), torch.linspace(0, 1, 6), x),
    lambda x: torch.addcdiv(x, x, torch.linspace(1, 2, 6), value=0.3),
    lambda x: torch.zeros(1, 3, 7, 6).scatter_add(1, torch.tensor([0, 2, 2]).reshape(1, 3, 1, 1).expand(1, 3, 7, 2), x),
    lambda x: x.index_add(1, torch.tensor([0, 0]), x[:, 2:], alpha=2),
    lambda x: x.clone().index_put_((torch.tensor([0, 0]), torch.tensor([1, 1])), x[0, :2], accumulate=True) ** 1,
    lambda x: F.batch_norm(x, torch.linspace(-1, 1, 4), torch.linspace(0.5, 2, 4), eps=0.1).relu(),
    lambda x: torch.ones(1, 3, 7, 6).scatter_reduce(1, _PLACES, x, "sum"),
    lambda x: x.scatter_reduce(1, _PLACES, x[:, 1:].relu(), "mean"),
    lambda x: x.scatter_reduce(1, _PLACES, 2 * x, "mean", include_self=False),
    lambda x: x.scatter_reduce(1, _PLACES, 2 * x, "amax"),
    lambda x: x.scatter_reduce(1, _PLACES, -x, "amin", include_self=False),
    lambda x: x.index_reduce(1, torch.tensor([0, 0]), x[:, 2:], "amax"),
    lambda x: x.index_reduce(1, torch.tensor([1, 1]), x[:, 2:], "mean", include_self=False),
    lambda x: torch.addbmm(x[0, 0, :, :2], x[0], torch.linspace(-1, 1, 48).reshape(4, 6, 2), beta=0.5, alpha=2),
    lambda x: torch.ldexp(x, torch.tensor([1, -2, 3, 0, 0, 1])),
    lambda x: torch.as_strided(2 * x, (3, 4), (5, 2), 1),
    lambda x: torch.copysign(x, torch.tensor([1.0, -1.0, 0.0, -0.0, 2.0, -2.0])),
    lambda x: torch.nanmean(x, 1),
    lambda x: x.masked_scatter(torch.eye(7, 6).bool(), x.relu().flip(1)),
    lambda x: torch.cdist(x, torch.linspace(-1, 1, 12).reshape(2, 6), p=1.0),
    lambda x: torch.cdist(torch.linspace(-1, 1, 12).reshape(2, 6), x[0, 0], p=float("inf")),
    lambda x: F.instance_norm(
        x, torch.linspace(-1, 1, 4), torch.linspace(0.5, 2, 4), torch.linspace(1, 2, 4), use_input_stats=False, eps=0.1
    ),
]


# Operators whose coefficients torch computes.
COMPUTED = [
    lambda x: F.bilinear(x, torch.ones(1, 4, 7, 2), torch.linspace(-1, 1, 36).reshape(3, 6, 2), torch.ones(3)),
    lambda x: F.interpolate(x, size=(4, 4), mode="bilinear", antialias=True),
    lambda x: F.interpolate(x, size=(3, 5), mode="bicubic", antialias=True),
    lambda x: F.grid_sample(x, torch.linspace(-1.2, 1.2, 24).reshape(1, 3, 4, 2), align_corners=False),
    lambda x: F.grid_sample(
        x.reshape(1, 4, 7, 2, 3), torch.linspace(-1, 1, 24).reshape(1, 2, 2, 2, 3), "nearest", "border", True
    ),
    lambda x: torch.linalg.solve(2 * torch.eye(7) + 1, x),
    lambda x: torch.linalg.solve_triangular(torch.ones(7, 7).triu() + torch.eye(7), x, upper=True),
]


@together(COMPUTED)
def test_coefficients_that_torch_computes_are_noted(functions: Any) -> None:
    found = assert_same_functions(functions, SHAPES[2])
    assert len([note for note in found.notes if "computed once" in note.text]) == len(functions)


@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta")
@together(ARITHMETIC)
def test_arithmetic(functions: Any) -> None:
    assert_same_functions(functions, SHAPES[2])


PIECES = [
    lambda x: x.clamp(-0.5, 1.5),
    lambda x: x.clamp(min=0.25),
    lambda x: x.clamp_max(-0.25),
    lambda x: x.clamp(torch.linspace(-2, 0, 6), torch.linspace(0, 2, 6)),
    lambda x: x.clamp(torch.tensor([-np.inf, 0.0, 1.0, -1, 1, 0]), torch.tensor([0.0, np.inf, 1.0, 2, 3, 4])),
    lambda x: x.clamp(min=-x.flip(2)),
    lambda x: x.clamp(torch.tensor(-0.5), x.flip(2)),
    lambda x: F.hardtanh(x, -0.3, 0.7),
    lambda x: F.relu6(3 * x),
    lambda x: F.hardsigmoid(x),
    lambda x: x.abs(),
    lambda x: F.threshold(x, 0.5, 0.5),
    lambda x: F.rrelu(x),
    lambda x: F.prelu(x, torch.tensor([0.1, -0.5, 1.0, 2.0])),
    lambda x: F.dropout(x, 0.5, training=False).relu(),
    lambda x: x.amax((2, 3)),
    lambda x: x.amin(1, keepdim=True),
    lambda x: x.max(dim=1)[0],
    lambda x: x.min(dim=2, keepdim=True).values,
    lambda x: x[:, 0, 0].max() - x[:, 0, 1].min(),
    lambda x: torch.maximum(x, x.flip(1)),
    lambda x: torch.minimum(x[:, :1], x[:, 1:]),
    lambda x: torch.max(x, torch.zeros(1)) + torch.min(torch.linspace(-1, 1, 6), x),
    lambda x: torch.maximum(torch.maximum(x, -x), torch.ones(1)),
    lambda x: x.reshape(1, 2, 2, 7, 6).amax(2),
    lambda x: F.softshrink(x, 0.3),
    lambda x: torch.linalg.vector_norm(x, 1, dim=(1, 3)),
    lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1, keepdim=True) - x.norm(p=float("-inf")),
    lambda x: F.l1_loss(x, torch.ones(1, 4, 7, 6)) + F.pairwise_distance(x[0, 0], torch.ones(7, 6), p=1.0),
    lambda x: torch.linalg.matrix_norm(x, 1),
]

CHOICES = [
    lambda x: torch.where(x > 0, x, 0.1 * x),
    lambda x: torch.where(x >= 0.7, x, 0.5 * x + 0.35),
    lambda x: torch.where(x < x.flip(1), 2 * x, x + x.flip(1)),
    lambda x: torch.where(torch.zeros(1) > x[:, :1], -x[:, :1], x[:, :1]),
    lambda x: torch.where(~(x <= 0.25), 0.25, x) + x * (x > 0) + (x < 0).double() * x,
    lambda x: x.masked_fill(x < -0.5, -0.5).relu(),
    lambda x: (lambda h: torch.where(h > 0, h, 0.0))(x.relu()),
    lambda x: torch.where((x > 0).reshape(1, -1), x.flatten(1), torch.zeros(1)),
    lambda x: x * torch.sign(x) + (x - 0.25).sgn() * (1 - 4 * x),
    lambda x: (lambda h: torch.sign(h) * (3 * h))(x.relu() - 0.5),
]

ORDERED = [
    lambda x: x.sort(1)[0],
    lambda x: x.sort(dim=2, descending=True, stable=True).values,
    lambda x: x.topk(3, 2)[0],
    lambda x: x.topk(2, 3, largest=False)[0],
    lambda x: x.median(2)[0],
    lambda x: x[0, 0, 0].median() + x[0, 0, 1, :5].median(),
    lambda x: x.kthvalue(2, 1, keepdim=True)[0],
    lambda x: torch.msort(x[0, :, 0]),
    lambda x: x.nanmedian(3)[0] + x[0, 0, 0].nanmedian(),
    lambda x: x.cummax(1)[0] - x[:, :, :3, :2].cummin(2)[0].sum(),
]  # fmt: skip


def overwritten(x: Any) -> Any:
    """In-place writes of numbers, of zeros and of what depends on the input."""
    y = x.clone()
    y[:, 1] = 2.5
    y[:, 2, 1:3].fill_(-1.0)
    y[:, 3].zero_()
    y[:, 0, 0] = x.sum()
    y[y > 1.5] = 1.5
    y[:, 0, 1] += x[:, 3, 2].relu()
    return y


# Operators that torch takes apart, or that mean something else in real arithmetic.
TAKEN_APART = [
    overwritten,
    lambda x: torch.linalg.norm(x[0, 0], float("inf")) + torch.linalg.norm(x[0, 0, 0], 1),
    lambda x: torch.linalg.multi_dot([x[0, 0], torch.linspace(-1, 1, 18).reshape(6, 3), torch.ones(3, 2)]),
    lambda x: torch.inner(x, torch.linspace(-1, 1, 12).reshape(2, 6)).relu(),
    lambda x: torch.vdot(x[0, 0, 0], torch.linspace(-1, 1, 6)),
    lambda x: torch.addmv(torch.ones(2), torch.linspace(-1, 1, 12).reshape(2, 6), x[0, 0, 0], beta=2, alpha=0.5),
    lambda x: torch.linalg.cross(x[..., :3], torch.linspace(-1, 1, 3).expand(1, 4, 7, 3)),
    lambda x: torch.cumulative_trapezoid(x),
    lambda x: torch.block_diag(x[0, 0], x[0, 1].relu()),
    lambda x: torch.aminmax(x, dim=1)[1] - torch.aminmax(x, dim=1)[0],
    lambda x: x.fliplr() + x.flipud(),
    lambda x: x.index_fill(1, torch.tensor([0, 2]), 2.0),
    lambda x: F.fold(x[:, :, :3, :4].reshape(1, 4, 12), (5, 4), 2),
    lambda x: F.fold(x.reshape(1, 4, 42)[:, :, :2], (2, 4), 2, stride=2),
    lambda x: F.interpolate(x, size=(5, 9), mode="bicubic"),
    lambda x: x.quantile(0.3, dim=1),
    lambda x: x.nan_to_num().relu() + x.nansum(1),
    lambda x: F.hinge_embedding_loss(x, torch.ones(1, 4, 7, 6)),
    lambda x: 3 - torch.stack([x, -x], 2).amax(2) - torch.rsub(x, x.flip(1), alpha=2),
    lambda x: torch.meshgrid(x[0, 0, 0], x[0, 0, 1], indexing="ij")[0].relu(),
]


@together(TAKEN_APART)
def test_operators_that_are_taken_apart(functions: Any) -> None:
    assert_same_functions(functions, SHAPES[2])


@together(PIECES)
def test_functions_with_pieces(functions: Any) -> None:
    assert_same_functions(functions, SHAPES[2])


@together(CHOICES)
def test_choices_that_are_continuous(functions: Any) -> None:
    assert_same_functions(functions, SHAPES[2])


@together(ORDERED)
def test_ordering(functions: Any) -> None:
    assert_same_functions(functions, SHAPES[2])


def test_a_choice_cuts_once_and_a_sort_of_three_has_six_regions() -> None:
    leaky = network(Function(lambda x: torch.where(x > 0, x, 0.1 * x)), input_shape=(3,))
    assert [stage.activation.choices for stage in leaky.stages] == [3]
    ordered = network(Function(lambda x: x.sort(1)[0]), input_shape=(3,))
    assert al.count(ordered, al.Box(-1, 1, dim=3)) == 6
    assert ordered.evaluate_exact([3.0, 1.0, 2.0]) == [1, 2, 3]


def test_a_conversion_that_rounds_is_reported() -> None:
    net = network(Function(lambda x: x.half().double().relu()), input_shape=(2,))
    assert [note.kind for note in net.notes] == [NoteKind.ROUNDED]
    assert "rounded to float16 in the model, but not in the network" in net.report()
    assert network(Function(lambda x: x.double().relu()), input_shape=(2,)).notes == ()


def test_a_maximum_against_constants_cuts_nothing_else() -> None:
    """max(x, 0) is a ReLU, and of three candidates one wins: no cut between the others."""
    rectified = network(Function(lambda x: torch.maximum(x, torch.zeros(1))), input_shape=(3,))
    assert [len(stage.activation.breaks) for stage in rectified.stages] == [3]
    pooled = network(Function(lambda x: torch.stack([x, -x, 2 * x + 1]).amax(0)), input_shape=(3,))
    assert [stage.activation.choices for stage in pooled.stages] == [3]


def test_means_are_exact() -> None:
    net = network(Function(lambda x: F.avg_pool1d(x, 3)), input_shape=(1, 3))
    assert net.evaluate_exact([1.0, 0.0, 0.0]) == [Fraction(1, 3)]
    net = network(Function(lambda x: F.interpolate(x, size=5, mode="linear", align_corners=True)), input_shape=(1, 4))
    assert net.evaluate_exact([0.0, 1.0, 2.0, 3.0]) == [Fraction(3 * j, 4) for j in range(5)]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: F.hardswish(x.relu()), ["hardswish", "not piecewise affine", "until='relu'"]),
        (lambda x: F.gelu(x), ["gelu", "not piecewise affine"]),
        (lambda x: torch.cumprod(x.relu(), 1), ["cumprod", "not piecewise affine", "until='relu'"]),
        (lambda x: x.relu() ** 2, ["pow", "until='relu'"]),
        (lambda x: x.relu() * x, ["mul", "constant", "until='relu'"]),
        (lambda x: 1 / x.relu(), ["reciprocal", "until='relu'"]),
        (lambda x: torch.ones(4) / x.relu(), ["div", "divisor", "until='relu'"]),
        (lambda x: F.threshold(x, 1.0, 0.0), ["threshold", "jumps", "not continuous"]),
        (lambda x: F.hardshrink(x), ["where", "cannot be proved continuous"]),
        (lambda x: x.floor(), ["floor", "jumps and is not continuous"]),
        (lambda x: x.long() * 1.0, ["int64", "jumps"]),
        (lambda x: x.norm(), ["order 2", "not piecewise affine"]),
        (lambda x: x.norm(p=0), ["order 0", "jumps"]),
        (lambda x: (x > 0).double(), ["a comparison jumps"]),
        (lambda x: torch.maximum(x, x > 0), ["a comparison jumps"]),
        (lambda x: torch.sign(x), ["a sign jumps"]),
        (lambda x: torch.sign(x) + 1, ["a sign jumps"]),
        (lambda x: torch.sign(x).reshape(-1), ["a sign jumps"]),
        (lambda x: torch.sign(x).bool() * x, ["jumps"]),
        (lambda x: torch.maximum(torch.sign(x), x), ["a sign jumps"]),
        (lambda x: torch.sign(x) * torch.sign(x), ["a sign jumps"]),
        (lambda x: torch.where(torch.sign(x) > 0, x, 0.0), ["a sign jumps"]),
        (lambda x: torch.sign(x) * 2, ["jumps in entry 0"]),
        (lambda x: torch.sign(x) * (x + 1), ["jumps in entry 0"]),
        (lambda x: x.repeat(1, 500).sort(1)[0], ["sorting 2000 entries", "comparisons, more than"]),
        (lambda x: x.clamp(2.0, 1.0), ["clamp", "at least 2", "at most 1"]),
        (lambda x: torch.where(x > 1, x, 2 * x), ["where", "jumps in entry 0", "where(x > c, x, c)"]),
        (lambda x: torch.where(x > 0, x * 0 + 1, 0.0), ["where", "jumps in entry 0"]),
        (lambda x: torch.where(x.relu() > 1, x, 2 * x), ["where", "cannot be proved", "until="]),
        (lambda x: x.max(1)[1] * 1.0, ["positions"]),
        (lambda x: x[:, torch.tensor([True, False, True, True])], ["index", "shape", "mask"]),
        (lambda x: x.mode(1)[0], ["mode", "not read"]),
        (lambda x: x.repeat(1, 5000).cummax(1)[0], ["cummax", "20000 entries", "more than"]),
        (lambda x: torch.zeros(1, 2).scatter_reduce(1, torch.tensor([[0, 1, 1, 0]]), x, "prod"), ["prod", "not read"]),
        (lambda x: F.instance_norm(x.relu().reshape(1, 2, 2)), ["own mean", "not piecewise affine", "until="]),
        (lambda x: F.bilinear(x, x, torch.ones(2, 4, 4)), ["only i1 or i2 or i3 may depend", "constant"]),
        (lambda x: torch.linalg.solve(x.reshape(2, 2), torch.ones(2)), ["only B may depend"]),
        (lambda x: torch.as_strided(x.reshape(2, 2).t(), (2,), (1,)), ["as_strided", "contiguous"]),
        (lambda x: x.masked_scatter(x > 0, x.relu()), ["mask depends on the network's input"]),
        (lambda x: torch.where(x == 1, x, 2 * x), ["eq", "jumps"]),
        (lambda x: F.softmax(x, 0).relu(), ["softmax", "not piecewise affine"]),
        (lambda x: F.softmax(x.relu(), 0), ["softmax", "axis 0", "constant", "until='relu'"]),
        (lambda x: (x.exp(), x.abs()), ["'0' (exp), '1' (abs_1)", "until='1' chooses one"]),
        (lambda x: {"p": x.exp(), "q": [x.relu()]}, ["'p' (exp), 'q.0' (relu)", "until='q.0' chooses one"]),
    ],
)
def test_refusals_name_the_operation_and_where_to_cut(function: Any, words: list[str]) -> None:
    with pytest.raises(AffineLensError) as caught:
        network(Function(function), input_shape=(4,))
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tail", [nn.Softmax(1), nn.LogSoftmax(-1), nn.Sigmoid(), nn.Tanh()])
def test_a_final_softmax_is_cut_off_and_noted(tail: Any) -> None:
    body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    net = network(nn.Sequential(body, tail, nn.Flatten()))
    assert "cut off" in net.notes[0].text
    assert net.digest == network(body).digest


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.head = nn.Linear(4, 2)
        self.gate = nn.Sigmoid()

    def forward(self, x: Any, shift: Any = None) -> Any:
        h = self.body(x)
        h = h if shift is None else h + shift
        return self.head(h) * 2, self.gate(h) * h


def test_until_names_a_submodule_or_an_operation() -> None:
    module = Branches()
    assert network(module, until="body").output_size == 4
    assert network(module, until="body.0").stages == ()
    assert network(module, until="head").output_size == 2
    assert network(module, until="relu").digest == network(module, until="body").digest
    with pytest.raises(AffineLensError, match=r"'bodi'.*'body'"):
        network(module, until="bodi")
    with pytest.raises(AffineLensError, match="until="):
        network(module)


def test_until_names_one_of_several_outputs() -> None:
    module = Function(lambda x: {"scores": x.relu(), "others": (x.abs(), x)})
    x = [1.0, -2.0]
    for until, values in {"scores": [1, 0], "others.0": [1, 2], "others.1": [1, -2], "abs_1": [1, 2]}.items():
        assert network(module, input_shape=(2,), until=until)(x).tolist() == values
    assert network(Branches(), until="0").output_size == 2


def test_batch_norm_without_running_statistics_is_named() -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, track_running_stats=False))
    with pytest.raises(AffineLensError, match=r"^1 \(BatchNorm1d\) keeps no running statistics.*track_running_stats"):
        network(module)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(2, 2), nn.GELU()),
        nn.Sequential(nn.Linear(2, 2), nn.Conv2d(1, 1, 3)),
        nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, track_running_stats=False)),
        torch.jit.ScriptModule(),
    ],
)
def test_what_users_did_shows_no_inner_causes(module: Any) -> None:
    with pytest.raises(AffineLensError) as caught:
        network(module)
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Traceback") == 1
    assert "site-packages" not in shown


def test_other_arguments_are_fixed_by_name() -> None:
    class Two(nn.Module):
        def forward(self, x: Any, shift: Any) -> Any:
            return (x + shift).relu()

    with pytest.raises(AffineLensError, match=r"inputs are 'x', 'shift'.*fixed=\{'shift': values\}"):
        network(Two(), input_shape=(2,))
    with pytest.raises(AffineLensError, match=r"'shfit'.*'x', 'shift'"):
        network(Two(), input_shape=(2,), fixed={"shfit": [1.0]})
    for fixed in ({"shift": [1.0, -5.0]}, {"x": np.array([[1.0, -5.0]])}):
        assert network(Two(), input_shape=(2,), fixed=fixed)([2.0, 3.0]).tolist() == [3.0, 0.0]


def test_until_and_fixed_are_for_models_with_names() -> None:
    with pytest.raises(AffineLensError, match="until="):
        network([([[1.0]], [0.0])], until="relu")
    with pytest.raises(AffineLensError, match="fixed="):
        network([([[1.0]], [0.0])], fixed={"x": 1.0})
