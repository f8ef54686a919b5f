"""``make bench``: how fast regions are found and counted, each ratio measured side by side in one run.

``python -m benchmarks --acas NET.onnx`` adds ACAS Xu network 1_1 on the box of its property 3. ``--mnist-fc NET.onnx
IMAGES`` adds a classifier on a ball around the first image of an IDX file. ``--properties FOLDER`` adds verdicts on a
VNN-COMP benchmark; see :mod:`benchmarks.verification`. ``--peers`` (``make bench-peers``) adds relucent and affinitree,
each from an environment of its own. ``--tll NET.onnx`` adds the linear regions of such networks. ``--dask`` adds
two processes of a Dask cluster beside two threads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import affinelens as al
from benchmarks.columns import table as columns
from benchmarks.complex import complex_of_regions, linear_regions_of
from benchmarks.decision import main as decisions
from benchmarks.image_ball import image_ball
from benchmarks.measure import counting, enumerating
from benchmarks.networks import integer_weights, kaiming_uniform, name_of, zero_bias
from benchmarks.pictures import table as pictures
from benchmarks.scaling import ACAS_BOX
from benchmarks.verification import table as verdicts

CASES = [
    (2, 32, 32, 32, 1), (3, 32, 32, 1), (3, 32, 32, 32, 1), (2, 64, 64, 64, 64, 1), (2, 128, 128, 128, 1),
    (4, 32, 32, 1), (4, 64, 1), (5, 64, 1),
]  # fmt: skip
BESIDE_LINEAR_PROGRAM = (3, 32, 32, 1)
DEGENERATE = [(3, 32, 32, 1), (2, 32, 32, 32, 1)]
EXACTNESS = [(3, 32, 32, 1), (4, 64, 1)]
INTO_DIRECTORY = (5, 64, 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--acas", metavar="NET.onnx", help="ACAS Xu network 1_1")
    parser.add_argument(
        "--mnist-fc", nargs=2, metavar=("NET.onnx", "IMAGES"), help="a network and the MNIST test images, an IDX file"
    )
    parser.add_argument("--dask", action="store_true", help="measure two processes of a Dask cluster (needs it)")
    parser.add_argument("--peers", action="store_true", help="measure relucent and affinitree too")
    parser.add_argument("--properties", metavar="FOLDER", type=Path, help="a VNN-COMP benchmark to verify")
    parser.add_argument("--tll", nargs="+", metavar="NET.onnx", help="two-level-lattice networks of two inputs")
    parser.add_argument("--quick", action="store_true", help="leave out the largest cases")
    parser.add_argument(
        "--tracking", action="store_true", help="measure what tracking adds to a training (needs torch)"
    )
    arguments = parser.parse_args()
    cases = CASES[:6] if arguments.quick else CASES
    print("regions a second, once the network is laid out for the walk (which takes as long as the last column says)")
    titles = ["vertex", "two workers", "count", "two workers", "layout"]
    print(f"{'network':>10} {'regions':>10} {' '.join(f'{title:>12}' for title in titles)}")
    for sizes in cases:
        row(name_of(sizes), kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=sizes[0]))
    if arguments.acas:
        row("ACAS 1_1", arguments.acas, al.Box(*ACAS_BOX))
    print()
    degenerate()
    exactness()
    beside_linear_program()
    if arguments.mnist_fc:
        image_ball(*arguments.mnist_fc)
    complex_of_regions(quick=arguments.quick)
    if arguments.tll:
        linear_regions_of(arguments.tll)
    decisions()
    if not arguments.quick:
        into_directory()
        pictures()
        columns()
    if arguments.properties:
        print()
        verdicts(arguments.properties)
    if arguments.dask:
        from benchmarks.cluster import table as cluster

        cluster()
    if arguments.tracking:
        from benchmarks.tracking import main as tracking

        tracking()
    if arguments.peers:
        from benchmarks.peers.__main__ import main as peers

        peers([])


def row(name: str, model: Any, domain: al.Domain) -> None:
    runs = [measure(model, domain, workers=workers) for measure in (enumerating, counting) for workers in (1, 2)]
    regions = runs[0].regions
    assert all(run.regions == regions for run in runs)
    rates = " ".join(f"{regions / run.seconds / 1e6:10.2f} M" for run in runs)
    print(f"{name:>10} {regions:>10} {rates} {1e3 * min(run.layout for run in runs):9.1f} ms", flush=True)


def degenerate() -> None:
    """Time per region where ties are everywhere, against a generic network of the same size."""
    for sizes in DEGENERATE:
        domain = al.Box(-1, 1, dim=sizes[0])
        generic = enumerating(kaiming_uniform(sizes, 0), domain)
        for kind, make in (("zero bias", zero_bias), ("integer weights", integer_weights)):
            found = enumerating(make(sizes, 0), domain)
            ratio = found.seconds / found.regions / (generic.seconds / generic.regions)
            print(
                f"{name_of(sizes)}, {kind}: {found.regions} regions, {ratio:.1f} x the generic time a region",
                flush=True,
            )


def exactness() -> None:
    """The same kernels with and without their error bounds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for sizes in EXACTNESS:
            model, domain = kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=sizes[0])
            ratios = []
            for _ in range(3):
                [[regions, walking, alone]] = json.loads(_process("benchmarks.tolerance_only", [sizes], environment))
                exact, count = enumerating(model, domain), counting(model, domain)
                ratios.append((exact.seconds / walking, count.seconds / alone))
            vertex, count_alone = (sorted(column)[1] for column in zip(*ratios, strict=True))
            same = "the same count" if exact.regions == regions else f"{regions} regions instead of {exact.regions}"
            print(
                f"{name_of(sizes)}, exactness: vertex {vertex:.2f} x, count {count_alone:.2f} x the time of tolerances "
                f"({same}; the middle of three)",
                flush=True,
            )


def beside_linear_program() -> None:
    """Regions a second of the two engines on one network; the slower one is stopped after ten seconds."""
    sizes = BESIDE_LINEAR_PROGRAM
    model, domain = kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=sizes[0])
    found = enumerating(model, domain)
    slow = al.enumerate(model, domain, engine="linear_program", workers=1, time_limit=10)
    ratio = (found.regions / found.seconds) / (len(slow) / slow.seconds)
    print(f"{name_of(sizes)}, against linear_program ({len(slow) / slow.seconds:.0f}/s): {ratio:.0f} x", flush=True)


def into_directory() -> None:
    found = json.loads(_process("benchmarks.into_directory", INTO_DIRECTORY, dict(os.environ)))
    rate, peak = found["regions"] / found["seconds"] / 1e6, found["peak"] / 2**20
    print(
        f"{name_of(INTO_DIRECTORY)}, into a run directory: {rate:.2f} M/s, peak memory {peak:.0f} MiB, "
        f"{found['bytes']:.1f} bytes a region; opened in {1e3 * found['open']:.0f} ms, 1000 points located in "
        f"{found['locate']:.2f} s (first {found['first_locate']:.2f} s), all read as batches at "
        f"{found['regions'] / found['scan'] / 1e6:.1f} M/s, peak memory {found['reading_peak'] / 2**20:.0f} MiB",
        flush=True,
    )


def _process(module: str, job: object, environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", module]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
