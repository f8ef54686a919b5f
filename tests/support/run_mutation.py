"""Saved runs with damage that their hashes do not show: what a loaded one says must be right or one sentence."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import affinelens as al
from affinelens.network.serial import network_from_data
from affinelens.regions.store.manifest import checksum
from support.mutation import mutated
from support.random_networks import random_layers

WRONG = [None, True, False, -1, 0, 1, 2, 10**30, 1e300, 1.5, "text", "", [], {}, [None], ["a"], [[1]], 2**31, -0.5]
_LARGEST = {"b": 1, "u": 255, "i": 2**31, "f": 1e300}


def sample_runs(folder: Path) -> list[Path]:
    """Small runs of all kinds: with and without geometry, on a slice, stopped, with a region too thin for float64."""
    layers = random_layers([2, 6, 4, 2], seed=0)
    wide = [*random_layers([3, 8, 1], seed=1)]
    plane = al.Slice.through([0, 0, 0], [1, 0, 0.5], [0, 1, 0.25])
    sets = [
        al.enumerate(layers, al.Box(-1, 1, dim=2), vertices=True, workers=1),
        al.enumerate(layers, al.Polytope([[1, 0], [0, 1], [-1, -1]], [1, 1, 1]), workers=1),
        al.enumerate(wide, plane, vertices=True, workers=1),
        al.enumerate(wide, al.Box([-1, -1, 0.25], [1, 1, 0.25]), max_regions=6, workers=1),
        al.enumerate(layers, al.Box(-0.1, 0.1, dim=2), facets=False, workers=1),
        al.enumerate([([[3.0], [1.0]], [-1.0, -1 / 3]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1), workers=1),
    ]
    saved = [found.save(folder / f"sample-{number}") for number, found in enumerate(sets)]
    return [*saved, *_unfinished_runs(folder)]


def _unfinished_runs(folder: Path) -> list[Path]:
    """Runs with open work: of regions, with a checkpoint before the last, and of a count."""
    layers = random_layers([2, 6, 4, 2], seed=0)
    regions, count = folder / "unfinished", folder / "unfinished-count"
    asked: dict[str, Any] = {"engine": "linear_program", "workers": 1}
    al.enumerate(layers, al.Box(-1, 1, dim=2), run=regions, max_regions=5, **asked)
    al.resume(regions, max_regions=9)
    with suppress(al.IncompleteError):
        al.count(layers, al.Box(-1, 1, dim=2), run=count, max_regions=7, **asked)
    return [regions, count]


def damage(run: Path, generator: np.random.Generator) -> str:
    """Damage a run in one place of it; returns where."""
    manifest = _manifest(run)
    kinds = [_damage_manifest, _damage_network]
    if manifest["shards"]:
        kinds += [_damage_column, _damage_column, _damage_bytes]
    if manifest["open_work"]:
        kinds += [_damage_open_work, _damage_open_work]
    return kinds[int(generator.integers(len(kinds)))](run, generator)


def run_escapes(
    samples: list[Path],
    folder: Path,
    count: int,
    seed: int,
    watch: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[tuple[int, str, str, Exception]]:
    """Of so many damaged copies, what fails with anything but AffineLens' own error: number, place, question, error."""
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        run = folder / "mutant"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(samples[number % len(samples)], run)
        place = damage(run, generator)
        questions: dict[str, Callable[[], Any]] = {
            "resume": lambda run=run: al.resume(run, workers=1, time_limit=5),
            "load": lambda run=run: al.load(run),
        }
        while questions:
            name, ask = questions.popitem()
            try:
                with watch(), warnings.catch_warnings():
                    warnings.simplefilter("ignore", al.AffineLensWarning)  # that the checkpoint before was read
                    found = ask()
            except al.AffineLensError as error:
                assert "\n" not in str(error)  # noqa: PT017 (an answer is fine as well)
            except Exception as error:
                yield number, place, name, error
            else:
                questions |= _questions(found) if name == "load" else {}


def _questions(rs: al.RegionSet) -> dict[str, Callable[[], Any]]:
    """Everything that one can ask of a set."""
    return {
        "repr": lambda: (repr(rs), rs.summary(), rs._repr_html_()),
        "regions": lambda: [_asked(rs[i]) for i in range(min(len(rs), 3))],
        "metrics": rs.metrics,
        "neighbors": lambda: (rs.neighbor_values, rs.adjacency().pairs, rs.linear_regions()),
        "means": rs.output_means,
        "ranges": rs.output_ranges,
        "boundary": lambda: (rs.decision_boundary().measure, rs.decision_boundary().class_shares),
        "lipschitz": rs.lipschitz_constant,
        "locate": lambda: rs.locate(rs.points[:5]),
        "arrow": rs.to_arrow,
        "audit": lambda: str(rs.audit(samples=20)),
        **{f"column {name}": lambda name=name: rs.column(name) for name in rs.columns},
    }


def _asked(region: al.Region) -> Any:
    plain = (region.point, region.exact_point, region.pattern, region.affine, repr(region))
    return plain, region.vertices, region.volume, region.centroid, region.halfspaces, region.neighbors, region.facets


def _manifest(run: Path) -> Any:
    return json.loads((run / "manifest.json").read_text())


def _write_manifest(run: Path, manifest: Any) -> None:
    """One that matches its own checksum, as somebody would write it who means harm."""
    manifest["checksum"] = checksum(manifest)
    (run / "manifest.json").write_text(json.dumps(manifest))


def _places(data: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [prefix, *(place for key, value in entries for place in _places(value, (*prefix, key)))]


def _damage_manifest(run: Path, generator: np.random.Generator) -> str:
    return _damage_entries(run, generator, ())


def _damage_open_work(run: Path, generator: np.random.Generator) -> str:
    return _damage_entries(run, generator, ("open_work",))


def _damage_entries(run: Path, generator: np.random.Generator, inside: tuple[str, ...]) -> str:
    """Damage an entry of the manifest that lies inside another."""
    manifest = _manifest(run)
    places = [place for place in _places(manifest) if len(place) > len(inside) and place[: len(inside)] == inside]
    *way, last = places[int(generator.integers(len(places)))]
    parent = manifest
    for key in way:
        parent = parent[key]
    old = copy.deepcopy(parent[last])
    match int(generator.integers(4)):
        case 0 if isinstance(parent, dict):
            del parent[last]
        case 1 if isinstance(old, int | float) and not isinstance(old, bool):
            parent[last] = [old + 1, old - 1, -old, old * 1e3, old * 1e-3, 2 * old][int(generator.integers(6))]
        case 2 if isinstance(old, list) and old:
            parent[last] = [old[1:], old[:-1], old + old, old[::-1]][int(generator.integers(4))]
        case _:
            parent[last] = WRONG[int(generator.integers(len(WRONG)))]
    _write_manifest(run, manifest)
    return f"manifest {(*way, last)}, once {old!r:.40}"


def _damage_column(run: Path, generator: np.random.Generator) -> str:
    manifest = _manifest(run)
    shard = run / manifest["shards"][0]["file"]
    table = pq.read_table(shard)
    name = table.column_names[int(generator.integers(table.num_columns))]
    place = table.column_names.index(name)
    column = table.column(name).combine_chunks()
    what = int(generator.integers(8))
    if what == 0:
        table = table.drop_columns([name])
    elif what == 1:
        other = table.column_names[int(generator.integers(table.num_columns))]
        table = table.set_column(place, name, table.column(other))
    elif what == 2:
        order = generator.permutation(len(table))
        table = table.set_column(place, name, column.take(pa.array(order)))
    elif what == 3:
        table = table.take(pa.array(generator.integers(0, max(len(table), 1), size=len(table))))
    else:
        rows = column.to_pylist()
        for _ in range(int(generator.integers(1, 4))):
            if rows:
                i = int(generator.integers(len(rows)))
                rows[i] = _damaged(rows[i], generator)
        try:
            table = table.set_column(place, name, pa.array(rows, type=column.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
            table = table.set_column(place, name, pa.array([str(row) for row in rows]))
    pq.write_table(table, shard)
    _rehash(run, manifest, shard)
    return f"column {name}, way {what}"


def _damaged(value: Any, generator: np.random.Generator) -> Any:
    if isinstance(value, list):
        if not value or generator.random() < 0.15:
            return [[], value * 2, value[1:], None][int(generator.integers(4))]
        i = int(generator.integers(len(value)))
        return [*value[:i], _damaged(value[i], generator), *value[i + 1 :]]
    if isinstance(value, bytes):
        i = int(generator.integers(max(len(value), 1)))
        return value[:i] + bytes([int(generator.integers(4))]) + value[i + 1 :] if value else value
    if isinstance(value, str):
        return ["0", "1/3", "x", "1/0", "7" * 300][int(generator.integers(5))]
    if isinstance(value, int):
        return [0, 1, value + 1, value - 1, -value, 2**31][int(generator.integers(6))]
    if isinstance(value, float):
        return [0.0, -value, value + 1e-9, value * 2, 1e300, float("nan"), float("inf"), 1e-320][
            int(generator.integers(8))
        ]
    return value


def _rehash(run: Path, manifest: Any, file: Path) -> None:
    for shard in manifest["shards"]:
        if shard["file"] == file.name:
            shard["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    _write_manifest(run, manifest)


def _damage_network(run: Path, generator: np.random.Generator) -> str:
    name = "switching.npz" if (run / "switching.npz").exists() and generator.random() < 0.5 else "network.npz"
    with np.load(run / name) as stored:
        arrays = {key: stored[key].copy() for key in stored.files}
    key = list(arrays)[int(generator.integers(len(arrays)))]
    array = arrays[key]
    match int(generator.integers(5)):
        case 0:
            del arrays[key]
        case 1:
            arrays[key] = array.ravel()[1:]
        case 2:
            arrays[key] = array.astype([np.float32, np.int8, np.complex128, np.bool_][int(generator.integers(4))])
        case _:
            if array.size:
                flat = array.reshape(-1)
                flat[int(generator.integers(array.size))] = (
                    [0.0, 1e300, -1e-300, np.nan, np.inf][int(generator.integers(5))]
                    if array.dtype.kind == "f"
                    else int(generator.integers(0, 100))
                )
    with (run / name).open("wb") as stream:
        np.savez(stream, **arrays)
    manifest = _manifest(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            manifest["model_sha256"] = network_from_data(manifest["network"], arrays).digest
        except Exception:
            return f"{name} {key}, not a network"
    _write_manifest(run, manifest)
    return f"{name} {key}"


def _damage_bytes(run: Path, generator: np.random.Generator) -> str:
    manifest = _manifest(run)
    shard = run / manifest["shards"][0]["file"]
    shard.write_bytes(mutated(shard.read_bytes(), generator))
    _rehash(run, manifest, shard)
    return "bytes of a shard"
