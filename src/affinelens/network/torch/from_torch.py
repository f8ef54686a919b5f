"""A torch module, exported at batch 1, replayed operation by operation.

``torch.export`` turns the module's evaluation-mode forward pass into a flat, functional graph of ATen operators
(in-place operations and views are resolved there); each operator on a value that depends on the input becomes a call to
:class:`GraphBuilder`. Operators on parameters alone are run by torch, in the model's own dtype, so the coefficients are
the numbers the model computes with. The module is left as it was found.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError, MissingExtraError, Option
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.graph import is_known, names_like, needed, require_known, require_one_input, tail_of
from affinelens.network.build.shapes import Shape, checked_shape
from affinelens.network.build.values import lifted
from affinelens.network.canonical import Network
from affinelens.network.note import Note, rounded_input

try:
    import torch
    from torch.export.graph_signature import InputKind, OutputKind
    from torch.fx.node import Node
    from torch.utils._pytree import tree_flatten_with_path, tree_unflatten

    from affinelens.network.torch.aten_call import AtenCall, AtenReplay
    from affinelens.network.torch.aten_table import OPERATORS, PASSIVE
    from affinelens.network.torch.exported_node import ExportedNode
except ImportError as missing:
    raise MissingExtraError.for_extra("torch", "torch", "compiling a torch module") from missing


def network_from_module(
    module: torch.nn.Module,
    input_shape: Sequence[int] | None,
    *,
    until: str | None = None,
    fixed: Mapping[str, Any] | None = None,
    inputs: int | None = None,
) -> Network:
    """Compile a module, as it behaves in evaluation mode, on inputs of the given shape (without the batch axis).

    Where no shape is given, the first linear layer tells it, or else the number of inputs does.
    """
    return Exported.of(module, Example(module, input_shape, fixed=fixed, inputs=inputs), until).network(module)


def network_from_program(
    program: torch.export.ExportedProgram,
    input_shape: Sequence[int] | None,
    *,
    until: str | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> Network:
    """Compile a module that is exported already, for one input at a time; the program stays as it is."""
    inputs = {name: _placeholder(program, name).meta["val"] for name in program.graph_signature.user_inputs}
    fixed = fixed or {}
    require_known(fixed, inputs)
    free = [name for name in inputs if name not in fixed]
    require_one_input(free)
    if not free or not isinstance(inputs[free[0]], torch.Tensor):
        raise AffineLensError("the exported program has no tensor as an input that is left free")
    sizes = inputs[free[0]].shape
    if len(sizes) < 2 or sizes[0] != 1 or not all(isinstance(size, int) for size in sizes):
        raise AffineLensError(
            f"the program was exported for an input of shape ({', '.join(map(str, sizes))}); export it for one input, "
            f"of batch size 1 and without dynamic_shapes"
        )
    if input_shape is not None and checked_shape(input_shape) != tuple(sizes[1:]):
        raise AffineLensError(
            Option("input_shape", input_shape), f" is not what the program was exported for, {tuple(sizes[1:])}"
        )
    tensors, notes = _typed(fixed, {"dtype": inputs[free[0]].dtype, "device": inputs[free[0]].device})
    with torch.no_grad(), _silence():
        lowered = _lowered(copy.deepcopy(program))
    return Exported(lowered, tuple(sizes[1:]), tensors, notes, until).network()


def _placeholder(program: torch.export.ExportedProgram, name: str) -> Node:
    return next(node for node in program.graph.nodes if node.op == "placeholder" and node.name == name)


class Example:
    """What a module is run on to see what it does: zeros for its input, and the values given for other arguments."""

    def __init__(
        self,
        module: torch.nn.Module,
        input_shape: Sequence[int] | None,
        *,
        fixed: Mapping[str, Any] | None = None,
        inputs: int | None = None,
    ) -> None:
        _require_plain_parameters(module)
        self.shape, self.guessed = (
            _inferred_shape(module, inputs) if input_shape is None else (checked_shape(input_shape), False)
        )
        self.fixed, self.notes = _fixed_tensors(module, fixed or {})
        zeros = torch.zeros((1, *self.shape), **_number_format(module))
        free = [name for name in inspect.signature(module.forward).parameters if name not in self.fixed]
        by_name = bool(self.fixed and free)
        self.positional: tuple[torch.Tensor, ...] = () if by_name else (zeros,)
        self.named: dict[str, torch.Tensor] = {free[0]: zeros, **self.fixed} if by_name else {}


class Exported:
    """A module's operations, exported once; its network is read from them as often as parameters change."""

    def __init__(
        self,
        program: torch.export.ExportedProgram,
        shape: Shape,
        fixed: Mapping[str, torch.Tensor],
        notes: Sequence[Note],
        until: str | None,
    ) -> None:
        self._program, self._shape, self._fixed, self._notes = program, shape, fixed, notes
        nodes = [ExportedNode(node) for node in program.graph.nodes if node.op == "call_function"]
        outputs = _outputs(program)
        if until is None:
            self._output = ExportedNode(_only_output(outputs, nodes))
        else:
            self._output = ExportedNode(outputs[until]) if until in outputs else _named_node(nodes, until)
        self._nodes = needed(nodes, self._output.node)
        self._tail = tail_of(self._nodes, self._output.node, PASSIVE)

    @classmethod
    def of(cls, module: torch.nn.Module, example: Example, until: str | None) -> Exported:
        with torch.no_grad():
            program = _export(module, example)
        return cls(program, example.shape, example.fixed, example.notes, until)

    def network(self, module: torch.nn.Module | None = None) -> Network:
        """The network with the numbers that a module's parameters and buffers have now, or else the program's own."""
        builder = GraphBuilder(self._shape)
        for note in self._notes:
            builder.note(note)
        with torch.no_grad():
            replay = AtenReplay(builder)
            _bind_inputs(replay, self._program, {} if module is None else named_tensors(module), self._fixed)
            for node in self._nodes:
                replay.define(node.node, OPERATORS.run(AtenCall(replay, node), tail=node is self._tail))
            return builder.finish(lifted(builder, replay.value(self._output.node, self._output)))


def named_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by all the names they have."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


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


def _inferred_shape(module: torch.nn.Module, inputs: int | None) -> tuple[Shape, bool]:
    """The shape that the first linear layer tells, or else a row of so many inputs, which is a guess."""
    telling = (
        (name, part)
        for name, part in module.named_modules()
        if isinstance(part, torch.nn.Linear) or next(part.parameters(recurse=False), None) is not None
    )
    name, first = next(telling, ("", None))
    if isinstance(first, torch.nn.Linear):
        return (first.in_features,), False
    if inputs is not None:
        return (inputs,), True
    if first is None:
        raise AffineLensError(
            "the module has no nn.Linear that tells the shape of an input; pass ", Option("input_shape")
        )
    raise AffineLensError(
        f"the first layer with parameters is {name or 'the module'} ({type(first).__name__}), which does not "
        "tell the shape of an input; pass ",
        Option("input_shape"),
        " without the batch axis",
    )


def _fixed_tensors(module: torch.nn.Module, fixed: Mapping[str, Any]) -> tuple[dict[str, torch.Tensor], list[Note]]:
    """The values given for arguments of the forward pass, in the module's own type, and notes on how they got there.

    One argument must be left.
    """
    arguments = inspect.signature(module.forward).parameters
    require_known(fixed, arguments)
    left = [
        name
        for name, argument in arguments.items()
        if argument.default is argument.empty and argument.kind is argument.POSITIONAL_OR_KEYWORD and name not in fixed
    ]
    require_one_input(left)
    return _typed(fixed, _number_format(module))


def _typed(fixed: Mapping[str, Any], kind: Mapping[str, Any]) -> tuple[dict[str, torch.Tensor], list[Note]]:
    """Given values as tensors of a type, and notes on those that it cannot hold."""
    tensors, notes = {}, []
    for name, values in fixed.items():
        try:
            given = values if isinstance(values, torch.Tensor) else torch.as_tensor(np.asarray(values))
        except (TypeError, ValueError):
            raise AffineLensError(f"fixed input {name!r} is not an array of numbers") from None
        tensors[name] = given.to(**kind) if given.is_floating_point() else given
        if not torch.equal(tensors[name].cpu().double(), given.cpu().double()):
            notes.append(rounded_input(name, str(tensors[name].dtype), "module"))
    return tensors, notes


def _export(module: torch.nn.Module, example: Example) -> torch.export.ExportedProgram:
    try:
        with evaluation_mode(module), _silence():
            program: torch.export.ExportedProgram = torch.export.export(module, example.positional, example.named)
            return _lowered(program)
    except Exception as error:  # whatever the user's forward pass raises
        _require_running_statistics(module)
        cause = " ".join(next(iter(str(error).splitlines()), type(error).__name__).split()).rstrip(".")
        if example.guessed:
            raise AffineLensError(
                f"{type(module).__name__} does not tell the shape of an input, and does not take a row of "
                f"{example.shape[0]} numbers ({cause}); pass ",
                Option("input_shape"),
                " without the batch axis",
            ) from None
        raise AffineLensError(
            f"torch.export cannot trace {type(module).__name__} on an input of shape {(1, *example.shape)} ({cause}); "
            "its forward pass must take one tensor of the shape in ",
            Option("input_shape"),
            ", with no data-dependent control flow",
        ) from None


def _lowered(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program in operators that the table reads, as far as torch can take others apart."""
    _write_out_shrinking(program)
    return program.run_decompositions(_decompositions())


def _require_running_statistics(module: torch.nn.Module) -> None:
    """Refuse a batch norm that takes its statistics from the batch: at one input there are none."""
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is None:
            raise AffineLensError(
                f"{name or 'the module'} ({type(part).__name__}) keeps no running statistics, so what it does to one "
                f"input depends on the others in the batch; train it with track_running_stats=True"
            ) from None


def _decompositions() -> dict[Any, Any]:
    """How torch takes operators apart; those that are read or refused by name are kept."""
    return {
        overload: way
        for overload, way in torch.export.default_decompositions().items()
        if not (is_known(name := overload.overloadpacket.__name__) or name in OPERATORS.table)
    }


def _write_out_shrinking(program: torch.export.ExportedProgram) -> None:
    """softshrink is x less x clipped; torch's own way to take it apart goes through signs, which jump."""
    for node in list(program.graph.nodes):
        if node.target is torch.ops.aten.softshrink.default:
            source, width = (*node.args, 0.5)[:2]
            with program.graph.inserting_before(node):
                clipped = program.graph.call_function(torch.ops.aten.hardtanh.default, (source, -width, width))
                shrunk = program.graph.call_function(torch.ops.aten.sub.Tensor, (source, clipped))
            clipped.meta, shrunk.meta = dict(node.meta), dict(node.meta)
            node.replace_all_uses_with(shrunk)
            program.graph.erase_node(node)


def _number_format(module: torch.nn.Module) -> dict[str, Any]:
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.is_floating_point():
            return {"dtype": tensor.dtype, "device": tensor.device}
    return {"dtype": torch.get_default_dtype()}


@contextlib.contextmanager
def evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
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


def _bind_inputs(
    replay: AtenReplay,
    program: torch.export.ExportedProgram,
    tensors: Mapping[str, torch.Tensor],
    fixed: Mapping[str, torch.Tensor],
) -> None:
    placeholders = (node for node in program.graph.nodes if node.op == "placeholder")
    for spec, node in zip(program.graph_signature.input_specs, placeholders, strict=True):
        target = str(spec.target)
        if spec.kind is InputKind.USER_INPUT:
            if node.name in fixed:
                replay.bind(node, fixed[node.name], f"fixed input {node.name!r}")
            else:
                replay.start(node, replay.builder.input(batched=True))
        elif target in tensors:
            replay.bind(node, tensors[target], target)
        else:
            replay.bind(node, program.state_dict.get(target, program.constants.get(target)), target)


def _outputs(program: torch.export.ExportedProgram) -> dict[str, Any]:
    """What the module returns, by name: keys of dictionaries and numbers of tuples, joined by dots."""
    found: list[Any] = []
    results: Any = program.graph.output_node().args[0]
    for spec, node in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind is OutputKind.BUFFER_MUTATION:
            raise AffineLensError(
                f"the module changes its buffer {spec.target} when it runs; a network must be a function"
            )
        if spec.kind is OutputKind.USER_OUTPUT:
            found.append(node)
    paths, _ = tree_flatten_with_path(tree_unflatten(found, program.call_spec.out_spec))
    return {".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path): node for path, node in paths}


def _only_output(outputs: Mapping[str, Any], nodes: Sequence[ExportedNode]) -> Node:
    """The one tensor that the module returns; of several, the error names one that can be read."""
    computed = {name: node for name, node in outputs.items() if isinstance(node, Node)}
    if len(outputs) == 1 and computed:
        return next(iter(computed.values()))
    readable = [name for name, node in computed.items() if node.op == "call_function" and _is_read(nodes, node)]
    advice = (Option("until", readable[0]), " chooses one") if readable else ("wrap it so that it returns one",)
    names = ", ".join(f"{name!r} ({node})" if name else str(node) for name, node in outputs.items())
    raise AffineLensError(f"the module returns {names or 'nothing'} instead of one tensor; ", *advice)


def _is_read(nodes: Sequence[ExportedNode], output: Node) -> bool:
    """Whether all operators on the way to an output are in the table, but for a tail."""
    way = needed(nodes, output)
    tail = tail_of(way, output, PASSIVE)
    return all(node.operator in OPERATORS.table for node in way if node is not tail)


def _named_node(nodes: Sequence[ExportedNode], until: str) -> ExportedNode:
    """The operation of that name, or the last one of the submodule of that name."""
    for node in nodes:
        if node.node.name == until:
            return node
    for node in reversed(nodes):
        if until and until in node.module_paths:
            return node
    known = [node.node.name for node in nodes] + [path for node in nodes for path in node.module_paths if path]
    raise AffineLensError(f"no submodule or operation is named {until!r}; names like it are {names_like(until, known)}")
