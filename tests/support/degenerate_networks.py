"""Networks whose hyperplanes meet, coincide or almost do: copies of units, multiples, zeros, slivers; and, for fuzzing,
layers in which any of that may happen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from support.brute_force import Layer
from support.networks import ABSOLUTE, HARD_TANH, LEAKY, LINEAR, NEGATIVE_SLOPE, RELU, ZIGZAG
from support.random_networks import Layers

FUNCTIONS = [RELU, LEAKY, NEGATIVE_SLOPE, ABSOLUTE, HARD_TANH, ZIGZAG, LINEAR]
WIDTH = {1: 6, 2: 5, 3: 4, 4: 3}


def with_copies(layers: Sequence[Layer]) -> list[Layer]:
    """Each unit of the first layer once more, and once more turned round and scaled."""
    first, second, *others = layers
    weight, bias = np.array(first.weight), np.array(first.bias)
    wide = np.concatenate([weight, weight, -2.0 * weight]).tolist(), np.concatenate([bias, bias, -2.0 * bias]).tolist()
    return [Layer(*wide), Layer(np.tile(second.weight, (1, 3)).tolist(), second.bias), *others]


def slivers(seed: int) -> Layers:
    """Four pairs of almost equal units, between which few regions hold a float64 point that is provably inside."""
    generator = np.random.default_rng(seed)
    weight, bias = generator.standard_normal((10, 3)), 0.3 * generator.standard_normal(10)
    weight = np.vstack([weight, weight[:4]])
    bias = np.concatenate([bias, bias[:4] + np.array([1e-16, 1e-15, 1e-14, 1e-13])])
    second = generator.standard_normal((6, 14)), generator.standard_normal(6)
    return [(weight, bias), second, (np.ones((1, 6)), np.zeros(1))]


def repeated_by_the_next_layer(layers: Layers) -> Layers:
    """The second layer's first unit is zero where the first layer's is off, and equal to it where that is on."""
    (first, bias), (second, _), last = layers
    second = second.copy()
    second[0] = np.eye(len(first))[0]
    return [(first, np.append(0.0, bias[1:])), (second, np.zeros(len(second))), last]


whole = st.integers(-2, 2).map(float)
generic = st.floats(-2, 2).map(lambda v: round(v, 6))
# Numbers an ulp or two away from whole ones, so that almost everything is almost degenerate.
nearly_whole = st.tuples(st.integers(-1, 1), st.integers(-2, 2)).map(lambda pair: pair[0] * (1 + pair[1] * 2.0**-52))
wild = st.tuples(st.floats(-2, 2).map(lambda v: round(v, 3)), st.integers(-30, 30)).map(
    lambda pair: pair[0] * 10.0 ** pair[1]
)


@st.composite
def layer_of(draw: st.DrawFn, inputs: int, width: int, numbers: st.SearchStrategy[float], *, zero_bias: bool) -> Layer:
    """A layer, possibly with units that are copies of others, dead, constant, or along a face of the domain."""
    groups = draw(st.none() | st.none() | st.lists(st.integers(1, 3), min_size=1, max_size=2))
    size = sum(groups) if groups else draw(st.integers(1, width))
    weight = draw(st.lists(st.lists(numbers, min_size=inputs, max_size=inputs), min_size=size, max_size=size))
    bias = [0.0] * size if zero_bias else draw(st.lists(numbers, min_size=size, max_size=size))
    if size > 1:
        make_special(draw, weight, bias)
    if groups:
        return Layer(weight, bias, None, groups)
    pieces = draw(st.none() | st.lists(st.sampled_from(FUNCTIONS), min_size=size, max_size=size))
    return Layer(weight, bias, pieces)


def make_special(draw: st.DrawFn, weight: list[list[float]], bias: list[float]) -> None:
    """Make the last unit special, in one of many ways or not at all."""
    inputs = len(weight[0])
    special = draw(st.sampled_from(["no", "copy", "negated", "doubled", "shifted", "dead", "zero", "face", "sum"]))
    if special in ("copy", "negated", "doubled"):
        factor = {"copy": 1.0, "negated": -1.0, "doubled": 2.0}[special]
        weight[-1], bias[-1] = [factor * a for a in weight[0]], factor * bias[0]
    elif special == "shifted":
        weight[-1], bias[-1] = list(weight[0]), bias[0] + draw(st.sampled_from([1e-17, 1e-13, 1e-9]))
    elif special == "dead":
        weight[-1], bias[-1] = [0.0] * inputs, draw(st.sampled_from([-1.0, 1.0]))
    elif special == "zero":
        weight[-1], bias[-1] = [0.0] * inputs, 0.0
    elif special == "face":
        weight[-1], bias[-1] = [1.0, *[0.0] * (inputs - 1)], draw(st.sampled_from([-1.0, 1.0]))
    elif special == "sum" and len(weight) > 2:
        weight[-1], bias[-1] = [a + b for a, b in zip(weight[0], weight[1], strict=True)], bias[0] + bias[1]


@st.composite
def layers_that_meet(draw: st.DrawFn, dim: int, numbers: st.SearchStrategy[float] | None = None) -> list[Layer]:
    """Layers of numbers that are whole, almost whole or neither, one in five times without biases."""
    if numbers is None:
        numbers = draw(st.sampled_from([whole, generic, nearly_whole]))
    zero_bias = draw(st.integers(0, 4)) == 0
    layers: list[Layer] = []
    inputs = dim
    for _ in range(draw(st.integers(1, 3))):
        layers.append(draw(layer_of(inputs, WIDTH[dim], numbers, zero_bias=zero_bias)))
        inputs = len(layers[-1].groups or layers[-1].bias)
    return layers
