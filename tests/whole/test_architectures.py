"""From model to regions, end to end: random and well-known architectures from torch and ONNX, by every engine.

What an engine finds on the part of a network that switches must be what it finds on the whole: the same patterns, the
same facets, the same counts. The numbers are chosen to make that hard: ties, zero biases, duplicates, thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

import affinelens as al  # noqa: E402
from affinelens import RegionSet  # noqa: E402
from affinelens.domain import Domain  # noqa: E402
from affinelens.network import Network  # noqa: E402
from affinelens.restrict import restrict  # noqa: E402
from support import brute_force  # noqa: E402
from support.architectures import Architecture  # noqa: E402
from support.networks import ABSOLUTE, HARD_TANH, LEAKY, RELU, ZIGZAG, compiled  # noqa: E402
from support.onnx_models import model, node, save  # noqa: E402
from support.walks import all_ways, assert_affine_maps_hold, brute_force_patterns, facets_by_pattern, walked  # noqa: E402

FLOAT = 1
# Architectures with few enough regions to try everything on them.
SEEDS = (1, 2, 3, 5, 8, 9, 10, 12)
DEGENERATE_SEEDS = (100, 101, 103, 107)
# How many regions of each set are evaluated in rationals and by the framework.
SOME = 12


def window(rng: np.random.Generator, inputs: int, dim: int, reach: float) -> al.Slice:
    """A random slice around a random input, in coordinates within [-reach, reach]."""
    return al.Slice(rng.normal(size=inputs), list(rng.normal(size=(dim, inputs))), al.Box(-reach, reach, dim=dim))


def assert_brute_force_agrees(regions: RegionSet, cell: brute_force.Polytope) -> None:
    found = {tuple(pattern) for pattern in regions.patterns.tolist()}
    assert found == brute_force_patterns(regions.network, regions.domain, cell)


def assert_framework_agrees(regions: RegionSet, evaluate: Callable[[Any], Any]) -> None:
    """At the regions' points their affine maps give the framework's output, to float32's accuracy."""
    for region in regions[:SOME]:
        x = region.point.astype(np.float32)
        weight, offset = region.affine
        theirs = np.asarray(evaluate(x.reshape(1, *regions.network.input_shape))).ravel()
        scale = np.abs(weight).sum() * max(np.abs(x).max(), 1.0) + np.abs(offset).max()
        np.testing.assert_allclose(weight @ region.point + offset, theirs, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_architectures_from_torch_and_onnx(seed: int, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    module = Architecture(seed, (1, 4, 4))
    path = save(module.proto(), tmp_path)
    from_torch, from_onnx = al.network(module, input_shape=module.input_shape), al.network(path)
    domain = window(np.random.default_rng(seed), 16, 2, 0.25)
    regions = all_ways(from_torch, domain, programs=True)
    assert set(map(bytes, regions.patterns)) == set(map(bytes, all_ways(from_onnx, domain).patterns))
    assert_affine_maps_hold(regions, SOME)
    assert_brute_force_agrees(regions, brute_force.box([-0.25] * 2, [0.25] * 2))
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert_framework_agrees(regions, lambda x: session.run(None, {"x": x})[0])
    with torch.no_grad():
        assert_framework_agrees(regions, lambda x: module(torch.from_numpy(x)))


@pytest.mark.parametrize("seed", DEGENERATE_SEEDS)
def test_random_architectures_with_ties(seed: int) -> None:
    """Weights in halves, channels that repeat, and slices through constant images along constant images."""
    module = Architecture(seed, (2, 4, 4))
    for values in module.buffers():
        if values.is_floating_point() and values.numel() > 1:
            values.copy_(torch.round(values * 2) / 2 + (values > 0) * 0.5)
            values[1:] = values[:1].clone() if values.ndim > 1 and seed % 2 else values[1:]
    network = al.network(module, input_shape=module.input_shape)
    rng = np.random.default_rng(seed)
    directions = [np.ones(32), np.round(rng.normal(size=32))]
    regions = all_ways(network, al.Slice(np.full(32, 0.5), directions, al.Box(-0.5, 0.25, dim=2)), programs=True)
    assert_affine_maps_hold(regions, SOME)
    assert_brute_force_agrees(regions, brute_force.box([-0.5] * 2, [0.25] * 2))


PIECES = [RELU, LEAKY, ABSOLUTE, HARD_TANH, ZIGZAG]
WEIGHTS = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0])


@st.composite
def small_layers(draw: st.DrawFn) -> list[brute_force.Layer]:
    """Layers of small dyadic numbers: units that coincide, vanish, are constant or stay on one piece, and maxima."""
    size, layers = 2, []
    for _ in range(draw(st.integers(1, 3))):
        count = draw(st.integers(1, 4))
        groups = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)) if draw(st.booleans()) else None
        rows = sum(groups) if groups else count
        weight = [[draw(WEIGHTS) for _ in range(size)] for _ in range(rows)]
        bias = [draw(st.sampled_from([0.0, 0.0, 1.0, -1.0, 8.0, -8.0])) for _ in range(rows)]
        if rows > 1 and draw(st.booleans()):
            weight[1], bias[1] = weight[0], bias[0]
        pieces = None if groups else [draw(st.sampled_from(PIECES)) for _ in range(rows)]
        layers.append(brute_force.Layer(weight, bias, pieces, groups))
        size = len(groups) if groups else rows
    return layers


@settings(max_examples=60, deadline=None, derandomize=True)
@given(small_layers(), st.sampled_from([0.5, 1.0, 4.0]))
def test_small_networks_of_dyadic_numbers(layers: list[brute_force.Layer], reach: float) -> None:
    regions = all_ways(compiled(layers), al.Box(-reach, reach, dim=2))
    expected = brute_force.patterns_by_stage(layers, brute_force.box([-reach] * 2, [reach] * 2))
    assert {tuple(pattern) for pattern in regions.patterns.tolist()} == expected[-1]
    assert regions.layer_counts == tuple(map(len, expected))
    assert_affine_maps_hold(regions, SOME)


def small_cnn() -> Network:
    """Convolution, overlapping maxima, leaky units, a residual connection and a clip, in weights of quarters."""
    torch.manual_seed(0)
    module = ResidualNet(torch.nn.MaxPool2d(3, 1, 1))
    for values in module.state_dict().values():
        if values.is_floating_point():
            values.copy_(torch.round(values * 4) / 4)
    return al.network(module, input_shape=(1, 4, 4))


class ResidualNet(torch.nn.Module):
    def __init__(self, pool: Any) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.Conv2d(2, 2, 3, padding=1)
        self.pool, self.leaky, self.last = pool, torch.nn.PReLU(2), torch.nn.Linear(32, 2)

    def forward(self, x: Any) -> Any:
        x = self.pool(self.first(x))
        x = (x + self.leaky(self.second(x))).clamp(-1, 1)
        return self.last(x.flatten(1))


@pytest.mark.parametrize(
    "domain",
    [
        al.Slice(np.zeros(16), [np.ones(16)], al.Box(-1, 1, dim=1)),
        al.Slice(np.linspace(-1, 1, 16), [np.eye(16)[3]], al.Box(-2, 2, dim=1)),
        al.Slice.axes(np.full((1, 4, 4), 0.5), ((0, 1, 1), (0, 2, 2)), -1, 1),
        al.Slice.axes(np.zeros((1, 4, 4)), ((0, 1, 1), (0, 1, 2), (0, 2, 1)), -0.0625, 0.125),
        al.Slice(np.zeros(16), list(np.eye(16)[[5, 6]]), al.Polytope([[1, 0], [0, 1], [-1, -1]], [0.5, 0.5, 0.25])),
    ],
    ids=["constant line", "pixel line", "two pixels", "three pixels", "triangle"],
)
def test_windows_of_every_kind(domain: Domain) -> None:
    regions = all_ways(small_cnn(), domain, programs=domain.dim < 3)
    assert len(regions) > 1
    assert_affine_maps_hold(regions, SOME)


def test_a_window_where_nothing_switches() -> None:
    network = small_cnn()
    rng = np.random.default_rng(2)
    domain = window(rng, 16, 2, 1e-6)
    assert not len(restrict(network, domain.frame).breaks)
    regions = all_ways(network, domain, programs=True)
    assert len(regions) == 1
    assert_affine_maps_hold(regions)


def test_candidates_that_are_the_same_function() -> None:
    """A maximum of identical candidates has one winner and no facets of its own."""
    weight = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    layers = [brute_force.Layer(weight, [0.0] * 4, groups=[4]), brute_force.Layer([[1.0]], [0.0])]
    regions = all_ways(compiled(layers), al.Box(-1, 1, dim=2), programs=True)
    assert {tuple(p) for p in regions.patterns.tolist()} == {(0, 0), (0, 1), (2, 0), (2, 1)}


def constants(module: Any) -> dict[str, Any]:
    return {name.replace(".", "_"): values.numpy() for name, values in module.state_dict().items() if values.ndim}


def test_max_pool_classifier(tmp_path: Path) -> None:
    """Convolution, ReLU and max pool twice, then a linear layer: torch and its ONNX twin."""
    torch.manual_seed(1)
    layers = [
        torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(3), torch.nn.Flatten(),
        torch.nn.Linear(4, 3),
    ]  # fmt: skip
    nodes = [
        node("Conv", "x 0_weight 0_bias", "a", pads=[1] * 4), node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "c 3_weight 3_bias", "d", pads=[1] * 4), node("Relu", "d", "e"),
        node("MaxPool", "e", "f", kernel_shape=[3, 3], strides=[3, 3]), node("Flatten", "f", "g"),
        node("Gemm", "g 7_weight 7_bias", "y", transB=1),
    ]  # fmt: skip
    assert_twins_agree(torch.nn.Sequential(*layers), nodes, (1, 6, 6), tmp_path)


def test_average_pool_classifier(tmp_path: Path) -> None:
    torch.manual_seed(2)
    layers = [
        torch.nn.Conv2d(1, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.AvgPool2d(3, 1, 1), torch.nn.Flatten(),
        torch.nn.Linear(36, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2),
    ]  # fmt: skip
    nodes = [
        node("Conv", "x 0_weight 0_bias", "a", strides=[2, 2]), node("Relu", "a", "b"),
        node("AveragePool", "b", "c", kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1),
        node("Flatten", "c", "d"),
        node("Gemm", "d 4_weight 4_bias", "e", transB=1), node("Relu", "e", "f"),
        node("Gemm", "f 6_weight 6_bias", "y", transB=1),
    ]  # fmt: skip
    assert_twins_agree(torch.nn.Sequential(*layers), nodes, (1, 7, 7), tmp_path)


class Block(torch.nn.Module):
    """A stem, a residual block with batch norms and a strided shortcut, and the mean of every channel."""

    def __init__(self) -> None:
        super().__init__()
        convolution, norm = torch.nn.Conv2d, torch.nn.BatchNorm2d
        self.stem, self.c1 = convolution(1, 3, 3, padding=1), convolution(3, 4, 3, 2, 1)
        self.c2 = convolution(4, 4, 3, 1, 1)
        self.short, self.n1, self.n2, self.n3 = convolution(3, 4, 1, 2), norm(4), norm(4), norm(4)
        self.last = torch.nn.Linear(4, 2)
        for part in (self.n1, self.n2, self.n3):
            for values in (part.weight.data, part.bias.data, part.running_mean):
                values.copy_(torch.rand(4) - 0.3)
            part.running_var.copy_(torch.rand(4) + 0.5)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.stem(x))
        y = self.n2(self.c2(torch.relu(self.n1(self.c1(x)))))
        return self.last(torch.relu(y + self.n3(self.short(x))).mean((2, 3)))


def test_residual_classifier(tmp_path: Path) -> None:
    torch.manual_seed(3)

    def norm(name: str, inputs: str, output: str) -> Any:
        stored = [f"{name}_{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        return node("BatchNormalization", " ".join([inputs, *stored]), output, epsilon=1e-5)

    nodes = [
        node("Conv", "x stem_weight stem_bias", "a", pads=[1] * 4), node("Relu", "a", "b"),
        node("Conv", "b c1_weight c1_bias", "c", pads=[1] * 4, strides=[2, 2]), norm("n1", "c", "d"),
        node("Relu", "d", "e"),
        node("Conv", "e c2_weight c2_bias", "f", pads=[1] * 4), norm("n2", "f", "g"),
        node("Conv", "b short_weight short_bias", "h", strides=[2, 2]), norm("n3", "h", "i"),
        node("Add", "g i", "j"), node("Relu", "j", "k"), node("GlobalAveragePool", "k", "l"), node("Flatten", "l", "m"),
        node("Gemm", "m last_weight last_bias", "y", transB=1),
    ]  # fmt: skip
    assert_twins_agree(Block(), nodes, (1, 6, 6), tmp_path)


def assert_twins_agree(module: Any, nodes: list[Any], shape: tuple[int, ...], folder: Path) -> None:
    """The module and the ONNX graph with its parameters have the same regions on slices of 1, 2 and 3 dimensions."""
    module.eval()
    path = save(model(nodes, constants(module), [1, *shape], kind=FLOAT), folder)
    twins = al.network(module, input_shape=shape), al.network(path)
    for dim, reach in ((1, 0.5), (2, 0.15), (3, 0.05)):
        domain = window(np.random.default_rng(dim), twins[0].input_size, dim, reach)
        regions, twin = all_ways(twins[0], domain), walked(twins[1], domain, restricted=True)
        assert len(regions) > 2
        assert twin.layer_counts == regions.layer_counts
        assert facets_by_pattern(twin) == facets_by_pattern(regions.outcome)
        assert_affine_maps_hold(regions, SOME)
        with torch.no_grad():
            assert_framework_agrees(regions, lambda x: module(torch.from_numpy(x)))
