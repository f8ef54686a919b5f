"""Run directories: Parquet shards, the network as plain arrays, and a JSON manifest.

A run is written beside its destination and moved there in one step, so that a full disk or an interrupt never leaves
half of one. Reading one trusts nothing: there is no pickle, files are only looked for inside the directory, and
shapes and hashes are checked.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import platform
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from affinelens.domain import Domain, domain_from_json
from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz
from affinelens.files.saved_directory import (
    move_into_place,
    naming_damage,
    not_saved,
    plain_file_inside,
    read_description,
    require_place,
)  # fmt: skip
from affinelens.network import Network
from affinelens.network.serial import network_from_data, network_to_data
from affinelens.regions.regions import Regions
from affinelens.restrict import SwitchingChoices
from affinelens.version import __version__
from affinelens.walk import Certificate, Columns, Outcome, Status

MANIFEST = "manifest.json"
_FORMAT = "affinelens run"
_FORMAT_VERSION = 1
_NETWORK_ARRAYS = "network.npz"
_SWITCHING_ARRAYS = "switching.npz"
SHARD_ROWS = 1_000_000
_LARGEST_MANIFEST = 256 * 2**20
_SMALL_ENOUGH = 64 * 2**20
_LARGEST_RATIO = 1000


def save(regions: Regions, path: Path, *, overwrite: bool = False) -> Path:
    """Write a run directory, whole or not at all."""
    with RunWriter(path, regions.domain, overwrite=overwrite) as writer:
        table = regions.outcome.table
        shards = [writer.write(table[start : start + SHARD_ROWS]) for start in range(0, max(len(table), 1), SHARD_ROWS)]
        writer.finish(regions.network, regions.outcome, regions.options, shards)
    return path


def require_writable(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a destination before any work is done for it."""
    require_place(path, overwrite=overwrite, marker=MANIFEST, content="a run")


class RunWriter:
    """A run directory in the making: shards in any order, then a manifest that says how they follow each other.

    It is written beside its destination and moved there when it is finished; without that, nothing stays behind.
    Shards may be written from several threads.
    """

    def __init__(self, path: Path, domain: Domain, *, overwrite: bool = False) -> None:
        require_writable(path, overwrite=overwrite)
        self._path = path
        self._domain = domain
        self._numbers = itertools.count()
        self._folder = Path(tempfile.mkdtemp(dir=path.resolve().parent, prefix=".affinelens-"))

    def write(self, columns: Columns) -> dict[str, Any]:
        """Write a shard and return its entry in the manifest."""
        import pyarrow.parquet as pq

        from affinelens.regions.store.arrow_table import columns_to_table

        file = self._folder / f"regions-{next(self._numbers):05d}.parquet"
        table = columns_to_table(columns, self._domain, packed=True)
        pq.write_table(table, file, compression="zstd", use_dictionary=False, write_statistics=False)
        return {"file": file.name, "regions": len(columns), "sha256": _sha256(file)}

    def checkpoint(self, so_far: Outcome) -> None:
        """The run is moved to its place when it is finished."""

    def finish(
        self, network: Network, outcome: Outcome, options: dict[str, Any], shards: Sequence[dict[str, Any]]
    ) -> None:
        """Write the rest and move the run to its place; of a run without regions, one shard that says so."""
        if not shards:
            shards = [self.write(outcome.table)]
        structure, arrays = network_to_data(network)
        with (self._folder / _NETWORK_ARRAYS).open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        if outcome.switching is not None:
            with (self._folder / _SWITCHING_ARRAYS).open("wb") as stream:
                np.savez(stream, choices=outcome.switching.choices, pattern=outcome.switching.pattern)
        manifest = _manifest(network, self._domain, outcome, options)
        manifest |= {"network": structure, "shards": list(shards)}
        (self._folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        self._folder.chmod(0o755)
        move_into_place(self._folder, self._path)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise not_saved(self._path, error) from error


def _manifest(network: Network, domain: Domain, outcome: Outcome, options: dict[str, Any]) -> dict[str, Any]:
    packages = ("numpy", "numba", "highspy", "python-flint", "pyarrow")
    versions = {"affinelens": __version__, "python": platform.python_version()}
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in packages},
        "model_sha256": network.digest,
        "domain": domain.to_json(),
        "options": options,
        "engine": outcome.engine,
        "status": outcome.status.name,
        "seconds": outcome.seconds,
        "regions": outcome.regions,
        "layer_counts": list(outcome.layer_counts),
        "share": outcome.share,
        "certificate": outcome.certificate.to_json(),
    }


def load(path: str | Path) -> Regions:
    """Read a run directory.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.load("run")  # doctest: +SKIP
    """
    folder = Path(path)
    if not (folder / MANIFEST).is_file():
        raise AffineLensError(f"{folder}: not a run directory (it has no {MANIFEST}); give one that save() wrote")
    with naming_damage(folder, "run"):
        return _read(folder)


def _read(folder: Path) -> Regions:
    manifest = read_description(folder, MANIFEST, _FORMAT, _FORMAT_VERSION, _LARGEST_MANIFEST)
    network = _read_network(folder, manifest)
    domain = domain_from_json(manifest["domain"])
    if domain.inputs != network.input_size:
        raise AffineLensError("its domain does not fit its network")
    switching = _read_switching(folder, network)
    columns = _read_columns(folder, manifest, network, domain, switching)
    outcome = Outcome(
        engine=str(manifest["engine"]),
        status=Status[manifest["status"]],
        certificate=_read_certificate(manifest["certificate"]),
        layer_counts=tuple(_whole(count) for count in manifest["layer_counts"]),
        seconds=_number(manifest["seconds"], "seconds"),
        columns=columns,
        share=None if manifest.get("share") is None else _number(manifest["share"], "share", 1.0),
        switching=switching,
    )
    _require_consistent(outcome, network, _whole(manifest["regions"]))
    return Regions(network, domain, outcome, dict(manifest["options"]))


def _read_certificate(data: dict[str, Any]) -> Certificate:
    counts = {name: _whole(value) for name, value in data.items() if name not in ("complete", "proves")}
    if not isinstance(data["complete"], bool):
        raise AffineLensError("its certificate does not say whether it is complete")
    return Certificate(**counts, complete=data["complete"])


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise AffineLensError(f"it has {value!r:.40} where a count belongs")
    return value


def _require_consistent(outcome: Outcome, network: Network, regions: int) -> None:
    stages = max(len(network.stages), 1)
    if len(outcome.patterns) != regions or outcome.layer_counts[-1:] != (regions,):
        raise AffineLensError("it holds another number of regions than its manifest says")
    if len(outcome.layer_counts) != stages or (outcome.status is Status.COMPLETE) != outcome.certificate.complete:
        raise AffineLensError("its manifest contradicts itself")


def _read_network(folder: Path, manifest: dict[str, Any]) -> Network:
    network = network_from_data(manifest["network"], read_npz(plain_file_inside(folder, _NETWORK_ARRAYS)))
    if network.digest != manifest["model_sha256"]:
        raise AffineLensError("its network does not match the hash in its manifest")
    return network


def _number(value: Any, name: str, most: float = inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= float(value) <= most:
        raise AffineLensError(f"its {name} cannot be {value!r:.40}")
    return float(value)


def _read_switching(folder: Path, network: Network) -> SwitchingChoices | None:
    """Which choices patterns are stored for, if not for all."""
    if not (folder / _SWITCHING_ARRAYS).exists():
        return None
    arrays = read_npz(plain_file_inside(folder, _SWITCHING_ARRAYS))
    choices, pattern = arrays["choices"].astype(np.int64), arrays["pattern"].astype(network.pattern_type)
    count = network.choice_offsets[-1]
    inside = choices.ndim == 1 and np.all((choices >= 0) & (choices < count)) and np.all(np.diff(choices) > 0)
    if not inside or pattern.shape != (count,) or np.any(pattern >= network.choice_pieces):
        raise AffineLensError("its switching choices do not fit its network")
    return SwitchingChoices(choices, pattern)


def _read_columns(
    folder: Path, manifest: dict[str, Any], network: Network, domain: Domain, switching: SwitchingChoices | None
) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from affinelens.regions.store.arrow_table import columns_from_table

    tables = []
    for shard in manifest["shards"]:
        file = plain_file_inside(folder, str(shard["file"]))
        if _sha256(file) != shard["sha256"]:
            raise AffineLensError(f"{file.name} does not match the hash in its manifest")
        parquet = pq.ParquetFile(file)
        groups = [parquet.metadata.row_group(i) for i in range(parquet.metadata.num_row_groups)]
        unpacked = sum(group.total_byte_size for group in groups)
        if unpacked > max(_SMALL_ENOUGH, _LARGEST_RATIO * file.stat().st_size):
            raise AffineLensError(f"{file.name} would unpack to {unpacked} bytes, far more than it holds")
        tables.append(parquet.read())
    return columns_from_table(pa.concat_tables(tables), network, domain, switching)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
