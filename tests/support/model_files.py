"""Small model files of every kind of named arrays, as bytes: what mutants are made of."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save

from affinelens import network
from support.random_networks import Layers, random_layers


def _arrays() -> dict[str, np.ndarray]:
    layers = random_layers([2, 3, 2], seed=5, bias=1)
    return {
        f"{i}.{role}": a for i, layer in enumerate(layers) for role, a in zip(("weight", "bias"), layer, strict=True)
    }


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def npz_samples() -> list[bytes]:
    arrays = _arrays()
    return [_written(lambda s: np.savez(s, **arrays)), _written(lambda s: np.savez_compressed(s, *arrays.values()))]


def safetensors_samples() -> list[bytes]:
    arrays = _arrays()
    return [save(arrays), save({name: array.astype(np.float16) for name, array in arrays.items()})]


def state_dict_samples() -> list[bytes]:
    plain = {name: torch.from_numpy(array.copy()) for name, array in _arrays().items()}
    with_views = {**plain, "0.weight": torch.zeros(1, 1).expand(3, 2)}
    others = [
        torch.zeros(3, 2, device="meta"),
        torch.eye(3, 2).to_sparse(),
        torch.quantize_per_tensor(torch.zeros(3, 2), 0.1, 0, torch.qint8),
        torch.zeros(3, 2, dtype=torch.bfloat16),
        torch.zeros(3, 2).to(torch.float8_e4m3fn),
        torch.zeros(3, 2, dtype=torch.complex64),
    ]
    states = [plain, with_views, *({**plain, "0.weight": other} for other in others)]
    zipped = [_written(lambda s, state=state: torch.save(state, s)) for state in states]
    old = _written(lambda s: torch.save(plain, s, _use_new_zipfile_serialization=False))
    return [*zipped, old]


def nnet_text(layers: Layers, means: Sequence[float] = (), ranges: Sequence[float] = (), form: str = ".5e") -> str:
    """Layers as the ACAS Xu networks are written; means and ranges of the inputs, and last of the outputs."""
    sizes = [len(layers[0][0][0]), *(len(weight) for weight, _ in layers)]
    scales = [means or [0.0] * (sizes[0] + 1), ranges or [1.0] * (sizes[0] + 1)]
    head = [[len(layers), sizes[0], sizes[-1], max(sizes)], sizes, [0]]
    rows = [[-1e4] * sizes[0], [1e4] * sizes[0], *scales]
    for weight, bias in layers:
        rows += [*weight, *([b] for b in bias)]
    numbers = [[f"{value:{form}}" for value in row] for row in rows]
    return "// a network\n" + "".join(",".join(map(str, line)) + ",\n" for line in [*head, *numbers])


def nnet_samples() -> list[bytes]:
    layers = random_layers([2, 3, 2], seed=5, bias=1)
    plain, scaled = nnet_text(layers), nnet_text(layers, [1.5, -0.1, 7.0], [3.0, 0.3, 373.9])
    return [plain.encode(), scaled.encode()]


SAMPLES = {".nnet": nnet_samples, ".npz": npz_samples, ".safetensors": safetensors_samples, ".pt": state_dict_samples}


def reader(folder: Path, ending: str) -> Callable[[bytes], object]:
    """Compiles a model file of the given bytes, and evaluates what comes of it."""
    path = folder / f"model{ending}"

    def read(content: bytes) -> object:
        path.write_bytes(content)
        compiled = network(path)
        return compiled(np.zeros(compiled.input_size))

    return read
