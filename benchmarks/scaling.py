"""How a walk scales over threads, and what decides it on more cores than are at hand.

Rates of one worker, two, and sixteen are measured in turn. With sixteen on two cores nothing can be won, so what they
lose is what sharing costs. Of a worker's time is printed how much it waits for work, and how much processor time it
takes outside kernels and passes over arrays, where it holds the interpreter's lock. From these comes a guess for more
cores: workers queue for the lock as for a counter with one clerk.

``python -m benchmarks.scaling [--seconds S] [--acas NET.onnx]``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import affinelens as al
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.layout.program import Compiled, compile_program
from affinelens.network import compile_model
from affinelens.walk import Limits, Request
from benchmarks.networks import kaiming_uniform, name_of

# What takes a second or more on two cores.
CASES = [
    ((4, 96, 96, 1), (False,)),
    ((4, 80, 80, 1), (True,)),
    ((5, 96, 1), (False,)),
    ((5, 64, 1), (True,)),
    ((3, 128, 128, 128, 1), (False, True)),
]
WORKERS = (1, 2, 16)
GUESSED = (4, 16, 64)
# Property 3 of the ACAS Xu benchmark, in the network's normalised inputs.
ACAS_BOX = (
    [-0.30353115613746867, -0.009549296585513092, 0.4933803235848431, 0.3, 0.3],
    [-0.2985528118996924, 0.009549296585513092, 0.49999999998567607, 0.5, 0.5],
)


class Case(NamedTuple):
    """What is walked, and whether to count (False) or to enumerate."""

    name: str
    model: Any
    domain: al.Domain
    asked: tuple[bool, ...] = (False, True)


class Run(NamedTuple):
    """One walk: how many regions a second, and the shares of workers' time that went to waiting and to the lock."""

    rate: float
    waiting: float
    outside: float


def table(cases: Sequence[Case], seconds: float) -> None:
    """Print a row for each network, counted and enumerated."""
    titles = ["1 worker", "2", "ratio", "16 to 2", "waits", "lock", *(f"on {cores}" for cores in GUESSED)]
    print("threads: million regions a second, and the efficiency that is guessed for more cores")
    print(f"{'':>18} {'regions':>11} {' '.join(f'{title:>8}' for title in titles)}")
    for name, model, domain, asked in cases:
        network = compile_model(model, inputs=domain.inputs)
        compiled = compile_program(network, domain.frame)
        for regions in asked:
            _row(f"{'enumerate' if regions else 'count'} {name}", network, domain, compiled, regions, seconds)


def _row(title: str, network: al.Network, domain: al.Domain, compiled: Compiled, regions: bool, seconds: float) -> None:
    runs: dict[int, list[Run]] = {workers: [] for workers in WORKERS}
    found, ends = 0, time.monotonic() + seconds
    while time.monotonic() < ends or len(runs[WORKERS[-1]]) < 2:
        for workers, made in runs.items():
            limits = Limits(workers=workers)
            asked = Request(network, domain.frame, regions=regions, facets=False, limits=limits)
            walk = Walk(Task("vertex" if regions else "count", asked, counts_sections=not regions), compiled)
            started = time.perf_counter()
            found = walk.run().regions
            spent = time.perf_counter() - started
            waiting, outside = (
                walk.seconds_waiting / (workers * spent),
                1 - walk.seconds_unlocked / walk.seconds_working,
            )
            made.append(Run(found / spent / 1e6, waiting, outside))
    one, two, many = (max(runs[workers]) for workers in WORKERS)
    guessed = " ".join(f"{_efficiency(cores, two):8.0%}" for cores in GUESSED)
    print(
        f"{title:>18} {found:11,} {one.rate:8.2f} {two.rate:8.2f} {two.rate / one.rate:8.2f} "
        f"{many.rate / two.rate:8.1%} {two.waiting:8.1%} {two.outside:8.2%} {guessed}", flush=True,
    )  # fmt: skip


def _efficiency(cores: int, run: Run) -> float:
    """What so many cores would do of so many times one's work, where a worker takes the lock for its share of time."""
    load = cores * run.outside
    queueing = run.outside * load / (1 - load) if load < 1 else float("inf")
    return (1 - run.waiting) / (1 + run.outside + queueing) if load < 1 else 1 / load


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to measure each row")
    parser.add_argument("--acas", metavar="NET.onnx", help="ACAS Xu network 1_1, on the box of its property 3")
    arguments = parser.parse_args()
    table(cases_with(arguments.acas), arguments.seconds)


def cases_with(acas: str | None) -> list[Case]:
    """All cases, with ACAS Xu if there is one."""
    cases = [_random(sizes, asked) for sizes, asked in CASES]
    return cases if acas is None else [*cases, Case("ACAS 1_1", acas, al.Box(*ACAS_BOX))]


def _random(sizes: Sequence[int], asked: tuple[bool, ...]) -> Case:
    return Case(name_of(sizes), kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=sizes[0]), asked)


if __name__ == "__main__":
    main()
