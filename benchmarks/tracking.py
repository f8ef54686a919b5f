"""What tracking adds to a training: the paper's two moons (200 samples, batch 32, Adam, rate 1e-4, six layers of 32).

Blocks of ten epochs are trained in turn, one without and one with a tracker that is called once a block and has
finished before the block ends. ``python -m benchmarks.tracking`` prints the ratio of their times, for weights drawn as
torch's layers draw them and, with several times more regions, Kaiming-uniform with the gain of ReLU; with one thread
for torch, and with as many as it takes by itself, which for layers this small keep each other waiting on every core.
"""

from __future__ import annotations

import statistics
import time
from itertools import pairwise

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import affinelens as al
from affinelens.study.data.samples import two_moons

SAMPLES, NOISE, BATCH, RATE, WIDTH, DEPTH = 200, 0.2, 32, 1e-4, 32, 6
EPOCHS_A_BLOCK, BLOCKS = 10, 100


class Training:
    """A model and what trains it."""

    def __init__(self, *, full_gain: bool) -> None:
        torch.manual_seed(0)
        sizes = [2] + [WIDTH] * DEPTH
        hidden = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
        self.model = nn.Sequential(*hidden, nn.Linear(WIDTH, 2))
        for part in self.model:
            if full_gain and isinstance(part, nn.Linear):
                nn.init.kaiming_uniform_(part.weight, nonlinearity="relu")
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=RATE)
        moons = two_moons(0, SAMPLES, NOISE)
        samples = TensorDataset(torch.tensor(moons.points, dtype=torch.float32), torch.tensor(moons.labels))
        self._batches = DataLoader(samples, batch_size=BATCH, shuffle=True)

    def block(self) -> None:
        for _ in range(EPOCHS_A_BLOCK):
            for points, labels in self._batches:
                self._optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(points), labels).backward()
                self._optimizer.step()


def measure(threads: int, *, full_gain: bool) -> None:
    torch.set_num_threads(threads)
    plain, tracked = Training(full_gain=full_gain), Training(full_gain=full_gain)
    tracker = al.track(al.Box(-1, 1, dim=2), every=EPOCHS_A_BLOCK)
    plain.block()
    tracker(tracked.model, 0)
    tracked.block()
    alone, beside, calls, worked = [], [], [], []
    for block in range(1, BLOCKS + 1):
        started = time.perf_counter()
        plain.block()
        work = time.thread_time()
        between = time.perf_counter()
        tracker(tracked.model, block * EPOCHS_A_BLOCK)
        called = time.perf_counter()
        worked.append(time.thread_time() - work)
        tracked.block()
        tracker.wait()
        beside.append(time.perf_counter() - between)
        alone.append(between - started)
        calls.append(called - between)
    counts = [row["regions"] for row in tracker.table]
    ratio = statistics.median(b / a for a, b in zip(alone, beside, strict=True))
    print(
        f"{threads} threads, {min(counts)} to {max(counts)} regions: {100 * (ratio - 1):.1f} % longer in the median of "
        f"{BLOCKS} blocks, {100 * (sum(beside) / sum(alone) - 1):.1f} % in all; a block takes "
        f"{1e3 * statistics.median(alone):.0f} ms, a call {1e3 * statistics.median(calls):.1f} ms of it "
        f"({1e3 * statistics.median(worked):.1f} ms of work) and the count beside it "
        f"{1e3 * statistics.median(row['seconds'] for row in tracker.table[1:]):.1f} ms"
    )


def main() -> None:
    print(f"two moons, {DEPTH} layers of {WIDTH}, tracked every {EPOCHS_A_BLOCK} epochs")
    for threads in dict.fromkeys([1, torch.get_num_threads()]):
        for full_gain in (False, True):
            measure(threads, full_gain=full_gain)


if __name__ == "__main__":
    main()
