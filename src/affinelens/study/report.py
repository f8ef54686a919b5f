"""What a study leaves to read: the table, the figures, and a report with our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from affinelens.array_types import Floats
from affinelens.plot import close_picture, save_picture
from affinelens.study.declaration import Claim, Sweep
from affinelens.study.results import Cell, Results
from affinelens.study.study_directory import REPORT, TABLE

# Dots an inch of a PNG: sharp in print, small in a repository.
_DPI = 150


def write_report(results: Results) -> Path:
    """Write the table, every figure and the report, and return the report's path."""
    directory = results.directory
    directory.write_table(results.rows)
    names = []
    for name, figure in results.study.figures(results).items():
        names.append(name)
        for ending in ("png", "svg"):
            save_picture(figure, directory.path / f"{name}.{ending}", dpi=_DPI)
        close_picture(figure)
    directory.write_text(REPORT, "\n".join(_lines(results, names)) + "\n")
    return directory.path / REPORT


def _lines(results: Results, figures: Sequence[str]) -> Iterator[str]:
    study = results.study
    networks = len(results.configurations) * results.seeds
    ends = sorted({results.last_epoch(one.labels) for one in results.configurations})
    lengths = " or ".join(f"{end:,}" for end in ends)
    yield f"# {study.title}"
    yield ""
    yield (
        f"The paper's {study.source}, run again by `affinelens study {study.name}`: {len(results.configurations)} "
        f"networks, each trained {lengths} epochs with {_plural(results.seeds, 'seed')}. Counts are exact."
    )
    full = {name: value for name, value, _ in type(study)().reasons()}
    otherwise = [f"{name} {value}" for name, value, _ in study.reasons() if value != full[name]]
    if otherwise:
        yield f"\nThis is not the full study; otherwise than there: {'; '.join(otherwise)}."
    if results.model is not None:
        yield f"\nThe networks are not the paper's: they were built by `{results.model}`."
    yield from (f"\n{note}" for note in study.notes(results))
    for table in study.tables():
        yield ""
        yield from _table(table, results)
    yield "\n## Do the paper's conclusions hold?\n"
    yield from map(_claim, study.claims(results))
    for name in figures:
        yield f"\n![{study.title}]({name}.png)"
    yield "\n## Choices\n\n| choice | here | why |\n|---|---|---|"
    for name, value, why in study.reasons():
        yield f"| {name} | {value} | {why if value == full[name] else f'the full study has {full[name]}'} |"
    yield "\n## Time\n"
    yield _time(results, networks)


def _table(table: Sweep, results: Results) -> Iterator[str]:
    """Ours as mean (smallest to largest), and the paper's number beneath; then how near they are."""
    rows = results.measured(table)
    compared = [(cell.ours, cell.paper) for cells in rows.values() for cell in cells if cell.paper is not None]
    spreads = "mean (smallest to largest over seeds)" if results.seeds > 1 else "one seed"
    yield f"**{table.title}** Ours: {spreads}{'; beneath, *the number of the paper*' if compared else ''}.\n"
    yield f"| {table.corner} | {' | '.join(map(table.columns.format, table.places))} |"
    yield "|---" * (len(table.places) + 1) + "|"
    for name, cells in rows.items():
        yield f"| {name} | {' | '.join(map(_cell, cells))} |"
    if compared:
        yield f"\n{_agreement(compared)}"


def _cell(cell: Cell) -> str:
    return spread(cell.ours) + ("" if cell.paper is None else f"<br>*{cell.paper:,}*")


def spread(values: Floats) -> str:
    """Mean, smallest and largest of some counts."""
    if len(values) == 1:
        return f"{values[0]:,.0f}"
    return f"{values.mean():,.0f} ({values.min():,.0f} to {values.max():,.0f})"


def _agreement(compared: Sequence[tuple[Floats, int]]) -> str:
    """How near our means are to the paper's numbers."""
    ratios = np.array([ours.mean() / paper for ours, paper in compared])
    inside = sum(bool(ours.min() <= paper <= ours.max()) for ours, paper in compared)
    return (
        f"Our means are {ratios.min():.2f} to {ratios.max():.2f} times the paper's numbers (geometric mean "
        f"{np.exp(np.log(ratios).mean()):.2f}); {inside} of the {_plural(len(compared), 'number')} of the paper lie "
        f"between our smallest and largest seed."
    )


def _claim(claim: Claim) -> str:
    return f"- **{'Holds' if claim.holds else 'Does not hold'}**: {claim.sentence} {claim.evidence}"


def _time(results: Results, networks: int) -> str:
    training = sum(run[-1]["training_seconds"] for run in results.runs)
    counting = sum(row["counting_seconds"] for row in results.rows)
    regions = sum(row["regions"] for row in results.rows)
    slowest = max(results.rows, key=lambda row: row["counting_seconds"])
    return (
        f"Training {networks} networks took {training:,.0f} s of processor time, counting {len(results.rows)} times "
        f"{counting:,.1f} s ({counting / (training + counting):.1%} of both) for {regions:,} regions; the slowest "
        f"count took {slowest['counting_seconds']:.2f} s for {slowest['regions']:,} regions. All is in {TABLE}.csv."
    )


def _plural(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
