"""What ``affinelens inspect`` shows: a network layer by layer and, on a domain, what walking it would take."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from io import StringIO
from itertools import groupby
from math import ceil, floor
from typing import Any

from affinelens.domain import Domain
from affinelens.engine import Choice, choose
from affinelens.measure.summary.forecast import Forecast, forecast
from affinelens.network import AffineSum, MaxGroups, Network
from affinelens.network.note import Note, NoteKind
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.walk import Request

_WIDEST = 100
_LONGEST_NAME = 20
# Long names of operators, as they are shown.
_SHORT = {"BatchNormalization": "BatchNorm"}
# On a domain of many dimensions, bounds are looked for only while they take less than this many numbers.
_MOST_NUMBERS = 1 << 27


class Inspection:
    """A network and, if a domain is given, what can be said about it before its regions are walked."""

    def __init__(self, network: Network, domain: Domain | None, engine: str, workers: int) -> None:
        self._network = network
        self._domain = domain
        self._workers = workers
        self.choices: list[Choice] = []
        self._restricted: RestrictedNetwork | None = None
        self._forecast: Forecast | None = None
        if domain is None:
            return
        # An engine that only counts is named for both tasks.
        wanted = (engine != "count", False)
        self.choices = [choose(Request(network, domain.frame, engine, regions=regions)) for regions in wanted]
        self._restricted = next((choice.restricted for choice in self.choices if choice.restricted is not None), None)
        if self._restricted is None and _bounds_size(network, domain) <= _MOST_NUMBERS:
            self._restricted = restrict(network, domain.frame)
        self._forecast = forecast(network, domain.frame, self._restricted)

    def to_json(self) -> dict[str, Any]:
        network, expected = self._network, self._forecast
        switching = (
            None if self._restricted is None else {"units": self._units(), "hyperplanes": len(self._restricted.breaks)}
        )
        return {
            "inputs": network.input_size,
            "input_shape": list(network.input_shape),
            "outputs": network.output_size,
            "output_shape": list(network.output_shape),
            "units": network.units,
            "stages": [self._stage_to_json(index) for index in range(len(network.stages))],
            "notes": [str(note) for note in network.notes],
            "model_sha256": network.digest,
            "dimension": None if self._domain is None else self._domain.dim,
            "workers": self._workers,
            "switching": switching,
            "engines": [{"name": c.name, "reason": c.reason} for c in self.choices] or None,
            "regions_log10": None if expected is None else {"rough": expected.regions, "at_most": expected.bound},
        }

    def _stage_to_json(self, index: int) -> dict[str, Any]:
        stage = self._network.stages[index]
        return {
            "name": stage.name,
            "operations": _operations(stage.linear, stage.kind),
            "sources": [k for k, _ in stage.linear.sources],
            "shape": list(stage.shape),
            "units": stage.activation.size_in,
            "hyperplanes": len(stage.activation.breaks),
            "switching": None if self._restricted is None else len(self._restricted.all_stages[index].units),
        }

    def _units(self) -> int:
        return 0 if self._restricted is None else sum(len(stage.units) for stage in self._restricted.stages)

    def to_text(self) -> str:
        """The network as a table and the answers as labelled lines, no wider than the terminal."""
        from rich.console import Console

        page = StringIO()
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        console = Console(file=page, width=width, color_system=None, highlight=False, markup=False, emoji=False)
        console.print(self._headline())
        console.print(self._table(width))
        for label, text in self._answers():
            console.print(_labelled(label, text))
        return "\n".join(line.rstrip() for line in page.getvalue().splitlines())

    def _headline(self) -> str:
        network = self._network
        stages = f"{len(network.stages)} stage{'' if len(network.stages) == 1 else 's'}"
        size = f" ({network.input_size:,} numbers)" if len(network.input_shape) > 1 else ""
        return f"input {_shape(network.input_shape)}{size}, {network.units:,} units in {stages}"

    def _table(self, width: int) -> Any:
        from rich.table import Table

        network, chain = self._network, _is_chain(self._network)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width)
        table.add_column("stage", justify="right")
        table.add_column("layer", no_wrap=True, max_width=_LONGEST_NAME)
        if not chain:
            table.add_column("from", overflow="fold")
        table.add_column("made of", overflow="fold", ratio=1)
        table.add_column("shape", justify="right", no_wrap=True)
        table.add_column("units", justify="right", no_wrap=True)
        if self._restricted is not None:
            table.add_column("switch", justify="right", no_wrap=True)
        for index, stage in enumerate(network.stages):
            row = [str(index + 1), _shortened(stage.name)]
            row += [] if chain else [_sources(stage.linear)]
            row += [_made_of(stage.linear, stage.kind or _kind(stage.activation))]
            row += [_shape(stage.shape or (stage.activation.size_out,)), f"{stage.activation.size_in:,}"]
            row += [] if self._restricted is None else [f"{len(self._restricted.all_stages[index].units):,}"]
            table.add_row(*row)
        end = ["", "output", *([] if chain else [_sources(network.output)]), _made_of(network.output)]
        table.add_row(*end, _shape(network.output_shape or (network.output_size,)))
        return table

    def _answers(self) -> list[tuple[str, str]]:
        network = self._network
        lines = [("note", note) for note in _gathered(network.notes)]
        if not any(note.kind is NoteKind.ROUNDED for note in network.notes):
            lines.append(("note", "all coefficients are the model's own numbers; nothing was rounded"))
        if self._domain is None or self._forecast is None:
            return lines
        lines.append(("domain", f"{self._domain!r}, dimension {self._domain.dim}"))
        lines.append(("switching", self._switching()))
        for task, choice in zip(("enumerate", "count"), self.choices, strict=True):
            lines.append((task, f"by {choice.name} on {self._workers} core(s); {choice.reason}"))
        return [*lines, ("regions", _expectation(self._forecast))]

    def _switching(self) -> str:
        if self._restricted is None:
            return "not looked for: the bounds of so large a network in so many dimensions take too much memory"
        hyperplanes, most = len(self._restricted.breaks), self._network.break_offsets[-1]
        return (
            f"{self._units():,} of {self._network.units:,} units can switch, on {hyperplanes:,} of {most:,} "
            f"hyperplanes; all others are proved not to"
        )


def _bounds_size(network: Network, domain: Domain) -> int:
    """About how many numbers bounds of a network take, as functions of the coordinates and of units that switch."""
    widest = max((stage.activation.size_in for stage in network.stages), default=0)
    return widest * (domain.dim + min(network.units, 4096)) if domain.dim > 14 else 0


def _expectation(expected: Forecast) -> str:
    bound = "" if expected.bound is None else f", and at most {_power(expected.bound, up=True)}"
    return f"very roughly {_power(expected.regions)}{bound}: an order of magnitude, from lines through the domain"


def _power(exponent: float, *, up: bool = False) -> str:
    """A number given by its power of ten, in one digit or, if it is small, as it is."""
    if exponent < 3:
        value = 10**exponent
        return str(ceil(value - 1e-9) if up else round(value))
    whole = floor(exponent)
    digit = 10 ** (exponent - whole)
    digit = ceil(digit) if up else round(digit)
    return f"{digit} x 10^{whole}" if digit < 10 else f"10^{whole + 1}"


def _gathered(notes: Sequence[Note]) -> list[str]:
    """Notes, once for each text, with the first place and how many more there are."""
    places: dict[str, list[str]] = {}
    for note in notes:
        places.setdefault(note.text, []).append(note.place)
    return [
        f"{found[0]}{f' and {len(found) - 1} more' if len(found) > 1 else ''}: {text}" if found[0] else text
        for text, found in places.items()
    ]


def _operations(linear: AffineSum, kind: str = "") -> list[str]:
    return [*linear.operations, *([kind] if kind else [])]


def _made_of(linear: AffineSum, kind: str = "") -> str:
    """The operations as words; the same several times in a row are counted."""
    shown = []
    for label, run in groupby(_operations(linear, kind)):
        name, _, detail = label.partition(" ")
        count = len(list(run))
        shown.append(f"{f'{count} x ' if count > 1 else ''}{_SHORT.get(name, name)}{f' {detail}' if detail else ''}")
    return ", ".join(shown)


def _kind(activation: Any) -> str:
    return "max" if isinstance(activation, MaxGroups) else "piecewise linear"


def _is_chain(network: Network) -> bool:
    sums = [*(stage.linear for stage in network.stages), network.output]
    return all([k for k, _ in total.sources] in ([index], []) for index, total in enumerate(sums))


def _sources(total: AffineSum) -> str:
    return ", ".join("input" if k == 0 else str(k) for k, _ in total.sources) or "nothing"


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes)) or "1"


def _shortened(name: str) -> str:
    """A name by its end, which tells it from its neighbours."""
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _labelled(label: str, text: str) -> Any:
    from rich.table import Table

    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(width=9)
    line.add_column(overflow="fold")
    line.add_row(label, text)
    return line
