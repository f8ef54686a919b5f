"""All regions of an image classifier on a small ball around an image, in all of the image's dimensions."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import affinelens as al

IMAGE = 0
# With this radius the VNN-COMP network mnist-net_256x2 has 11 849 regions around test image 0.
RADIUS = 0.012


def image_ball(model: str, images: str) -> None:
    """Count, then find the regions, then their facets too; two workers each."""
    network = al.network(model)
    center = read_image(images, IMAGE)
    ball = al.Box(center - RADIUS, center + RADIUS)
    al.count([(np.ones((1, 24)), np.zeros(1)), (np.ones((1, 1)), np.zeros(1))], al.Box(-1, 1, dim=24))  # compiles
    print(f"image {IMAGE}, radius {RADIUS}, {network.input_size} dimensions, two workers")
    started = time.perf_counter()
    regions = al.count(network, ball, workers=2)
    _report("count", regions, time.perf_counter() - started)
    for title, facets in (("regions", False), ("with facets", True)):
        found = al.enumerate(network, ball, workers=2, facets=facets)
        assert found.status is al.Status.COMPLETE
        assert len(found) == regions
        _report(title, regions, found.seconds)


def read_image(path: str, index: int) -> NDArray[np.float64]:
    """One image of an IDX file, plain or compressed, as numbers from 0 to 1."""
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if path.endswith(".gz") else data
    _, count, height, width = np.frombuffer(data[:16], dtype=">i4").tolist()
    pixels = np.frombuffer(data, dtype=np.uint8, offset=16).reshape(count, height * width)
    image: NDArray[np.float64] = pixels[index] / 255.0
    return image


def _report(title: str, regions: int, seconds: float) -> None:
    print(f"{title:>12}: {regions} in {seconds:.1f} s, {regions / seconds:.0f}/s", flush=True)
