"""What operators take and make: tensors, which depend on the network's input, and constants, which do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.shapes import Shape

Array = NDArray[Any]


class RefusedError(AffineLensError):
    """An operator that is no part of a network; the model can be cut before it."""


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers of the model in their own type, and where they come from."""

    values: Array
    name: str

    @property
    def shape(self) -> Shape:
        return self.values.shape

    def numbers(self) -> Floats:
        """The values as coefficients."""
        return parameter(self._plain(), self.name)

    def bounds(self) -> Floats:
        """The values as bounds, which may be infinite."""
        return self._plain().astype(np.float64)

    def _plain(self) -> Array:
        """numpy knows bfloat16 only through float32, which holds it exactly."""
        return self.values.astype(np.float32) if self.values.dtype.kind == "V" else self.values


@dataclass(frozen=True, eq=False)
class Comparison:
    """Where a tensor that depends on the network's input is above 0: no numbers, but something to choose by."""

    lead: Tensor

    @property
    def shape(self) -> Shape:
        return self.lead.shape


@dataclass(frozen=True, eq=False)
class SignOf:
    """The sign of a tensor that depends on the network's input: it jumps, but may be a factor of what is 0 there."""

    lead: Tensor

    @property
    def shape(self) -> Shape:
        return self.lead.shape


Value = Tensor | Constant | Comparison | SignOf


def lifted(builder: GraphBuilder, value: Value) -> Tensor:
    """A value as a tensor."""
    if isinstance(value, Comparison):
        raise RefusedError("a comparison jumps between true and false; it is read in where() and as a factor alone")
    if isinstance(value, SignOf):
        raise RefusedError("a sign jumps from -1 to 1; it is read as a factor alone, as in h * sign(h)")
    return value if isinstance(value, Tensor) else builder.constant(value.numbers())


def parameter(values: ArrayLike, name: str) -> Floats:
    """A model's parameter as float64, which holds every smaller float exactly."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise AffineLensError(f"{name} holds values of type {array.dtype}; real numbers are needed")
    if array.dtype.kind in "iu" and array.size and (array.max() > 2**53 or array.min() < -(2**53)):
        raise AffineLensError(f"{name} holds integers beyond 2**53, which float64 cannot represent; rescale the model")
    with np.errstate(all="ignore"):  # a signalling NaN warns when it is converted
        wide = array.astype(np.float64)
    if array.dtype.itemsize > 8 and not np.array_equal(wide.astype(array.dtype), array):
        raise AffineLensError(f"{name} holds {array.dtype} numbers that float64 cannot represent; convert the model")
    if not np.isfinite(wide).all():
        found = "NaN" if np.isnan(wide).any() else "infinity"
        raise AffineLensError(f"{name} contains {found}; every weight must be a finite number")
    return wide
