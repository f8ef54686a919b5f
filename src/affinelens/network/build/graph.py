"""A model as a graph of named operations: which of them an output needs, and how inputs and places are named."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Protocol, TypeVar

from affinelens.errors import AffineLensError, Option

Key = TypeVar("Key", bound=Hashable, covariant=True)
# Operators as frameworks name them, in small letters without underscores: those that rescale scores in their order,
# those that are not piecewise affine, and those that jump.
_TAILS = {"logsoftmax", "sigmoid", "softmax", "tanh"}
_CURVED = _TAILS | {
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "attention", "celu", "cos", "cosh", "cumprod", "det", "elu",
    "erf", "exp", "gelu", "glu", "groupnorm", "groupnormalization", "gru", "hardswish", "instancenorm",
    "instancenormalization", "layernorm", "layernormalization", "log", "logsigmoid", "logsumexp", "lpnormalization",
    "lrn", "lstm", "meanvariancenormalization", "mish", "nativelayernorm", "pow", "prod", "reciprocal", "reducel2",
    "reducelogsum", "reducelogsumexp", "reduceprod", "reducesumsquare", "rmsnorm", "rmsnormalization", "rnn", "rnntanh",
    "rsqrt", "scaleddotproductattention", "selu", "silu", "sin", "sinh", "softplus", "softsign", "sqrt", "square",
    "std", "swish", "tan", "var",
}  # fmt: skip
_JUMPS = {
    "argmax", "argmin", "argsort", "ceil", "eq", "equal", "floor", "floordivide", "fmod", "frac", "hardmax",
    "heaviside", "mod", "ne", "nonzero", "notequal", "remainder", "round", "trunc",
}  # fmt: skip


class Node(Protocol[Key]):
    """An operation of a model: its operator, and the keys of the values that it reads and makes.

    ``name`` is for stages and notes, ``place`` for errors, and ``label`` is the operation as the user knows it.
    """

    @property
    def operator(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def inputs(self) -> Sequence[Key]: ...
    @property
    def outputs(self) -> Sequence[Key]: ...


AnyNode = TypeVar("AnyNode", bound=Node[Any])


def needed(nodes: Sequence[AnyNode], output: Any) -> list[AnyNode]:
    """The nodes that an output is computed from, in order; the rest of the model does not matter."""
    wanted = {output}
    found = []
    for node in nodes[::-1]:
        if wanted.intersection(node.outputs):
            wanted.update(filter(None, node.inputs))  # the key of an optional input that is not given is empty
            found.append(node)
    return found[::-1]


def tail_of(nodes: Sequence[AnyNode], output: Any, passive: Collection[str]) -> AnyNode | None:
    """The node that rescales the scores in their order, if none but ``passive`` ones lie between it and the output."""
    for node in nodes[::-1]:
        if output in node.outputs[:1]:
            if _plain_name(node.operator) in _TAILS:
                return node
            if node.operator not in passive or not node.inputs:
                return None
            output = node.inputs[0]
    return None


def is_curved(operator: str) -> bool:
    """Whether an operator is known not to be piecewise affine."""
    return _plain_name(operator) in _CURVED


def jumps(operator: str) -> bool:
    """Whether an operator is known not to be continuous."""
    return _plain_name(operator) in _JUMPS


def is_known(operator: str) -> bool:
    """Whether it is known of an operator, without looking at what it is made of, that it is no part of a network."""
    return is_curved(operator) or jumps(operator)


def _plain_name(operator: str) -> str:
    return operator.replace("_", "").lower()


def require_known(fixed: Iterable[str], inputs: Collection[str]) -> None:
    """Refuse to fix what is no input."""
    for name in fixed:
        if name not in inputs:
            raise AffineLensError(Option("fixed"), f" names {name!r}, but the inputs are {listed(inputs) or 'none'}")


def require_one_input(inputs: Sequence[str]) -> None:
    """Refuse a model that is a function of several inputs."""
    if len(inputs) > 1:
        others = Option("fixed", entries=tuple(inputs[1:]))
        raise AffineLensError(f"the inputs are {listed(inputs)}, but a network has one; ", others, " leaves the first")


def names_like(name: object, known: Iterable[str]) -> str:
    """The known names that are nearest to one that is not known, to be shown."""
    names = list(dict.fromkeys(known))
    return listed(get_close_matches(str(name), names, n=3, cutoff=0.3) or names[-1:]) or "none"


def listed(names: Iterable[object]) -> str:
    return ", ".join(repr(str(name)) for name in names)
