"""Random architectures, drawn once and written down twice: as a torch module and as an ONNX graph.

Both have the same float32 parameters, so the two networks compiled from them are the same function exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

from support.onnx_models import model, node

Shape = tuple[int, ...]
FLOAT = 1


class Architecture(torch.nn.Module):
    """Steps on a (batch, channels, height, width) tensor; ``proto()`` is the same as an ONNX model."""

    def __init__(self, seed: int, shape: Shape = (2, 6, 6)) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.input_shape = shape
        self.shape = shape
        self.steps: list[Callable[[Any], Any]] = []
        self.drawn: list[str] = []
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._last = "x"
        for _ in range(int(self.rng.integers(4, 8))):
            self._draw()
        self._finish()

    def forward(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x

    def proto(self) -> Any:
        return model(self._nodes, self._constants, [1, *self.input_shape], kind=FLOAT)

    def _draw(self) -> None:
        step = STEPS[int(self.rng.integers(len(STEPS)))]
        if min(self.shape[1:]) < 3 and step in SHRINKING:
            step = rectifier
        step(self)
        self.drawn.append(step.__name__)

    def _finish(self) -> None:
        size = int(np.prod(self.shape))
        weight, bias = self.number(3, size), self.number(3)
        self.add(
            lambda x: F.linear(x.flatten(1), self.at(weight), self.at(bias)),
            [("Flatten", "{x}", {}), ("Gemm", f"{{}} {weight} {bias}", {"transB": 1})],
            (3,),
        )
        self._nodes.append(node("Identity", self._last, "y"))

    def number(self, *shape: int, low: float = -1.0, high: float = 1.0) -> str:
        """A fresh constant, by its name in both."""
        return self.keep((low + (high - low) * self.rng.random(shape)).astype(np.float32))

    def keep(self, values: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = values
        self.register_buffer(name, torch.from_numpy(np.atleast_1d(values)).reshape(values.shape))
        return name

    def at(self, name: str) -> Any:
        return getattr(self, name)

    def add(self, step: Callable[[Any], Any], operations: list[tuple[str, str, dict[str, Any]]], shape: Shape) -> None:
        """A step in torch, and the nodes that do the same: ``{x}`` is its input, ``{}`` the node before."""
        self.steps.append(step)
        begin = self._last
        for operator, inputs, attributes in operations:
            names = inputs.replace("{x}", begin).replace("{}", self._last)
            self._last = f"t{len(self._nodes)}"
            self._nodes.append(node(operator, names, self._last, **attributes))
        self.shape = shape

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))


def _outputs(size: int, window: int, stride: int, pads: int) -> int:
    return (size + pads - window) // stride + 1


def convolution(net: Architecture) -> None:
    channels, height, width = net.shape
    window, stride, before, after = net.whole(1, 4), net.whole(1, 3), net.whole(0, 2), net.whole(0, 2)
    groups = channels if net.rng.random() < 0.3 else 1
    goal = groups * net.whole(1, 3)
    weight, bias = net.number(goal, channels // groups, window, window), net.number(goal)
    net.add(
        lambda x: F.conv2d(F.pad(x, (before, after) * 2), net.at(weight), net.at(bias), stride=stride, groups=groups),
        [("Conv", f"{{x}} {weight} {bias}", {"strides": [stride] * 2, "pads": [before] * 2 + [after] * 2,
                                            "group": groups})],
        (goal, *(_outputs(size, window, stride, before + after) for size in (height, width))),
    )  # fmt: skip


def transposed_convolution(net: Architecture) -> None:
    channels, height, width = net.shape
    weight = net.number(channels, 2, 3, 3)
    net.add(
        lambda x: F.conv_transpose2d(x, net.at(weight), stride=2, padding=1, output_padding=1),
        [("ConvTranspose", f"{{x}} {weight}", {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]})],
        (2, 2 * height, 2 * width),
    )
    net.add(lambda x: F.avg_pool2d(x, 2), [("AveragePool", "{x}", {"kernel_shape": [2, 2], "strides": [2, 2]})],
            (2, height, width))  # fmt: skip


def batch_norm(net: Architecture) -> None:
    channels = net.shape[0]
    gain, shift, mean = (net.number(channels) for _ in range(3))
    variance = net.number(channels, low=0.5, high=2.0)
    net.add(
        lambda x: F.batch_norm(x, net.at(mean), net.at(variance), net.at(gain), net.at(shift), eps=0.125),
        [("BatchNormalization", f"{{x}} {gain} {shift} {mean} {variance}", {"epsilon": 0.125})],
        net.shape,
    )


def max_pool(net: Architecture) -> None:
    channels, height, width = net.shape
    window, stride = net.whole(2, 4), net.whole(1, 3)
    net.add(
        lambda x: F.max_pool2d(x, window, stride, padding=1),
        [("MaxPool", "{x}", {"kernel_shape": [window] * 2, "strides": [stride] * 2, "pads": [1] * 4})],
        (channels, *(_outputs(size, window, stride, 2) for size in (height, width))),
    )


def average_pool(net: Architecture) -> None:
    counted = bool(net.whole(0, 2))
    net.add(
        lambda x: F.avg_pool2d(x, 3, 1, padding=1, count_include_pad=counted),
        [("AveragePool", "{x}", {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": int(counted)})],
        net.shape,
    )


def rectifier(net: Architecture) -> None:
    slopes = net.number(net.shape[0], 1, 1)
    kinds: list[tuple[Callable[[Any], Any], list[tuple[str, str, dict[str, Any]]]]] = [
        (F.relu, [("Relu", "{x}", {})]),
        (lambda x: F.leaky_relu(x, 0.25), [("LeakyRelu", "{x}", {"alpha": 0.25})]),
        (torch.abs, [("Abs", "{x}", {})]),
        (lambda x: F.prelu(x, net.at(slopes).flatten()), [("PRelu", f"{{x}} {slopes}", {})]),
    ]
    step, operations = kinds[net.whole(0, len(kinds))]
    net.add(step, operations, net.shape)


def clipping(net: Architecture) -> None:
    low, high = net.keep(np.array(-0.5, dtype=np.float32)), net.keep(np.array(0.75, dtype=np.float32))
    net.add(lambda x: x.clamp(-0.5, 0.75), [("Clip", f"{{x}} {low} {high}", {})], net.shape)


def hard_sigmoid(net: Architecture) -> None:
    net.add(
        lambda x: (0.25 * x + 0.5).clamp(0, 1),
        [("HardSigmoid", "{x}", {"alpha": 0.25, "beta": 0.5})],
        net.shape,
    )


def residual(net: Architecture) -> None:
    """A convolution and a rectifier beside the identity, added."""
    channels = net.shape[0]
    weight = net.number(channels, channels, 3, 3)
    net.add(
        lambda x: x + F.relu(F.conv2d(x, net.at(weight), padding=1)),
        [("Conv", f"{{x}} {weight}", {"pads": [1] * 4}), ("Relu", "{}", {}), ("Add", "{x} {}", {})],
        net.shape,
    )


def joined(net: Architecture) -> None:
    """The tensor and its negative, rectified, side by side."""
    channels, height, width = net.shape
    net.add(
        lambda x: torch.cat([F.relu(-x), x], 1),
        [("Neg", "{x}", {}), ("Relu", "{}", {}), ("Concat", "{} {x}", {"axis": 1})],
        (2 * channels, height, width),
    )
    if 2 * channels > 4:
        starts, ends, axes, steps = (net.keep(np.array([n])) for n in (0, 2 * channels, 1, 2))
        net.add(
            lambda x: x[:, ::2],
            [("Slice", f"{{x}} {starts} {ends} {axes} {steps}", {})],
            (channels, height, width),
        )


def maxout(net: Architecture) -> None:
    factor = net.number(net.shape[0], 1, 1)
    net.add(
        lambda x: torch.maximum(x, x * net.at(factor)),
        [("Mul", f"{{x}} {factor}", {}), ("Max", "{x} {}", {})],
        net.shape,
    )


def smallest(net: Architecture) -> None:
    """The smaller of the tensor and its mirror image."""
    order = net.keep(np.arange(net.shape[2])[::-1].copy())
    net.add(
        lambda x: torch.minimum(x, x.flip(3)),
        [("Gather", f"{{x}} {order}", {"axis": 3}), ("Min", "{x} {}", {})],
        net.shape,
    )


def nearest(net: Architecture) -> None:
    channels = net.shape[0]
    sizes = net.keep(np.array([1, channels, 5, 7]))
    net.add(
        lambda x: F.interpolate(x, size=(5, 7)),
        [("Resize", f"{{x}} - - {sizes}", {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                                           "nearest_mode": "floor"})],
        (channels, 5, 7),
    )  # fmt: skip


def bilinear(net: Architecture) -> None:
    channels = net.shape[0]
    sizes = net.keep(np.array([1, channels, 5, 7]))
    net.add(
        lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"),
        [("Resize", f"{{x}} - - {sizes}", {"mode": "linear"})],
        (channels, 5, 7),
    )


def padding(net: Architecture) -> None:
    channels, height, width = net.shape
    pads = net.keep(np.array([0, 0, 1, 0, 0, 0, 0, 2]))
    mode = ("constant", "reflect", "edge")[net.whole(0, 3)]
    net.add(
        lambda x: F.pad(x, (0, 2, 1, 0), mode="replicate" if mode == "edge" else mode),
        [("Pad", f"{{x}} {pads}", {"mode": mode})],
        (channels, height + 1, width + 2),
    )


def transposition(net: Architecture) -> None:
    channels, height, width = net.shape
    net.add(lambda x: x.permute(0, 1, 3, 2), [("Transpose", "{x}", {"perm": [0, 1, 3, 2]})], (channels, width, height))


def channel_scale(net: Architecture) -> None:
    """Centered by the mean over all places, and divided by constants."""
    divisors = net.number(net.shape[0], 1, 1, low=0.5, high=2.0)
    net.add(
        lambda x: (x - x.mean((2, 3), keepdim=True)) / net.at(divisors),
        [("GlobalAveragePool", "{x}", {}), ("Sub", "{x} {}", {}), ("Div", f"{{}} {divisors}", {})],
        net.shape,
    )


def row_maxima(net: Architecture) -> None:
    """Every entry less the largest of its row."""
    net.add(
        lambda x: x - x.amax(3, keepdim=True),
        [("ReduceMax", "{x}", {"axes": [3]}), ("Sub", "{x} {}", {})],
        net.shape,
    )


STEPS = [
    average_pool, batch_norm, bilinear, channel_scale, clipping, convolution, hard_sigmoid, joined, max_pool, maxout,
    nearest, padding, rectifier, residual, row_maxima, smallest, transposed_convolution, transposition,
]  # fmt: skip
SHRINKING = [convolution, max_pool, padding]
