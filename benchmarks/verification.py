"""Verdicts on a folder of a VNN-COMP benchmark: ``instances.csv`` with its models and properties.

``python -m benchmarks.verification FOLDER [--time-limit S]`` prints, for each instance, the verdict, the regions that
were walked for it and the time. The verdicts on ACAS Xu are known, and others than those are marked. With
``--regions`` all regions on each property's domains are counted instead, whatever they mean for the property.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections.abc import Iterator
from pathlib import Path

import affinelens as al

# The instances of ACAS Xu, of those whose verdicts are known, in which the property does not hold.
ACAS_VIOLATED = {("2_2", "2"), ("4_5", "2"), ("1_9", "3"), ("1_9", "4"), ("1_9", "7")}
ACAS_HOLDS = {
    *((net, prop) for net in ("1_1", "1_9", "2_2", "3_3", "4_5") for prop in ("1", "2", "3", "4")),
    ("1_1", "5"), ("1_1", "6"), ("3_3", "9"), ("4_5", "10"),
} - ACAS_VIOLATED  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verification", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds instances.csv, and the models and properties it names")
    parser.add_argument("--time-limit", type=float, help="seconds for each instance, in place of its own")
    parser.add_argument("--workers", type=int, help="threads to use")
    parser.add_argument("--regions", action="store_true", help="count all regions, instead of deciding")
    given = vars(parser.parse_args(arguments))
    (regions if given.pop("regions") else table)(**given)


def table(folder: Path, time_limit: float | None = None, workers: int | None = None) -> None:
    print(f"{'network':>32} {'property':>24} {'verdict':>8} {'regions':>9} {'seconds':>8}")
    seconds: list[float] = []
    for model, prop, limit in instances(folder):
        verdict = al.verify(model, prop, time_limit=time_limit or limit, workers=workers)
        seconds.append(verdict.seconds)
        note = "" if _known(model, prop) in (None, str(verdict)) else f"  known to be {_known(model, prop)}"
        print(
            f"{model.stem[-32:]:>32} {prop.stem[-24:]:>24} {verdict!s:>8} {verdict.regions:>9} "
            f"{verdict.seconds:>8.2f}{note}",
            flush=True,
        )
    print(f"{len(seconds)} instances, {sum(seconds):.1f} s in all, {max(seconds, default=0.0):.1f} s at most")


def regions(folder: Path, time_limit: float | None = None, workers: int | None = None) -> None:
    print(f"{'network':>32} {'property':>24} {'regions':>12} {'seconds':>9}")
    for model, prop, _ in instances(folder):
        started, found, unfinished = time.perf_counter(), 0, ""
        network = al.network(model)
        for case in al.read_vnnlib(prop).cases:
            try:
                found += al.count(network, case.domain, time_limit=time_limit, workers=workers)
            except al.IncompleteError as stopped:
                found, unfinished = found + stopped.regions, "  and more"
        seconds = time.perf_counter() - started
        print(f"{model.stem[-32:]:>32} {prop.stem[-24:]:>24} {found:>12,} {seconds:>9.2f}{unfinished}", flush=True)


def instances(folder: Path) -> Iterator[tuple[Path, Path, float]]:
    """Models, properties and time limits; files may lie in the folder or in ``onnx`` and ``vnnlib`` within."""
    with (folder / "instances.csv").open(newline="") as stream:
        for model, prop, limit in csv.reader(stream):
            yield _file(folder, "onnx", model), _file(folder, "vnnlib", prop), float(limit)


def _file(folder: Path, kind: str, name: str) -> Path:
    places = [folder / name, folder / kind / name]
    return next((place for place in places if place.is_file()), places[0])


def _known(model: Path, prop: Path) -> str | None:
    net, number = re.match(r"ACASXU_run2a_(\d_\d)_", model.name), re.fullmatch(r"prop_(\d+)", prop.stem)
    if net is None or number is None:
        return None
    key = (net[1], number[1])
    return "sat" if key in ACAS_VIOLATED else "unsat" if key in ACAS_HOLDS else None


if __name__ == "__main__":
    main()
