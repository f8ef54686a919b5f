"""Small region sets that the tests of pictures draw, and what the pictures consist of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from numpy.typing import NDArray

import affinelens as al
from support.random_networks import random_layers

Floats = NDArray[np.float64]


def drawn_set(*sizes: int, seed: int) -> al.RegionSet:
    """A random ReLU network on the box from -1 to 1."""
    return al.enumerate(random_layers(sizes, seed), al.Box(-1, 1, dim=sizes[0]))


def linear_set(weight: Sequence[Sequence[float]], bias: Sequence[float]) -> al.RegionSet:
    """The linear map on the square from -1 to 1, through units that make four regions of the quadrants."""
    both_signs = np.concatenate([np.eye(2), -np.eye(2)])
    outputs = np.asarray(weight, dtype=float)
    layers = [(both_signs, np.zeros(4)), (np.concatenate([outputs, -outputs], axis=1), np.asarray(bias, dtype=float))]
    return al.enumerate(layers, al.Box(-1, 1, dim=2))


def rings(collection: Any) -> list[Floats]:
    """The corners of each polygon of a collection in the plane, without the one that closes it."""
    return [path.vertices[:-1] for path in collection.get_paths()]


def area(ring: Floats) -> float:
    """The area of a polygon in the plane or in space."""
    away = np.pad(ring - ring[0], ((0, 0), (0, 3 - ring.shape[1])))
    return float(np.linalg.norm(np.cross(away[1:-1], away[2:]).sum(axis=0)) / 2)


class RecordedPolygons(Poly3DCollection):
    """Polygons in space that can be asked where they are; matplotlib keeps that to itself."""

    def __init__(self, corners: Sequence[Floats], **options: Any) -> None:
        super().__init__(corners, **options)
        self.rings = [np.asarray(ring) for ring in corners]


class RecordedLines(Line3DCollection):
    """Likewise lines."""

    def __init__(self, ends: Floats, **options: Any) -> None:
        super().__init__(ends, **options)
        self.ends = np.asarray(ends)
