"""A torch module, exported at batch 1, replayed operation by operation.

``torch.export`` turns the module's evaluation-mode forward pass into a flat, functional graph of ATen operators
(in-place operations and views are resolved there); each operator on a value that depends on the input becomes a call to
:class:`GraphBuilder`. Operators on parameters alone are run by torch, in the model's own dtype, so the coefficients are
the numbers the model computes with. The module is left as it was found.
"""

from __future__ import annotations

import contextlib
import io
import logging
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.network.canonical import Network
from affinelens.network.graph import GraphBuilder, Tensor, parameter
from affinelens.network.nonlinear import rectify

try:
    import torch
    from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
    from torch.fx.node import Node, map_arg
except ImportError as missing:
    raise MissingExtraError.for_extra("torch", "torch", "compiling a torch module") from missing

Floats = NDArray[np.float64]


def network_from_module(
    module: torch.nn.Module,
    input_shape: Sequence[int] | None,
    *,
    until: str | None = None,
    fixed: Any = None,
    inputs: int | None = None,
) -> Network:
    """Compile a module, as it behaves in evaluation mode, on inputs of the given shape (without the batch axis).

    Where no shape is given, the first linear layer tells it, or else the number of inputs does.
    """
    _require_plain_parameters(module)
    shape = _inferred_shape(module, inputs) if input_shape is None else _checked_shape(input_shape)
    with torch.no_grad():
        return _Replay(_export(module, shape), shape).network()


def _require_plain_parameters(module: torch.nn.Module) -> None:
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if torch.nn.parameter.is_lazy(tensor):
            raise AffineLensError(
                f"{name} has no values yet; run the module once, so that its lazy layers take their sizes"
            )
        if tensor.is_complex() or tensor.is_meta or tensor.is_quantized or tensor.layout is not torch.strided:
            raise AffineLensError(
                f"{name} is a {tensor.layout} tensor of {tensor.dtype} on {tensor.device}; "
                f"parameters must be dense real numbers"
            )


def _inferred_shape(module: torch.nn.Module, inputs: int | None) -> tuple[int, ...]:
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.Linear):
            return (part.in_features,)
        if next(part.parameters(recurse=False), None) is not None:
            if inputs is not None:
                return (inputs,)
            raise AffineLensError(
                f"the first layer with parameters is {name or 'the module'} ({type(part).__name__}), which does not "
                f"tell the shape of an input; pass input_shape= without the batch axis"
            )
    if inputs is not None:
        return (inputs,)
    raise AffineLensError("the module has no nn.Linear that tells the shape of an input; pass input_shape=")


def _checked_shape(input_shape: Sequence[int]) -> tuple[int, ...]:
    try:
        shape = tuple(operator.index(size) for size in input_shape)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise AffineLensError(f"input_shape={input_shape!r} is not a shape; give positive sizes without the batch axis")
    return shape


def _export(module: torch.nn.Module, shape: tuple[int, ...]) -> torch.export.ExportedProgram:
    example = torch.zeros((1, *shape), **_number_format(module))
    try:
        with _evaluation_mode(module), _silence():
            program: torch.export.ExportedProgram = torch.export.export(module, (example,)).run_decompositions({})
            return program
    except Exception as error:  # whatever the user's forward pass raises
        cause = " ".join(next(iter(str(error).splitlines()), type(error).__name__).split()).rstrip(".")
        raise AffineLensError(
            f"torch.export cannot trace {type(module).__name__} on an input of shape {(1, *shape)} ({cause}); the "
            f"forward pass must take one tensor of the shape in input_shape= and have no data-dependent control flow"
        ) from error


def _number_format(module: torch.nn.Module) -> dict[str, Any]:
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.is_floating_point():
            return {"dtype": tensor.dtype, "device": tensor.device}
    return {"dtype": torch.get_default_dtype()}


@contextlib.contextmanager
def _evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
    """Set the flags by hand: ``eval()`` may be overridden to do more, and would forget which submodules were frozen."""
    flags = [(part, part.training) for part in module.modules()]
    try:
        for part, _ in flags:
            part.training = False
        yield
    finally:
        for part, training in flags:
            part.training = training


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep the exporter's warnings, log and printed graphs away from the user; its errors come back as exceptions."""
    level = logging.root.manager.disable
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(level)


class _Replay:
    """Walks an exported graph; a value is a :class:`Tensor` where it depends on the input, else what torch computes."""

    def __init__(self, program: torch.export.ExportedProgram, input_shape: tuple[int, ...]) -> None:
        self._program = program
        self._builder = GraphBuilder(input_shape)
        self._values: dict[Node, Any] = {}
        self._names: dict[Node, str] = {}

    def network(self) -> Network:
        output = self._output_node()
        self._bind_inputs()
        needed = _ancestors(output)
        for node in self._program.graph.nodes:
            if node in needed and node not in self._values:
                self._values[node] = self._evaluate(node)
        return self._builder.finish(self._as_tensor(self._values[output], output, output))

    def _output_node(self) -> Node:
        found: list[tuple[Any, Node]] = []
        results: Any = self._program.graph.output_node().args[0]
        for spec, node in zip(self._program.graph_signature.output_specs, results, strict=True):
            if spec.kind is OutputKind.BUFFER_MUTATION:
                raise AffineLensError(
                    f"the module changes its buffer {spec.target} when it runs; a network must be a function"
                )
            if spec.kind is OutputKind.USER_OUTPUT:
                found.append((spec.arg, node))
        if len(found) != 1 or not isinstance(found[0][0], TensorArgument):
            names = ", ".join(str(node) for _, node in found)
            raise AffineLensError(f"the module returns {names or 'nothing'}; wrap it so that it returns one tensor")
        return found[0][1]

    def _bind_inputs(self) -> None:
        placeholders = (node for node in self._program.graph.nodes if node.op == "placeholder")
        for spec, node in zip(self._program.graph_signature.input_specs, placeholders, strict=True):
            target = str(spec.target)
            self._names[node] = target
            if spec.kind is InputKind.USER_INPUT:
                self._values[node] = self._builder.input(batched=True)
            elif target in self._program.state_dict:
                self._values[node] = self._program.state_dict[target]
            else:
                self._values[node] = self._program.constants.get(target)

    def _evaluate(self, node: Node) -> Any:
        if node.op == "get_attr":
            return None
        args, kwargs = self._resolved(node.args), self._resolved(node.kwargs)
        if node.target is operator.getitem:
            return args[0][args[1]]
        try:
            if any(isinstance(self._values[source], Tensor) for source in node.all_input_nodes):
                return self._operator(node)(self, node)
            return self._fold(node, args, kwargs)
        except AffineLensError as error:
            raise error.located(f"{_place(node)} ({node.target})") from error

    def _operator(self, node: Node) -> Callable[[_Replay, Node], Any]:
        name = _operator_name(node)
        if name not in _OPERATORS:
            accepted = ", ".join(sorted(known.removeprefix("aten.") for known in _OPERATORS))
            raise AffineLensError(f"this operator is not read; accepted are {accepted}")
        return _OPERATORS[name]

    def _fold(self, node: Node, args: Any, kwargs: Any) -> Any:
        """Run an operator on constants, as the model does."""
        if not isinstance(node.target, torch._ops.OpOverload):
            raise AffineLensError("this operator is not read; write the module without it")
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            raise AffineLensError("this operator draws random numbers; a network must be a function")
        if node.all_input_nodes and _operator_name(node) not in _LAYOUT:
            self._builder.note(
                f"{_place(node)}: constants were combined by {node.target} in the model's own arithmetic"
            )
        return node.target(*args, **kwargs)

    def _resolved(self, arguments: Any) -> Any:
        """Arguments with nodes replaced by their values."""
        return map_arg(arguments, self._values.__getitem__)

    def _argument(self, node: Node, position: int, name: str = "", default: Any = None) -> Any:
        """The value of one argument, by position or keyword."""
        return self._resolved(node.args[position] if position < len(node.args) else node.kwargs.get(name, default))

    def _tensor(self, node: Node, position: int) -> Tensor:
        return self._as_tensor(self._argument(node, position), node, node.args[position])

    def _as_tensor(self, value: Any, node: Node, source: Any) -> Tensor:
        return value if isinstance(value, Tensor) else self._builder.constant(self._numbers(value, node, source))

    def _array(self, node: Node, position: int) -> Floats:
        """A constant argument; parameters keep their numbers."""
        value = self._argument(node, position)
        if isinstance(value, Tensor):
            raise AffineLensError(f"argument {position + 1} depends on the input too; it must be a constant")
        return self._numbers(value, node, node.args[position])

    def _numbers(self, value: Any, node: Node, source: Any) -> Floats:
        name = self._names.get(source, source.name) if isinstance(source, Node) else "a number in the graph"
        tensor = value.cpu() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64)
        if tensor.ndim == 0:
            tensor = tensor.to(_scalar_dtype(node))
        wide = (tensor.double() if tensor.is_floating_point() else tensor).numpy(force=True)
        return parameter(wide, name)

    def _scaled(self, tensor: Tensor, node: Node, position: int, name: str) -> Tensor:
        """The tensor times a Python number among the arguments (1 where it is left out)."""
        return self._builder.scale(tensor, self._numbers(self._argument(node, position, name, 1.0), node, None))

    def _linear(self, node: Node) -> Tensor:
        product = self._builder.matmul_right(self._tensor(node, 0), self._array(node, 1).T)
        if self._argument(node, 2, "bias") is None:
            return product
        return self._builder.add(product, self._tensor(node, 2))

    def _matmul(self, node: Node, first: int = 0) -> Tensor:
        if isinstance(self._argument(node, first + 1), Tensor):
            return self._builder.matmul_left(self._array(node, first), self._tensor(node, first + 1))
        return self._builder.matmul_right(self._tensor(node, first), self._array(node, first + 1))

    def _addmm(self, node: Node) -> Tensor:
        product = self._scaled(self._matmul(node, first=1), node, 4, "alpha")
        return self._builder.add(self._scaled(self._tensor(node, 0), node, 3, "beta"), product)

    def _add(self, node: Node) -> Tensor:
        return self._builder.add(self._tensor(node, 0), self._scaled(self._tensor(node, 1), node, 2, "alpha"))

    def _subtract(self, node: Node) -> Tensor:
        return self._builder.subtract(self._tensor(node, 0), self._scaled(self._tensor(node, 1), node, 2, "alpha"))

    def _subtract_from(self, node: Node) -> Tensor:
        return self._builder.subtract(self._tensor(node, 1), self._scaled(self._tensor(node, 0), node, 2, "alpha"))

    def _multiply(self, node: Node) -> Tensor:
        tensor, factors = (0, 1) if isinstance(self._argument(node, 0), Tensor) else (1, 0)
        return self._builder.scale(self._tensor(node, tensor), self._array(node, factors))

    def _divide(self, node: Node) -> Tensor:
        if self._argument(node, 2, "rounding_mode") is not None:
            raise AffineLensError("a division that rounds is not piecewise affine")
        return self._builder.divide(self._tensor(node, 0), self._array(node, 1))

    def _negate(self, node: Node) -> Tensor:
        return self._builder.scale(self._tensor(node, 0), np.array(-1.0))

    def _reshape(self, node: Node) -> Tensor:
        """Every operator that keeps the numbers and their order; the exporter has worked out the shape."""
        if not _result(node).is_floating_point():
            raise AffineLensError(f"a conversion to {_result(node).dtype} is not piecewise affine")
        return self._builder.reshape(self._tensor(node, 0), tuple(_result(node).shape))

    def _expand(self, node: Node) -> Tensor:
        return self._builder.broadcast(self._tensor(node, 0), tuple(_result(node).shape))

    def _permute(self, node: Node) -> Tensor:
        return self._builder.transpose(self._tensor(node, 0), self._argument(node, 1, "dims"))

    def _transpose(self, node: Node) -> Tensor:
        tensor = self._tensor(node, 0)
        axes = np.arange(len(tensor.shape))
        swapped = [self._argument(node, 1, "dim0", 0), self._argument(node, 2, "dim1", -1)] if len(axes) > 1 else []
        axes[swapped] = axes[swapped[::-1]]
        return self._builder.transpose(tensor, axes.tolist())

    def _relu(self, node: Node) -> Tensor:
        return rectify(self._builder, self._tensor(node, 0), np.array(0.0), _place(node))

    def _leaky_relu(self, node: Node) -> Tensor:
        slope = self._numbers(self._argument(node, 1, "negative_slope", 0.01), node, None)
        return rectify(self._builder, self._tensor(node, 0), slope, _place(node))

    def _prelu(self, node: Node) -> Tensor:
        tensor, slopes = self._tensor(node, 0), self._array(node, 1)
        per_channel = (-1,) + (1,) * max(len(tensor.shape) - 2, 0)
        return rectify(self._builder, tensor, slopes.reshape(per_channel), _place(node))

    def _batch_norm(self, node: Node) -> tuple[Tensor]:
        """The operator has three results, of which evaluation mode uses the first."""
        mean = self._array(node, 3)
        normalised = self._builder.batch_norm(
            self._tensor(node, 0),
            gain=np.ones(len(mean)) if node.args[1] is None else self._array(node, 1),
            shift=np.zeros(len(mean)) if node.args[2] is None else self._array(node, 2),
            mean=mean,
            variance=self._array(node, 4),
            epsilon=float(self._argument(node, 6, "eps")),
            name=_place(node).split("/")[0],
        )
        return (normalised,)


_OPERATORS: dict[str, Callable[[_Replay, Node], Any]] = {
    "aten._native_batch_norm_legit_no_training": _Replay._batch_norm,
    "aten._to_copy": _Replay._reshape,
    "aten._unsafe_view": _Replay._reshape,
    "aten.add": _Replay._add,
    "aten.addmm": _Replay._addmm,
    "aten.alias": _Replay._reshape,
    "aten.bmm": _Replay._matmul,
    "aten.clone": _Replay._reshape,
    "aten.detach": _Replay._reshape,
    "aten.div": _Replay._divide,
    "aten.expand": _Replay._expand,
    "aten.flatten": _Replay._reshape,
    "aten.leaky_relu": _Replay._leaky_relu,
    "aten.linear": _Replay._linear,
    "aten.matmul": _Replay._matmul,
    "aten.mm": _Replay._matmul,
    "aten.mul": _Replay._multiply,
    "aten.mv": _Replay._matmul,
    "aten.neg": _Replay._negate,
    "aten.permute": _Replay._permute,
    "aten.prelu": _Replay._prelu,
    "aten.relu": _Replay._relu,
    "aten.reshape": _Replay._reshape,
    "aten.rsub": _Replay._subtract_from,
    "aten.squeeze": _Replay._reshape,
    "aten.sub": _Replay._subtract,
    "aten.t": _Replay._transpose,
    "aten.transpose": _Replay._transpose,
    "aten.unsqueeze": _Replay._reshape,
    "aten.view": _Replay._reshape,
}

# Operators that move a constant's numbers without changing them.
_LAYOUT = {
    "aten._unsafe_view",
    "aten.alias",
    "aten.cat",
    "aten.clone",
    "aten.detach",
    "aten.expand",
    "aten.flatten",
    "aten.item",
    "aten.permute",
    "aten.reshape",
    "aten.select",
    "aten.slice",
    "aten.split",
    "aten.squeeze",
    "aten.stack",
    "aten.t",
    "aten.transpose",
    "aten.unsqueeze",
    "aten.view",
}


def _ancestors(output: Node) -> set[Node]:
    """The node and everything it is computed from; the rest of the graph does not matter."""
    found = {output}
    waiting = [output]
    while waiting:
        for source in waiting.pop().all_input_nodes:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def _operator_name(node: Node) -> str:
    return str(getattr(node.target, "overloadpacket", node.target))


def _place(node: Node) -> str:
    """The module that holds an operation, if it is not the whole, and the operation's name in the exported graph."""
    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return f"{stack[-1]}/{node.name}" if stack and stack[-1] else node.name


def _result(node: Node) -> torch.Tensor:
    """What the exporter knows about a node's result: shape and dtype."""
    value: Any = node.meta["val"]
    result: torch.Tensor = value if isinstance(value, torch.Tensor) else value[0]
    return result


def _scalar_dtype(node: Node) -> torch.dtype:
    """The type a single number takes part in an operation with: half types compute in float32."""
    return torch.float64 if _result(node).dtype == torch.float64 else torch.float32
