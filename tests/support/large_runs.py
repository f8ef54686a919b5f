"""Large runs of known regions, written without a walk: the unit cells of a grid, which a network of one stage makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import affinelens as al
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.run_writer import RunWriter
from affinelens.walk import NO_DECISIONS, Chunk, Columns, Limits, Outcome


def grid_network(dim: int, cells: int) -> Any:
    """Units with breaks at 1, 2, ... along each axis: ``cells ** dim`` regions on the box from 0 to ``cells``."""
    axes = np.repeat(np.eye(dim), cells - 1, axis=0)
    breaks = np.tile(np.arange(1.0, cells), dim)
    return [(axes, -breaks), (np.ones((1, len(axes))), [0.0])]


def write_grid(path: Path, dim: int, cells: int, *, rows: int = 100_000) -> None:
    """Write a complete run with the cells in lexicographic order, so many in a chunk.

    Of two chunks that follow each other, the later is written first, as by threads that are not equally fast.
    """
    network, domain = al.network(grid_network(dim, cells)), al.Box(0, cells, dim=dim)
    asked = Asked(network, domain, {}, facets=False)
    count = cells**dim
    starts = list(range(0, count, rows))
    swapped = [k for pair in range(0, len(starts), 2) for k in (pair + 1, pair) if k < len(starts)]
    with RunWriter.beginning(path, asked) as writer:
        chunks = []
        for k in swapped:
            columns = grid_columns(np.arange(starts[k], min(starts[k] + rows, count)), dim, cells)
            chunks.append(Chunk((k,), 0, len(columns), writer.write(columns)))
        certificate = NO_DECISIONS
        none = asked.request(Limits()).no_columns()
        writer.finish(
            Outcome("vertex", al.Status.COMPLETE, certificate, (count,), 1.0, none, tuple(sorted(chunks)), 1.0)
        )


def grid_columns(numbers: NDArray[np.int64], dim: int, cells: int) -> Columns:
    """Cells by their numbers, with their centers."""
    places = np.stack(np.unravel_index(numbers, (cells,) * dim), axis=1)
    patterns = (places[:, :, None] >= np.arange(1, cells)).astype(np.uint8)
    return Columns(patterns.reshape(len(numbers), dim * (cells - 1)), places + 0.5)


def cell_of(points: NDArray[np.float64], cells: int) -> NDArray[np.int64]:
    """The numbers of the cells that points lie in."""
    found: NDArray[np.int64] = np.ravel_multi_index(tuple(np.floor(points).astype(int).T), (cells,) * points.shape[1])
    return found
