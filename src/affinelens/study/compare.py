"""Any networks measured on one shared domain: one table and one figure in a directory.

::

    comparison.md                           what stands out, a column a network
    comparison.csv, comparison.parquet      everything that was measured, a row a network
    comparison.png, comparison.svg          partitions, cells by stage, volumes
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from affinelens.api import compile_given, require_domain, require_inputs
from affinelens.api import enumerate as enumerate_regions
from affinelens.domain import Domain
from affinelens.errors import AffineLensError
from affinelens.files.saved_directory import require_place, written_whole
from affinelens.network import Network
from affinelens.progress_display import ProgressOption
from affinelens.region_set import RegionSet
from affinelens.study.table_files import write_table
from affinelens.walk import Status

_STEM = "comparison"
REPORT = f"{_STEM}.md"
_DPI = 150
Row = dict[str, Any]
# What the report shows of the table, and how it is called there.
_UNITS = {"units": "units"}
_SHOWN = {
    "regions": "regions",
    "volume_median": "median volume of a region",
    "volume_gini": "Gini coefficient of the volumes",
    "boundary": "measure of the decision boundary",
    "boundary_pieces": "pieces of it",
    "crossed_share": "share of the volume in regions that it crosses",
    "lipschitz_l2": "Lipschitz constant (l2)",
    "lipschitz_linf": "Lipschitz constant (linf)",
    "grid_order": "grid order of the partition",
    "seconds": "seconds to enumerate",
}
_STAGE = "cells_stage_"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Networks on one domain: their regions by name, and where the table and the figure are."""

    regions: dict[str, RegionSet]
    table: list[Row]
    directory: Path

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {len(found):,}" for name, found in self.regions.items())
        return f"Comparison({counts} regions; see {self.directory / REPORT})"


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    domain: Domain,
    directory: str | Path,
    *,
    overwrite: bool = False,
    workers: int | None = None,
    executor: Any = None,
    max_regions: int | None = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> Comparison:
    """Measure several networks on one domain and write a table and a figure.

    Parameters
    ----------
    models
        Anything :func:`affinelens.network` takes, by name or in a list; files in a list go by their names.
    domain
        Where all of them are measured; all must take its inputs.
    directory
        Where the report, the table (CSV and Parquet) and the figure (PNG and SVG) are written.
    overwrite
        Replace a comparison that is already there.
    workers, executor, max_regions, time_limit, progress
        As for :func:`affinelens.enumerate`, for each network. One that was stopped is in the table as incomplete.

    Examples
    --------
    >>> import affinelens as al
    >>> import affinelens.study
    >>> affinelens.study.compare(["a.onnx", "b.onnx"], al.Box(-1, 1, dim=2), "comparison")  # doctest: +SKIP
    """
    require_domain(domain)
    place = place_of_comparison(directory, overwrite=overwrite)
    named = named_models(models)
    compiled = {name: _compiled(name, model, domain) for name, model in named.items()}
    regions = {}
    for name, network in compiled.items():
        regions[name] = enumerate_regions(
            network, domain, workers=workers, executor=executor, max_regions=max_regions, time_limit=time_limit,
            progress=progress,
        )  # fmt: skip
    found = Comparison(regions, [_row(name, one) for name, one in regions.items()], place)
    _write(found)
    return found


def place_of_comparison(directory: str | Path, *, overwrite: bool = False) -> Path:
    """Refuse a directory that a comparison cannot be written to, before any work is done for it."""
    place = Path(directory)
    require_place(place, overwrite=overwrite, marker=REPORT, content="a comparison")
    return place


def named_models(models: Any) -> dict[str, Any]:
    """Models by name: files by theirs, others by number."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not isinstance(models, str):
        texts = [fspath(model) if isinstance(model, str | PathLike) else f"model {i}" for i, model in enumerate(models)]
        stems = [Path(text).name for text in texts]
        names = stems if len(set(stems)) == len(stems) else texts
        named = dict(zip(names, models, strict=True)) if len(set(names)) == len(names) else {}
        if models and not named:
            raise AffineLensError("the same file was given twice; a comparison is of different models")
    else:
        raise AffineLensError(
            f"models must be a list of models, or a dictionary of them by name, but got {type(models).__name__}"
        )
    if len(named) < 2:
        raise AffineLensError(f"a comparison is of two models or more, but got {len(named)}")
    return named


def _compiled(name: str, model: Any, domain: Domain) -> Network:
    """A model's network, or an error that says which of the models it is about."""
    is_file = isinstance(model, str | PathLike)
    try:
        network = compile_given(model, domain)
    except AffineLensError as error:
        # An error in a file begins with the file.
        raise error if is_file and name in (fspath(model), Path(model).name) else error.located(name) from None
    try:
        require_inputs(network, domain)
    except AffineLensError as error:
        raise error.located(name) from None
    return network


def _row(name: str, regions: RegionSet) -> Row:
    """Everything that is measured of one network; the boundary and the grid order only of all its regions."""
    row: Row = {
        "model": name,
        "units": regions.network.units,
        "seconds": round(regions.seconds, 6),
        **regions.metrics(),
    }
    if regions.status is not Status.COMPLETE:
        return row
    if regions.network.output_size and "volume_total" in row:
        boundary = regions.decision_boundary()
        row |= {"boundary": boundary.measure, "boundary_pieces": len(boundary)}
    if regions.domain.dim == 2 and len(regions) > 1:
        row |= regions.regularity().to_json()
    return row


def _write(found: Comparison) -> None:
    """Write the directory, whole or not at all."""
    from affinelens.plot import close_picture, comparison, save_picture

    picture = comparison(found.regions)
    with written_whole(found.directory) as folder:
        write_table(found.table, folder, _STEM)
        for ending in ("png", "svg"):
            save_picture(picture, folder / f"{_STEM}.{ending}", dpi=_DPI)
        close_picture(picture)
        (folder / REPORT).write_text("\n".join(_report(found)) + "\n", encoding="utf-8")


def _report(found: Comparison) -> Iterator[str]:
    table = found.table
    domain = next(iter(found.regions.values())).domain
    yield f"# {len(table)} networks on one domain\n"
    yield f"The domain is {domain!r}. Counts are exact.\n"
    for name, regions in found.regions.items():
        if regions.status is not Status.COMPLETE:
            yield f"**{name}** is incomplete: {regions.status}. Its numbers are those of the regions that were found.\n"
    yield f"| | {' | '.join(row['model'].replace('|', '/') for row in table)} |"
    yield "|---" + "|---:" * len(table) + "|"
    stages = max(len(regions.layer_counts) for regions in found.regions.values())
    counts = {f"{_STAGE}{stage}": f"cells after stage {stage}" for stage in range(1, stages + 1)}
    for name, label in {**_UNITS, **counts, **_SHOWN}.items():
        if any(name in row for row in table):
            yield f"| {label} | {' | '.join(_shown(row.get(name)) for row in table)} |"
    yield f"\nEverything that was measured is in {_STEM}.csv and {_STEM}.parquet.\n"
    yield f"![partitions, cells by stage and volumes]({_STEM}.png)"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
