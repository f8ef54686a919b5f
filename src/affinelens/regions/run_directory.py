"""Run directories: Parquet shards, the network as plain arrays, and a JSON manifest.

A run is written beside its destination and moved there in one step, so that a full disk or an interrupt never leaves
half of one. Reading one trusts nothing: there is no pickle, files are only looked for inside the directory, and
shapes and hashes are checked.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from affinelens.domain import domain_from_json
from affinelens.engine import Certificate, Outcome, Status
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network.serial import network_from_data, network_to_data
from affinelens.regions.region_set import RegionSet
from affinelens.version import __version__

MANIFEST = "manifest.json"
_FORMAT = "affinelens run"
_FORMAT_VERSION = 1
_NETWORK_ARRAYS = "network.npz"
_SHARD_ROWS = 1_000_000
_LARGEST_MANIFEST = 256 * 2**20


def require_writable(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a destination before any work is done for it."""
    if path.is_dir():
        if (path / MANIFEST).is_file():
            if not overwrite:
                raise AffineLensError(
                    f"{path}: already holds a run; choose another directory, or pass overwrite (--overwrite)"
                )
        elif any(path.iterdir()):
            raise AffineLensError(f"{path}: exists and holds something other than a run; choose another directory")
    elif path.exists():
        raise AffineLensError(f"{path}: is a file; choose a directory for the run")
    parent = path.resolve().parent
    if not parent.is_dir():
        raise AffineLensError(f"{path}: the folder {parent} does not exist; create it first")
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".affinelens-"):
            pass
    except OSError as error:
        raise AffineLensError(
            f"{path}: cannot write to {parent} ({error.strerror}); choose another directory"
        ) from error


def save(regions: RegionSet, path: Path, *, overwrite: bool = False) -> Path:
    """Write a run directory, whole or not at all."""
    require_writable(path, overwrite=overwrite)
    partial = Path(tempfile.mkdtemp(dir=path.resolve().parent, prefix=".affinelens-"))
    try:
        _write(regions, partial)
        partial.chmod(0o755)
        _move(partial, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AffineLensError(
            f"{path}: could not be saved ({reason}); nothing was left there, free some space or choose another place"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return path


def _move(partial: Path, path: Path) -> None:
    if path.is_dir():
        replaced = Path(tempfile.mkdtemp(dir=path.resolve().parent, prefix=".affinelens-"))
        path.rename(replaced / "old")
        try:
            partial.rename(path)
        except OSError:
            (replaced / "old").rename(path)
            raise
        finally:
            shutil.rmtree(replaced, ignore_errors=True)
    else:
        partial.rename(path)


def _write(regions: RegionSet, folder: Path) -> None:
    import pyarrow.parquet as pq

    table = regions.to_arrow()
    shards = []
    for number, start in enumerate(range(0, max(len(regions), 1), _SHARD_ROWS)):
        name = f"regions-{number:05d}.parquet"
        part = table.slice(start, _SHARD_ROWS)
        pq.write_table(part, folder / name, compression="zstd")
        shards.append({"file": name, "regions": part.num_rows, "sha256": _sha256(folder / name)})
    structure, arrays = network_to_data(regions.network)
    with (folder / _NETWORK_ARRAYS).open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    manifest = _manifest(regions) | {"network": structure, "shards": shards}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _manifest(regions: RegionSet) -> dict[str, Any]:
    packages = ("numpy", "highspy", "python-flint", "pyarrow")
    versions = {"affinelens": __version__, "python": platform.python_version()}
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions | {name: version(name) for name in packages},
        "model_sha256": regions.network.digest,
        "domain": regions.domain.to_json(),
        "options": regions.options,
        "engine": regions.engine,
        "status": regions.status.name,
        "seconds": regions.seconds,
        "regions": len(regions),
        "layer_counts": list(regions.layer_counts),
        "certificate": regions.certificate.to_json(),
    }


def load(path: str | Path) -> RegionSet:
    """Read a run directory.

    Examples
    --------
    >>> import affinelens as al
    >>> rs = al.load("run")  # doctest: +SKIP
    """
    folder = Path(path)
    if not (folder / MANIFEST).is_file():
        raise AffineLensError(f"{folder}: not a run directory (it has no {MANIFEST}); give one that save() wrote")
    try:
        return _read(folder)
    except AffineLensError as error:
        raise error.located(f"{folder}: damaged run") from error
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise AffineLensError(
            f"{folder}: damaged run ({type(error).__name__}: {_first_line(error)}); write it again"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def _read(folder: Path) -> RegionSet:
    manifest = _read_manifest(folder)
    network = _read_network(folder, manifest)
    domain = domain_from_json(manifest["domain"])
    if domain.inputs != network.input_size:
        raise AffineLensError("its domain does not fit its network")
    columns = _read_columns(folder, manifest, network, domain.dim)
    count = len(columns["patterns"])
    hyperplanes = domain.frame.rows.shape[0] + network.break_offsets[-1]
    if count != int(manifest["regions"]) or np.any((columns["facets"] < 0) | (columns["facets"] >= hyperplanes)):
        raise AffineLensError("its columns do not fit its manifest")
    proof = dict(manifest["certificate"])
    proof.pop("proves", None)
    outcome = Outcome(
        engine=str(manifest["engine"]),
        status=Status[manifest["status"]],
        certificate=Certificate(**proof),
        layer_counts=tuple(int(n) for n in manifest["layer_counts"]),
        seconds=float(manifest["seconds"]),
        **columns,
    )
    return RegionSet(network, domain, outcome, dict(manifest["options"]))


def _read_manifest(folder: Path) -> dict[str, Any]:
    if (folder / MANIFEST).stat().st_size > _LARGEST_MANIFEST:
        raise AffineLensError(f"its {MANIFEST} is larger than any that save() writes")
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise AffineLensError(f"its {MANIFEST} is not one that save() wrote")
    if manifest.get("format_version") != _FORMAT_VERSION:
        raise AffineLensError(
            f"it has format version {manifest.get('format_version')}, and this AffineLens reads "
            f"{_FORMAT_VERSION}; update AffineLens"
        )
    return manifest


def _read_network(folder: Path, manifest: dict[str, Any]) -> Network:
    with np.load(folder / _NETWORK_ARRAYS, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    network = network_from_data(manifest["network"], arrays)
    if network.digest != manifest["model_sha256"]:
        raise AffineLensError("its network does not match the hash in its manifest")
    return network


def _read_columns(folder: Path, manifest: dict[str, Any], network: Network, dimension: int) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from affinelens.regions.table import columns_from_table

    tables = []
    for shard in manifest["shards"]:
        file = folder / Path(shard["file"]).name
        if _sha256(file) != shard["sha256"]:
            raise AffineLensError(f"{file.name} does not match the hash in its manifest")
        tables.append(_quietly(lambda file=file: pq.read_table(file)))  # type: ignore[misc]
    return columns_from_table(pa.concat_tables(tables), dimension, network.choice_offsets[-1])


def _quietly(read: Callable[[], Any]) -> Any:
    import pyarrow as pa

    try:
        return read()
    except pa.ArrowException as error:
        raise AffineLensError(f"a shard cannot be read ({_first_line(error)})") from error


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
