"""Regions per second of relucent on [-1, 1]^d, complete and verified; run by its own interpreter."""

from __future__ import annotations

import sys
import time

import numpy as np
import relucent
import torch


def main() -> None:
    with np.load(sys.argv[1]) as archive:
        arrays = {name: archive[name] for name in archive.files}
    count = len(arrays) // 2
    modules: list[torch.nn.Module] = []
    for i in range(count):
        weight, bias = arrays[f"W{i}"], arrays[f"b{i}"]
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight))
            linear.bias.copy_(torch.tensor(bias))
        modules += [linear, torch.nn.ReLU()]
    cells = relucent.Complex(torch.nn.Sequential(*modules[:-1]))
    started = time.perf_counter()
    cells.bfs(nworkers=1, cube_radius=1.0, cube_mode="clipped", verbose=0)
    print(len(cells), len(cells) / (time.perf_counter() - started))


if __name__ == "__main__":
    main()
