"""How long decision boundaries and distances to them take, once the regions are there.

``python -m benchmarks.decision``
"""

from __future__ import annotations

import time

import numpy as np

import affinelens as al
from benchmarks.networks import kaiming_uniform, name_of

CASES = [(2, 64, 64, 64, 64, 3), (2, 64, 64, 64, 64, 1), (2, 64, 64, 64, 64, 10), (3, 32, 32, 32, 3), (4, 32, 32, 2)]
_QUESTIONS = 20


def main() -> None:
    titles = ["outputs", "regions", "pieces", "boundary", "measures", "l2", "linf"]
    print(f"{'network':>10} {' '.join(f'{title:>10}' for title in titles)}")
    al.enumerate(kaiming_uniform((2, 8, 3), 0), al.Box(-1, 1, dim=2)).distance_to_boundary([0, 0])
    for sizes in CASES:
        row(sizes)


def row(sizes: tuple[int, ...]) -> None:
    """Time for the pieces, for their measures and the classes' volumes, and for one input's distance."""
    domain = al.Box(-1, 1, dim=sizes[0])
    rs = al.enumerate(kaiming_uniform(sizes, 0), domain)
    started = time.perf_counter()
    boundary = rs.decision_boundary()
    found = time.perf_counter()
    _ = boundary.measures, boundary.class_shares
    measured = time.perf_counter()
    inputs = np.random.default_rng(0).uniform(-1, 1, (_QUESTIONS, sizes[0]))
    seconds = []
    for norm in ("l2", "linf"):
        before = time.perf_counter()
        boundary.distance(inputs, norm=norm)
        seconds.append((time.perf_counter() - before) / _QUESTIONS)
    times = [found - started, measured - found, *seconds]
    print(
        f"{name_of(sizes):>10} {sizes[-1]:>10} {len(rs):>10} {len(boundary):>10} "
        + " ".join(f"{1e3 * t:7.1f} ms" for t in times),
        flush=True,
    )


if __name__ == "__main__":
    main()
