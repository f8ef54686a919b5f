"""What was found of a network, as text: a table of its stages and labelled lines, no wider than asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from affinelens.measure.summary.forecast import Forecast
from affinelens.network import AffineSum, Network
from affinelens.network.note import Note, NoteKind
from affinelens.short_text import counted, power_of_ten

if TYPE_CHECKING:
    from affinelens.inspection.findings import Inspection, OnDomain

_LONGEST_NAME = 20
# Long names of operators, as they are shown.
_SHORT = {"BatchNormalization": "BatchNorm"}


def page(found: Inspection, width: int, *, without_domain: str) -> str:
    """The network as a table and the answers as labelled lines; without a domain it is said how to give one."""
    from rich.console import Console

    page = StringIO()
    console = Console(
        file=page, width=width, color_system=None, highlight=False, markup=False, emoji=False, force_jupyter=False
    )  # in a notebook rich would show every line by itself, and write none
    console.print(_headline(found.network))
    console.print(_table(found, width))
    for label, text in _answers(found, without_domain):
        console.print(_labelled(label, text))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _headline(network: Network) -> str:
    size = f" ({network.input_size:,} numbers)" if len(network.input_shape) > 1 else ""
    units, stages = counted(network.units, "unit"), counted(len(network.stages), "stage")
    return f"input {_shape(network.input_shape)}{size}, {units} in {stages}"


def _table(found: Inspection, width: int) -> Any:
    from rich.table import Table

    network, chain, place = found.network, _is_chain(found.network), found.on_domain
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    table.add_column("stage", justify="right")
    table.add_column("layer", no_wrap=True, max_width=_LONGEST_NAME)
    if not chain:
        table.add_column("from", overflow="fold")
    table.add_column("made of", overflow="fold", ratio=1)
    table.add_column("shape", justify="right", no_wrap=True)
    table.add_column("units", justify="right", no_wrap=True)
    if place is not None and place.restricted is not None:
        table.add_column("switch", justify="right", no_wrap=True)
    for index, stage in enumerate(network.stages):
        row = [str(index + 1), _shortened(stage.name)]
        row += [] if chain else [_sources(stage.linear)]
        row += [_made_of(stage.linear, stage.kind or stage.activation.kind)]
        row += [_shape(stage.shape or (stage.activation.size_out,)), f"{stage.activation.size_in:,}"]
        row += [] if place is None or place.restricted is None else [f"{place.switching_in(index):,}"]
        table.add_row(*row)
    end = ["", "output", *([] if chain else [_sources(network.output)]), _made_of(network.output)]
    table.add_row(*end, _shape(network.output_shape or (network.output_size,)))
    return table


def _answers(found: Inspection, without_domain: str) -> Iterator[tuple[str, str]]:
    network, place = found.network, found.on_domain
    for note in _gathered(network.notes):
        yield "note", note
    if not any(note.kind is NoteKind.ROUNDED for note in network.notes):
        yield "note", "all coefficients are the model's own numbers; nothing was rounded"
    if place is None:
        yield "domain", f"none given; {without_domain}"
        return
    yield "domain", f"{place.domain!r}, dimension {place.domain.dim}"
    yield "switching", _switching(network, place)
    for task, choice in zip(("enumerate", "count"), place.choices, strict=True):
        yield task, f"by {choice.name} on {found.workers} core(s); {choice.reason}"
    yield "regions", _expectation(place.forecast)


def _switching(network: Network, place: OnDomain) -> str:
    found = place.switching
    if found is None:
        return "not looked for: the bounds of so large a network in so many dimensions take too much memory"
    return (
        f"{found['units']:,} of {network.units:,} units can switch, on {found['hyperplanes']:,} of "
        f"{network.break_offsets[-1]:,} hyperplanes; all others are proved not to"
    )


def _expectation(expected: Forecast) -> str:
    bound = "" if expected.bound is None else f", and at most {power_of_ten(expected.bound, up=True)}"
    return f"very roughly {power_of_ten(expected.regions)}{bound}: an order of magnitude, from lines through the domain"


def _gathered(notes: Sequence[Note]) -> list[str]:
    """Notes, once for each text, with the first place and how many more there are."""
    places: dict[str, list[str]] = {}
    for note in notes:
        places.setdefault(note.text, []).append(note.place)
    return [
        f"{found[0]}{f' and {len(found) - 1} more' if len(found) > 1 else ''}: {text}" if found[0] else text
        for text, found in places.items()
    ]


def _made_of(linear: AffineSum, kind: str = "") -> str:
    """The operations as words; the same several times in a row are counted."""
    shown = []
    for label, run in groupby([*linear.operations, *([kind] if kind else [])]):
        name, _, detail = label.partition(" ")
        count = len(list(run))
        shown.append(f"{f'{count} x ' if count > 1 else ''}{_SHORT.get(name, name)}{f' {detail}' if detail else ''}")
    return ", ".join(shown)


def _is_chain(network: Network) -> bool:
    sums = [*(stage.linear for stage in network.stages), network.output]
    return all([k for k, _ in total.sources] in ([index], []) for index, total in enumerate(sums))


def _sources(total: AffineSum) -> str:
    return ", ".join("input" if k == 0 else str(k) for k, _ in total.sources) or "nothing"


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes)) or "1"


def _shortened(name: str) -> str:
    """A name by its end, which tells it from its neighbors."""
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _labelled(label: str, text: str) -> Any:
    from rich.table import Table

    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(width=9)
    line.add_column(overflow="fold")
    line.add_row(label, text)
    return line
