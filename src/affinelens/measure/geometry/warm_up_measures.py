"""Having the kernels that measure regions compiled, and saying so when that takes a while: once a machine."""

from __future__ import annotations

import numpy as np

from affinelens.convex.centroid import cell_centroids, weigh_cells
from affinelens.convex.inscribed_ball import inscribe, inscribed_balls
from affinelens.convex.vertex_distance import compare_vertices, vertex_distances
from affinelens.convex.volume import cell_volumes, measure_cells
from affinelens.kernels.announcement import compile_announced
from affinelens.walk import ProgressFunction, waiting_for

# The segment from -1 to 1.
_ROWS, _NO_ERROR, _LOWER, _UPPER = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.zeros(2), np.array([-1.0]), np.array([1.0])
_ENDS = np.array([2])
_CORNERS, _TIGHT = np.array([[-1.0], [1.0]]), np.array([[1], [2]], dtype=np.uint64)


def prepare_volumes(progress: ProgressFunction | None = None) -> None:
    compile_announced(measure_cells, lambda: cell_volumes(_CORNERS, _ENDS, _TIGHT, 1), waiting_for(progress))


def prepare_centroids(progress: ProgressFunction | None = None) -> None:
    compile_announced(weigh_cells, lambda: cell_centroids(_CORNERS, _ENDS, _TIGHT, 1), waiting_for(progress))


def prepare_balls(progress: ProgressFunction | None = None) -> None:
    compile_announced(
        inscribe,
        lambda: inscribed_balls(_ROWS, _NO_ERROR, _ENDS, np.zeros((1, 1)), _LOWER, _UPPER),
        waiting_for(progress),
    )


def prepare_distances(progress: ProgressFunction | None = None) -> None:
    compile_announced(
        compare_vertices,
        lambda: vertex_distances(_ROWS, _NO_ERROR, _ENDS, _CORNERS, _ENDS, _TIGHT, 1.0),
        waiting_for(progress),
    )
