"""The networks of a module that is being trained: its operations are found once, its numbers are read every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from affinelens.network.canonical import Network
from affinelens.network.torch.from_torch import Example, Exported
from affinelens.network.torch.trace import Trace, traced


class ModuleFollower:
    """Compiles a module again and again, as :func:`affinelens.network` does, but exports it only if it does new things.

    Exporting takes a hundred times longer than reading parameters. What was exported holds as long as the forward pass
    runs the same operators on the same parameters.
    """

    def __init__(
        self,
        input_shape: Sequence[int] | None = None,
        *,
        until: str | None = None,
        fixed: Mapping[str, Any] | None = None,
        inputs: int | None = None,
    ) -> None:
        self._input_shape = input_shape
        self._until = until
        self._fixed = fixed
        self._inputs = inputs
        self._example: Example | None = None
        self._exported: Exported | None = None
        self._trace: Trace | None = None

    def network(self, module: torch.nn.Module) -> Network:
        """The module's network as it is now; the module and the random state are left as they are."""
        if self._exported is not None and self._example is not None and self._trace is not None:
            if traced(module, self._example) == self._trace:
                return self._exported.network(module)
            self._trace = None
        self._example = Example(module, self._input_shape, fixed=self._fixed, inputs=self._inputs)
        self._exported = Exported(self._example, module, self._until)
        self._trace = traced(module, self._example)
        return self._exported.network(module)
