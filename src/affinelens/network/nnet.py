"""Networks in the ``.nnet`` text format, as those of ACAS Xu come: ReLU layers, and scales of inputs and outputs.

A file's numbers are decimals, and the network has exactly these: a layer's are whole numbers over one denominator,
which divides what they sum up to. Inputs and outputs are in the file's own units: it states the mean and the range of
every input, by which inputs are brought to the first layer's scale, and one of each for all outputs.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isfinite, lcm
from pathlib import Path
from typing import NamedTuple

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.canonical import Network
from affinelens.network.note import Note, NoteKind
from affinelens.network.piecewise_linear import PiecewiseLinear

_LARGEST_TEXT = 64 * 2**20
_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LARGEST_WHOLE = 2**53
_LONGEST_NUMBER = 400  # characters; more digits than any float64 is written with


class Decimals(NamedTuple):
    """Numbers of a file, ``numerators / over``; where that takes more digits than float64 has they are ``rounded``."""

    numerators: Floats
    over: int
    rounded: bool

    @classmethod
    def read(cls, words: list[str]) -> Decimals:
        """Floats where these are the decimals, and otherwise whole numbers over one denominator."""
        exact = [Fraction(word) for word in words]
        nearest = np.array([float(word) for word in words])
        if all(Fraction(value) == number for value, number in zip(nearest.tolist(), exact, strict=True)):
            return cls(nearest, 1, rounded=False)
        over = lcm(*{number.denominator for number in exact})
        whole = [int(number * over) for number in exact]
        if max(over, *map(abs, whole)) > _LARGEST_WHOLE:
            return cls(nearest, 1, rounded=True)
        return cls(np.array(whole, dtype=np.float64), over, rounded=False)


class NnetFile(NamedTuple):
    """What a file states; a layer's numbers are rows of weights, then the biases."""

    sizes: list[int]
    means: list[str]
    ranges: list[str]
    layers: list[list[str]]


def network_from_nnet(path: Path) -> Network:
    """Compile a file of at least one layer, with ReLU between layers."""
    try:
        return _compiled(_read(path))
    except AffineLensError as error:
        raise error.located(str(path)) from None


def _read(path: Path) -> NnetFile:
    """The numbers of a file, as many as its sizes ask for, all of them finite."""
    if path.stat().st_size > _LARGEST_TEXT:
        raise AffineLensError(f"holds more than {_LARGEST_TEXT >> 20} MiB of text; export so large a network to ONNX")
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise AffineLensError(f"cannot be read ({error.strerror})") from None
    words = " ".join(line for line in lines if not line.lstrip().startswith("//")).replace(",", " ").split()
    head = [int(word) for word in words[:4] if _WHOLE.fullmatch(word)]
    if len(head) < 4:
        raise AffineLensError(
            "is not a .nnet file, which begins with the numbers of layers, inputs, outputs and the largest layer's size"
        )
    count, inputs, outputs, _ = head
    sizes = [int(word) for word in words[4 : 5 + count] if _WHOLE.fullmatch(word)]
    if count < 1 or len(sizes) != count + 1 or min(sizes) < 1 or (sizes[0], sizes[-1]) != (inputs, outputs):
        raise AffineLensError(
            f"states {count} layers, {inputs} inputs and {outputs} outputs, but its layers' sizes "
            f"({', '.join(word[:20] for word in words[4 : min(5 + count, 10)])}) do not fit these"
        )
    # The sizes are followed by a flag of no meaning, and by the inputs' bounds, which are no part of the network.
    means = 6 + count + 2 * inputs
    first = means + 2 * (inputs + 1)
    ends = list(accumulate((wide * (narrow + 1) for narrow, wide in pairwise(sizes)), initial=first))
    if len(words) != ends[-1]:
        shown = ", ".join(map(str, sizes[:8]))
        raise AffineLensError(f"holds {len(words)} numbers, but layers of sizes {shown} take {ends[-1]}")
    wrong = next((word for word in words[means:] if not _is_number(word)), None)
    if wrong is not None:
        raise AffineLensError(f"holds {wrong!r:.40} where a decimal that float64 can hold is expected")
    layers = [words[start:end] for start, end in pairwise(ends)]
    return NnetFile(sizes, words[means : means + inputs + 1], words[means + inputs + 1 : first], layers)


def _is_number(word: str) -> bool:
    return len(word) <= _LONGEST_NUMBER and bool(_NUMBER.fullmatch(word)) and isfinite(float(word))


def _compiled(file: NnetFile) -> Network:
    builder = GraphBuilder((file.sizes[0],))
    means, ranges = Decimals.read(file.means), Decimals.read(file.ranges)
    if not ranges.numerators.all():
        raise AffineLensError("states a range of 0; inputs and outputs are divided by their ranges, so state 1")
    layers = [Decimals.read(words) for words in file.layers]
    builder.begin("normalise")
    tensor = _divided(builder, _shifted(builder, builder.input(), -means.numerators[:-1], means.over), ranges)
    for index, (width, layer) in enumerate(zip(file.sizes[1:], layers, strict=True)):
        weight, bias = layer.numerators[:-width].reshape(width, -1), layer.numerators[-width:]
        builder.begin("linear")
        tensor = builder.add_constant(builder.matmul_right(tensor, weight.T), bias)
        tensor = _over(builder, tensor, layer.over)
        if index < len(layers) - 1:
            builder.begin("ReLU")
            tensor = builder.activate(tensor, PiecewiseLinear.relu(width), f"layer {index}")
    builder.begin("denormalise")
    tensor = _over(builder, builder.scale(tensor, ranges.numerators[-1:]), ranges.over)
    tensor = _shifted(builder, tensor, means.numerators[-1:], means.over)
    if any(numbers.rounded for numbers in (means, ranges, *layers)):
        builder.note(Note(NoteKind.ROUNDED, "decimals of more digits than float64 has were rounded once to float64"))
    units = "inputs and outputs are in the file's own units; inputs beyond its bounds are not clipped to these"
    builder.note(Note(NoteKind.ASSUMED, units))
    return builder.finish(tensor)


def _shifted(builder: GraphBuilder, tensor: Tensor, numerators: Floats, over: int) -> Tensor:
    """``tensor + numerators / over``."""
    if not numerators.any():
        return tensor
    return _over(builder, builder.add_constant(builder.scale(tensor, np.array(float(over))), numerators), over)


def _over(builder: GraphBuilder, tensor: Tensor, over: int) -> Tensor:
    return tensor if over == 1 else builder.divide(tensor, np.array(float(over)))


def _divided(builder: GraphBuilder, tensor: Tensor, ranges: Decimals) -> Tensor:
    """The inputs over their ranges."""
    divisors = ranges.numerators[:-1]
    scaled = builder.scale(tensor, np.array(float(ranges.over)))
    return scaled if (divisors == 1.0).all() else builder.divide(scaled, divisors)
