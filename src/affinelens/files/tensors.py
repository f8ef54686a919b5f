"""Reading files of named tensors from anywhere, safetensors and torch's: plain real numbers, and nothing is run."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError, MissingExtraError, Words
from affinelens.files.npz import require_plausible_size


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file by name; the format does not keep their order."""
    from safetensors.numpy import load_file

    try:
        arrays = load_file(path)
        return {name: _widened(array) for name, array in arrays.items()}
    except Exception:  # float8 kinds, unknown ones and damage fail in many ways, all before anything large is made
        raise AffineLensError(
            f"{path}: not a readable safetensors file of float or integer tensors; save the weights again"
        ) from None


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    """numpy knows bfloat16 only through float32, which holds it exactly."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def read_state_dict(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a ``.pt`` file that holds nothing but weights, in the file's order."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError.for_extra("torch", "torch", f"reading {path}") from None
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                require_plausible_size(archive, path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stored = torch.load(path, map_location="cpu", weights_only=True)
    except AffineLensError:
        raise
    except Exception:  # a damaged or hostile pickle fails in many ways; none of them has run anything
        raise AffineLensError(
            f"{path}: not a file of plain weights (anything else could run code when loaded); "
            "save model.state_dict(), or ",
            Words("load the model yourself and pass the module", "export the model to ONNX"),
        ) from None
    states = {"": stored} if _holds_tensors(stored, torch.Tensor) else _states_inside(stored, torch.Tensor)
    if len(states) != 1:
        inner = f" with several state dictionaries ({', '.join(states)})" if states else ", not a state dictionary"
        raise AffineLensError(f"{path}: holds {type(stored).__name__}{inner}; save model.state_dict() alone")
    (stored,) = states.values()
    try:
        return {_name(name): tensor_values(value, _name(name)) for name, value in stored.items()}
    except AffineLensError as error:
        raise error.located(str(path)) from None


def _holds_tensors(value: Any, kind: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(entry, kind) for entry in value.values())


def _states_inside(stored: Any, kind: type) -> dict[str, Any]:
    """The state dictionaries among the entries of a training checkpoint, by what shows their names."""
    entries = stored.items() if isinstance(stored, Mapping) else ()
    return {f"{name!r:.40}": value for name, value in entries if _holds_tensors(value, kind) and value}


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise AffineLensError(f"a tensor's name is of type {type(name).__name__}; names are text")
    return name


def tensor_values(tensor: Any, name: str) -> NDArray[Any]:
    """A torch tensor's numbers, exactly; one that does not hold as many of them as it declares is refused."""
    import torch

    kind = f"{name} is a {tensor.layout} tensor of {tensor.dtype} on {tensor.device}".replace("torch.", "")
    accepted = f"{kind}; weights must be dense real numbers, so save them with .to_dense().float()"
    if (
        tensor.layout is not torch.strided
        or tensor.is_nested
        or tensor.is_quantized
        or tensor.is_complex()
        or tensor.is_meta
    ):
        raise AffineLensError(accepted)
    try:
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise AffineLensError(
                f"{name} of shape {tuple(tensor.shape)} repeats what it stores; save it with .clone()"
            )
        plain = tensor.detach().cpu().resolve_neg()
        has_own_type = plain.dtype in (torch.float16, torch.float32, torch.float64) or not plain.is_floating_point()
        values: NDArray[Any] = (plain if has_own_type else plain.to(torch.float32)).numpy()
    except AffineLensError:
        raise
    except Exception:  # whatever else torch has that numpy has not
        raise AffineLensError(accepted) from None
    return values
