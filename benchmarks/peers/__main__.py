"""``make bench-peers``: regions per second of other tools, each from an environment of its own.

The first run makes the environments and installs the tools. Each tool runs alone, on the same networks, on [-1, 1]^d.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.networks import kaiming_uniform
from benchmarks.peers.environments import FOLDER, REQUIREMENTS, interpreter

CASES = {"2-32x3": (2, 32, 32, 32, 1), "3-32x2": (3, 32, 32, 1), "2-64x4": (2, 64, 64, 64, 64, 1)}
SEED = 0
TIME_LIMIT = 60.0
# What a tool does besides the timed part: its start, the step it is in when time runs out, the check of what it found.
GRACE = 60.0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Measure other tools.")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS", help="for each run")
    parser.add_argument("--environments", type=Path, default=FOLDER, metavar="FOLDER", help="where the tools live")
    options = parser.parse_args(arguments)
    print_table(measure(options.time_limit, options.environments))


def measure(time_limit: float = TIME_LIMIT, environments: Path = FOLDER) -> list[dict[str, Any]]:
    """One row for each network and tool: what was found, in which time, or the error."""
    rows = []
    for tool in REQUIREMENTS:
        try:
            python = interpreter(tool, environments)
        except (OSError, subprocess.CalledProcessError) as error:
            rows += [row(name, tool, {"error": f"not installed: {error}"}) for name in CASES]
            continue
        rows += [row(name, tool, answer(python, tool, job(sizes, time_limit))) for name, sizes in CASES.items()]
    return sorted(rows, key=lambda r: list(CASES).index(r["network"]))


def row(name: str, tool: str, found: dict[str, Any]) -> dict[str, Any]:
    per_second = found["regions"] / found["seconds"] if "error" not in found else None
    return {"network": name, "tool": tool, "regions_per_second": per_second, **found}


def job(sizes: tuple[int, ...], time_limit: float) -> dict[str, Any]:
    """What a worker reads: the layers, the box and the time limit."""
    layers = [(weight.tolist(), bias.tolist()) for weight, bias in kaiming_uniform(sizes, SEED)]
    lower, upper = [-1.0] * sizes[0], [1.0] * sizes[0]
    return {"layers": layers, "lower": lower, "upper": upper, "time_limit": time_limit}


def answer(python: Path, tool: str, request: dict[str, Any]) -> dict[str, Any]:
    """Run a tool's worker, with one thread for linear algebra, and read its last line."""
    command = [str(python), str(Path(__file__).with_name(f"{tool}_worker.py"))]
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"}, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = worker.communicate(json.dumps(request), timeout=2 * request["time_limit"] + GRACE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": "no answer long after the time limit"}
    lines = output.splitlines() if worker.returncode == 0 else []
    if not lines:
        return {"error": (errors.strip().splitlines() or [f"exit status {worker.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def print_table(rows: list[dict[str, Any]]) -> None:
    """Rows as plain text, at most 80 columns wide."""
    print(f"{'network':<8} {'tool':<18} {'regions':>9} {'seconds':>9} {'regions/s':>10}  complete")
    for r in rows:
        name = f"{r['tool']} {r.get('version', '')}"
        if "error" in r:
            print(f"{r['network']:<8} {name:<18} {r['error'].splitlines()[0][:50]}")
            continue
        numbers = f"{r['regions']:>9} {r['seconds']:>9.1f} {r['regions_per_second']:>10.1f}"
        print(f"{r['network']:<8} {name:<18} {numbers}  {'yes' if r['complete'] else 'no'}")
    if any(r["tool"] == "affinitree" and r.get("complete") is False for r in rows):
        print("An incomplete affinitree counts leaves that later units would still cut.")


if __name__ == "__main__":
    main()
