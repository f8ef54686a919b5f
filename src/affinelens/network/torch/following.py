"""The networks of a module that is being trained: its operations are found once, its numbers are read every time.

What was found holds as long as the module's forward pass has the same trace: the operators that run, one after the
other, and what they run on. Two passes with equal traces compute the same function of their parameters, whatever Python
code chose the operators: attributes, global variables and hooks show in the trace if they matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from affinelens.network.canonical import Network
from affinelens.network.torch.from_torch import Example, Exported, evaluation_mode, named_tensors

Trace = list[Any]


class ModuleFollower:
    """Compiles a module again and again, as :func:`affinelens.network` does, but exports it only if it does new things.

    Exporting takes a hundred times longer than reading parameters.
    """

    def __init__(
        self,
        input_shape: Sequence[int] | None = None,
        *,
        until: str | None = None,
        fixed: Mapping[str, Any] | None = None,
        inputs: int | None = None,
    ) -> None:
        self._see = partial(Example, input_shape=input_shape, fixed=fixed, inputs=inputs)
        self._until = until
        self._known: tuple[Trace, Example, Exported] | None = None

    def network(self, module: torch.nn.Module) -> Network:
        """The module's network as it is now; the module and the random state are left as they are."""
        if self._known is not None:
            trace, example, exported = self._known
            if _traced(module, example) == trace:
                return exported.network(module)
        self._known = None
        example = self._see(module)
        exported = Exported.of(module, example, self._until)
        seen = _traced(module, example)
        if seen is not None:
            self._known = seen, example, exported
        return exported.network(module)


def _traced(module: torch.nn.Module, example: Example) -> Trace | None:
    """The operators of the module's forward pass in evaluation mode; None if it cannot be followed.

    Random states are put back, and nothing is recorded for gradients.
    """
    tensors = named_tensors(module)
    devices = {tensor.device.index for tensor in tensors.values() if tensor.is_cuda}
    recorder = _Recorder(tensors)
    with torch.random.fork_rng(devices=devices), torch.no_grad(), evaluation_mode(module):
        try:
            with recorder:
                result = module(*example.positional, **example.named)
        except Exception:  # whatever the user's forward pass raises; compiling the module in full will say it
            return None
    return [example.shape, *recorder.operators, recorder.described(result)]


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Notes every operator with its arguments, in which tensors stand by name, by the operator that made them, or by
    their values."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.operators: Trace = []
        self._known: dict[int, Any] = {}
        for name, tensor in tensors.items():
            self._known.setdefault(id(tensor), (name, *_kind(tensor)))
        self._alive: list[torch.Tensor] = []  # so that no tensor gets the identity of an earlier one

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        arguments = self.described(args), self.described(kwargs or {})
        result = func(*args, **(kwargs or {}))
        self._note_results(result, len(self.operators))
        self.operators.append((func, *arguments))
        return result

    def described(self, value: Any) -> Any:
        """A value such that equal descriptions mean the same value, in two passes that were the same so far."""
        if isinstance(value, torch.Tensor):
            known = self._known.get(id(value))
            if known is None:
                self._alive.append(value)
                known = self._known[id(value)] = (*_kind(value), _bytes_of(value))
            return known
        if isinstance(value, tuple | list):
            return [self.described(entry) for entry in value]
        if isinstance(value, dict):
            return [(repr(key), self.described(entry)) for key, entry in value.items()]
        return repr(value)

    def _note_results(self, result: Any, number: int, place: int = 0) -> None:
        if isinstance(result, torch.Tensor):
            self._alive.append(result)
            self._known.setdefault(id(result), (number, place))
        elif isinstance(result, tuple | list):
            for place, each in enumerate(result):
                self._note_results(each, number, place)


def _kind(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, str(tensor.device), tensor.layout


def _bytes_of(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().cpu().contiguous().reshape(-1)
    return plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
