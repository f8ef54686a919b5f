"""The networks of a module that is being trained: its operations are found once, its numbers are read every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
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
        self._see = partial(Example, input_shape=input_shape, fixed=fixed, inputs=inputs)
        self._until = until
        self._known: tuple[Trace, Example, Exported] | None = None

    def network(self, module: torch.nn.Module) -> Network:
        """The module's network as it is now; the module and the random state are left as they are."""
        if self._known is not None:
            trace, example, exported = self._known
            if traced(module, example) == trace:
                return exported.network(module)
        self._known = None
        example = self._see(module)
        exported = Exported(example, module, self._until)
        seen = traced(module, example)
        if seen is not None:
            self._known = seen, example, exported
        return exported.network(module)
