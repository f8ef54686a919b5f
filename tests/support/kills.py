"""Walks killed at random moments and gone on with: ``PYTHONPATH=tests python -m support.kills --count 100``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import affinelens as al
from affinelens.files.lock import LOCK
from affinelens.regions.store.manifest import MANIFEST, read_manifest
from support.random_networks import random_layers

PATIENCE = 300.0
# Walks of about a second, by what walks them and whether regions are kept.
KINDS = {
    "linear_program": ([3, 10, 8, 2], True),
    "linear_program count": ([3, 12, 10, 2], False),
    "vertex": ([3, 64, 64, 2], True),
    "count": ([4, 48, 48, 2], False),
}
_SITTING = """
import sys
from dataclasses import replace
import affinelens as al
from affinelens.api import asking
from support.kills import asked
given = asking.checked_limits
asking.checked_limits = lambda *limits, **named: replace(given(*limits, **named), checkpoint_every=0.02)
asked(sys.argv[1], run=sys.argv[2], resume=True, workers=int(sys.argv[3]))
"""


class Killed(NamedTuple):
    """How often a walk was killed until it ended, and how many regions it had at each kill."""

    kills: int
    regions: list[int]


def asked(kind: str, **options: object) -> al.RegionSet | int:
    """What a kind of walk asks for."""
    sizes, regions = KINDS[kind]
    question = al.enumerate if regions else al.count
    return question(random_layers(sizes, seed=5), al.Box(-1, 1, dim=sizes[0]), engine=kind.split()[0], **options)


def kill_and_resume(kind: str, run: Path, kills: int, seed: int) -> Killed:
    """Start a walk and kill it, at most so often; then let it end."""
    generator = np.random.default_rng(seed)
    found: list[int] = []
    with tempfile.TemporaryFile() as errors:  # where helpers that lose whom they help say so
        while True:
            workers = int(generator.integers(1, 3))
            process = subprocess.Popen(
                [sys.executable, "-c", _SITTING, kind, str(run), str(workers)],
                stderr=errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            if len(found) == kills:
                code = process.wait(PATIENCE)
            else:
                code = _killed(process, run, int(generator.integers(0, 4)), float(generator.exponential(0.1)))
            if code == 0:
                return Killed(len(found), found)
            if len(found) == kills or code > 0:
                errors.seek(0)
                raise AssertionError(f"a sitting of {kind} ended with {code}: {errors.read().decode()}")
            if KINDS[kind][1] and run.exists():
                al.load(run)
            found.append(read_manifest(run, MANIFEST)["regions"] if run.exists() else 0)


def _killed(process: subprocess.Popen[bytes], run: Path, manifests: int, seconds: float) -> int:
    """Kill a process so many seconds after it wrote so many manifests, unless it ends before."""
    deadline = time.monotonic() + PATIENCE
    (run / LOCK).unlink(missing_ok=True)  # left behind by the one before
    before, written = _manifest(run), 0
    while process.poll() is None and time.monotonic() < deadline:
        if written >= manifests and (run / LOCK).exists():
            break
        now = _manifest(run)
        written, before = written + (now != before), now
        time.sleep(0.001)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _manifest(run: Path) -> int:
    """Which file the manifest is just now."""
    try:
        return (run / MANIFEST).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def same(kind: str, run: Path) -> bool:
    """Whether a run that was killed holds, byte by byte, what a walk finds that was not."""
    alone = asked(kind, workers=2)
    if not isinstance(alone, al.RegionSet):
        return al.resume(run) == alone
    names = ("points", "patterns", "facet_values", "facet_signs", "facet_offsets")
    rs = al.load(run)
    return rs.status is al.Status.COMPLETE and all(
        getattr(rs, name).tobytes() == getattr(alone, name).tobytes() for name in names
    )


def main() -> None:
    """Kill so many times, a few times a run, and say what differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills of each kind of walk")
    parser.add_argument("--each", type=int, default=10, help="kills of one run at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append")
    options = parser.parse_args()
    wrong = 0
    for kind in options.kind or KINDS:
        kills = runs = 0
        while kills < options.count:
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                killed = kill_and_resume(kind, run, min(options.each, options.count - kills), options.seed + runs)
                is_same = same(kind, run)
            runs, kills, wrong = runs + 1, kills + killed.kills, wrong + (not is_same)
            print(f"{kind}: {killed.kills} kills at {killed.regions} regions, same: {is_same}", flush=True)
        print(f"{kind}: {kills} kills of {runs} runs", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
