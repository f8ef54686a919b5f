"""Two-dimensional slices of an image network: how many regions, and how long their count takes.

``python -m benchmarks.slices NET.onnx IMAGES.npy`` takes a network and at least three of its inputs, ready for it (in
its own scaling). It counts an axis slice, in which two random inputs of the first image range over what inputs take in
the images, and the plane through the first three, or a square of it with ``--window LOW HIGH``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import affinelens as al
from affinelens.engine import run
from affinelens.walk import Limits, Request


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slices", description=__doc__)
    parser.add_argument("network")
    parser.add_argument("images", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="which two inputs the axis slice moves")
    parser.add_argument("--around", type=float, help="move them by so much instead of over their whole range")
    parser.add_argument("--window", type=float, nargs=2, default=(0.0, 1.0), help="the square of the plane")
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--only", choices=["axes", "plane"])
    arguments = parser.parse_args()
    network = al.network(arguments.network)
    images = np.load(arguments.images, allow_pickle=False).astype(np.float64)
    if arguments.only != "plane":
        slice_by_axes = axes(images, arguments.seed, arguments.around)
        measure(network, slice_by_axes, "axis slice", arguments.time_limit)
    if arguments.only != "axes":
        low, high = arguments.window
        plane = al.Slice.through(images[0], images[1], images[2], window=al.Box(low, high, dim=2))
        measure(network, plane, f"plane [{low:g}, {high:g}]^2", arguments.time_limit)


def axes(images: np.ndarray, seed: int, around: float | None) -> al.Slice:
    """Two random inputs of the first image, over the range of all images' inputs or around their own values."""
    which = np.random.default_rng(seed).choice(images[0].size, size=2, replace=False).tolist()
    if around is None:
        return al.Slice.axes(images[0], which, float(images.min()), float(images.max()))
    own = images[0].ravel()[which]
    return al.Slice.axes(images[0], which, own - around, own + around)


def measure(network: al.Network, domain: al.Slice, name: str, time_limit: float | None) -> None:
    limits = Limits(workers=2, time_limit=time_limit)
    outcome = run(Request(network, domain.frame, regions=False, limits=limits))
    switching = "?" if outcome.restricted is None else sum(len(stage.units) for stage in outcome.restricted.stages)
    subdomains = 1 if outcome.restricted is None else max(len(outcome.restricted.subdomains), 1)
    print(
        f"{name}: {outcome.regions} regions, {outcome.status.name}, in {outcome.seconds:.1f} s; {switching} of "
        f"{network.units} units may switch, in {subdomains} parts; "
        f"{outcome.certificate.by_exact_arithmetic} of {outcome.certificate.decisions} decisions beyond float64",
        flush=True,
    )


if __name__ == "__main__":
    main()
