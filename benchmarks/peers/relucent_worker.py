"""Regions that relucent finds: a job as JSON on standard input, one line of JSON as the answer.

relucent searches cell by cell and, once it has all, verifies that they fit together: both are timed. A search that runs
out of time has found as many regions as it has cells. The time limit needs a system with interval timers.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from importlib.metadata import version
from types import FrameType
from typing import Any

import relucent
import torch


def main() -> None:
    try:
        answer = measure(json.load(sys.stdin))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    radius = job["upper"][0]
    if any(low != -radius or high != radius for low, high in zip(job["lower"], job["upper"], strict=True)):
        return {"error": "relucent takes only a cube around the origin"}
    cells = relucent.Complex(network(job["layers"]))
    complete = False
    signal.signal(signal.SIGALRM, stop)
    started = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, job["time_limit"])
    try:
        complete = cells.bfs(nworkers=1, cube_radius=radius, cube_mode="clipped", verbose=0).complete
        signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeoutError:
        pass
    seconds = time.perf_counter() - started
    return {"regions": len(cells), "seconds": seconds, "complete": complete, "version": version("relucent")}


def network(layers: list[Any]) -> torch.nn.Sequential:
    modules: list[torch.nn.Module] = []
    for weight, bias in layers:
        linear = torch.nn.Linear(len(weight[0]), len(weight), dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight, dtype=torch.float64))
            linear.bias.copy_(torch.tensor(bias, dtype=torch.float64))
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


def stop(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


if __name__ == "__main__":
    main()
