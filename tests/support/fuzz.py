"""Mutants of files and saved runs, as many as wanted: ``PYTHONPATH=tests python -m support.fuzz --count 10000``."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from support.json_files import json_reader, json_samples
from support.model_files import SAMPLES, reader
from support.mutation import escapes
from support.onnx_mutation import onnx_escapes
from support.run_mutation import run_escapes, sample_runs
from support.vnnlib_files import vnnlib_reader, vnnlib_samples
from support.watched import watched

_OTHERS = ("run", ".vnnlib", ".onnx", ".json")


def main() -> None:
    """Print every escape, then one line a reader; the exit status says whether there was any.

    What hangs for more than 10 s or takes more than 1 GB of memory escapes as well.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="mutants a reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", choices=[*sorted(SAMPLES), *_OTHERS], action="append")
    options = parser.parse_args()
    total = 0
    for ending in options.reader or [*sorted(SAMPLES), *_OTHERS]:
        found = 0
        with tempfile.TemporaryDirectory() as folder:
            for number, error in _escapes(ending, Path(folder), options.count, options.seed):
                found += 1
                *_, last = traceback.extract_tb(error.__traceback__)
                place = f"{Path(last.filename).name}:{last.lineno}"
                print(f"{ending} mutant {number}: {error!r:.200} at {place}", flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{ending}: {found} escapes of {options.count} mutants, peak memory {peak} MiB", flush=True)
        total += found
    sys.exit(1 if total else 0)


def _escapes(ending: str, folder: Path, count: int, seed: int) -> Iterator[tuple[int, Exception]]:
    if ending == "run":
        return ((number, error) for number, *_, error in run_escapes(sample_runs(folder), folder, count, seed, watched))
    if ending == ".onnx":
        found = onnx_escapes(count, seed, folder, watched)
    elif ending == ".vnnlib":
        found = escapes(vnnlib_samples(), vnnlib_reader(folder), count, seed, watched)
    elif ending == ".json":
        found = escapes(json_samples(folder), json_reader(folder), count, seed, watched)
    else:
        found = escapes(SAMPLES[ending](), reader(folder, ending), count, seed, watched)
    return ((number, error) for number, _, error in found)


if __name__ == "__main__":
    main()
