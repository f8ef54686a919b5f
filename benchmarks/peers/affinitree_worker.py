"""Regions that affinitree finds: a job as JSON on standard input, one line of JSON as the answer.

affinitree grows a decision tree, one unit at a time, and cuts off infeasible paths after each, as its own builder does.
So the clock is looked at between units, and a tree that ran out of time has leaves that later units would still cut:
each holds one region or more. Only growing the tree is timed, not the check of its leaves.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np
from affinitree import AffFunc, AffTree, Polytope, schema  # type: ignore[import-not-found, unused-ignore]

# A leaf counts as a region if a ball of more than this radius fits into it.
THINNEST = 1e-9


def main() -> None:
    try:
        answer = measure(json.load(sys.stdin))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    intervals = list(zip(job["lower"], job["upper"], strict=True))
    layers = [AffFunc.from_mats(np.array(weight), np.array(bias)) for weight, bias in job["layers"]]
    started = time.perf_counter()
    box = Polytope.hyperrectangle(len(intervals), intervals)
    tree = AffTree.from_poly(box, AffFunc.identity(len(intervals)))
    complete = grow(tree, layers, started + job["time_limit"])
    seconds = time.perf_counter() - started
    return {
        "regions": full_dimensional(tree),
        "leaves": tree.num_terminals(),
        "seconds": seconds,
        "complete": complete,
        "version": version("affinitree"),
    }


def grow(tree: Any, layers: list[Any], deadline: float) -> bool:
    """Compose the tree with the network; False if time ran out before the last unit."""
    for layer in layers[:-1]:
        tree.apply_func(layer)
        for unit in range(layer.outdim()):
            if time.perf_counter() > deadline:
                return False
            tree.compose(schema.partial_ReLU(layer.outdim(), unit), False)
            tree.infeasible_elimination()
    tree.apply_func(layers[-1])
    return True


def full_dimensional(tree: Any) -> int:
    """How many leaves have an interior."""
    return sum(radius(cell) > THINNEST for _, node, cell in tree.polyhedra() if node.is_terminal())


def radius(cell: Any) -> float:
    """The radius of the largest ball in a cell."""
    program, cost = cell.chebyshev_center()
    try:
        return float(program.solve(cost)[-1])
    except ValueError:
        return 0.0


if __name__ == "__main__":
    main()
