"""The command line's ways to say a domain, of which a command takes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from affinelens.api import compile_for
from affinelens.cli.shared_options import option_group
from affinelens.cli.values import whole_number
from affinelens.domain import Box, Domain, Polytope, Slice, read_vnnlib
from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz
from affinelens.files.vector import read_vector
from affinelens.network import Network
from affinelens.short_text import counted

domain_options = option_group(
    "Domain",
    click.option(
        "--box", nargs=2, metavar="LO HI", help="Every input between LO and HI: numbers, or one per input as 0,0,1."
    ),
    click.option("--domain", "domain_file", metavar="FILE", help="An .npz file with W and b: the domain W x + b >= 0."),
    click.option(
        "--slice-axes", metavar="I,J", help="Inputs I, J, ... (counted from 0) vary within --window, others stay --at."
    ),
    click.option("--at", metavar="FILE", help="The input for --slice-axes: an .npy, .npz, .csv or .txt file."),
    click.option(
        "--through", multiple=True, metavar="FILE",
        help="The slice through two or more inputs; give it once for each.  There they are 0,0 1,0 0,1 ...",
    ),
    click.option("--window", nargs=2, metavar="LO HI", help="Slice coordinates between LO and HI.  [--through: 0 1]"),
    click.option("--vnnlib", metavar="FILE", help="The input domain of a VNN-LIB property."),
    click.option("--case", type=whole_number(1), metavar="N", help="Which of the property's input domains."),
)  # fmt: skip


def taken_from(options: dict[str, Any]) -> dict[str, Any]:
    """Take the domain's options out of a command's, and keep those that were given."""
    names = [name for way, found in _WAYS.items() for name in (way, *found.further)]
    found = {name: options.pop(name) for name in dict.fromkeys(names)}
    return {name: value for name, value in found.items() if value not in (None, ())}


def read_domain(compiled: Network, given: dict[str, Any]) -> Domain:
    """The domain that was asked for, checked against the network."""
    ways = [way for way in _WAYS if way in given]
    if len(ways) > 1:
        raise AffineLensError(f"the domain is given by {' and by '.join(map(_option, ways))}; keep one of them")
    for name in given:
        if not ways or name not in (ways[0], *_WAYS[ways[0]].further):
            owners = " or ".join(_option(other) for other, found in _WAYS.items() if name in found.further)
            said = f"the domain is given by {_option(ways[0])}" if ways else "no domain is given"
            raise AffineLensError(f"--{name} goes with {owners}, but {said}")
    if not ways:
        raise AffineLensError(f"no domain is given; add {all_ways()}")
    [way] = ways
    domain = _WAYS[way].read(compiled, given)
    with _naming(*_WAYS[way].sized_by(given)):
        compile_for(compiled, domain)
    return domain


@contextmanager
def _naming(*places: str) -> Iterator[None]:
    """Errors begin with the options or the file that they are about."""
    try:
        yield
    except AffineLensError as error:
        raise (error.located(" ".join(places)) if places else error) from None


def all_ways() -> str:
    """The options that each say a domain, as words."""
    *most, last = map(_option, _WAYS)
    return f"{', '.join(most)} or {last}"


def _option(name: str) -> str:
    """The option as the user writes it."""
    return f"--{name.removesuffix('_file').replace('_', '-')}"


def _box(compiled: Network, given: dict[str, Any]) -> Domain:
    return _bounded("--box", given["box"], compiled.input_size)


def _bounded(name: str, texts: tuple[str, str], size: int) -> Box:
    lower, upper = (_numbers(name, text) for text in texts)
    scalars = len(lower) == len(upper) == 1
    return Box(lower[0], upper[0], dim=size) if scalars else Box(_spread(lower), _spread(upper))


def _spread(bounds: list[float]) -> list[float] | float:
    return bounds[0] if len(bounds) == 1 else bounds


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise AffineLensError(f"{name} takes numbers, or one per input as 0,0,1; got {text!r}") from None


def _polytope(_: Network, given: dict[str, Any]) -> Domain:
    path = Path(given["domain_file"])
    arrays = read_npz(path)
    if not {"W", "b"} <= set(arrays):
        found = ", ".join(sorted(arrays)) or "nothing"
        raise AffineLensError(
            f"{path}: a domain file holds arrays W and b with W x + b >= 0, but this one holds {found}"
        )
    with _naming(str(path)):
        return Polytope(arrays["W"], arrays["b"])


def _axes(_: Network, given: dict[str, Any]) -> Domain:
    missing = [_option(name) for name in ("at", "window") if name not in given]
    if missing:
        raise AffineLensError(f"--slice-axes needs an input and bounds; add {' and '.join(missing)}")
    try:
        places = [int(part) for part in given["slice_axes"].split(",")]
    except ValueError:
        raise AffineLensError(
            f"--slice-axes takes the numbers of inputs, as 3,17; got {given['slice_axes']!r}"
        ) from None
    window = _window(given["window"], len(places))
    origin = read_vector(Path(given["at"]))
    if window.inputs != len(places):
        raise AffineLensError(
            f"--window {' '.join(given['window'])} is for {counted(window.inputs, 'input')}, but --slice-axes "
            f"{given['slice_axes']} names {len(places)}; give one bound for all, or one for each"
        )
    with _naming("--slice-axes", given["slice_axes"], "--at", given["at"]):
        return Slice.axes(origin, places, window.lower, window.upper)


def _through(_: Network, given: dict[str, Any]) -> Domain:
    points = [read_vector(Path(name)) for name in given["through"]]
    window = _window(given["window"], len(points) - 1) if "window" in given and len(points) > 1 else None
    with _naming(*_points(given)):
        return Slice.through(*points, window=window)


def _window(texts: tuple[str, str], size: int) -> Box:
    with _naming("--window", *texts):
        return _bounded("--window", texts, size)


def _points(given: dict[str, Any]) -> list[str]:
    return [part for name in given["through"] for part in ("--through", name)]


def _case(compiled: Network, given: dict[str, Any]) -> Domain:
    path = given["vnnlib"]
    prop = read_vnnlib(path)
    with _naming(path):
        prop.require_sizes(compiled.input_size, compiled.output_size)
    count, number = len(prop.cases), given.get("case")
    if number is None and count > 1:
        raise AffineLensError(
            f"{path}: the property has {count} input domains; choose one with --case 1 to --case {count}"
        )
    if number is not None and number > count:
        domains = counted(count, "input domain")
        raise AffineLensError(f"{path}: the property has {domains}, so there is no case {number}")
    return prop.cases[(number or 1) - 1].domain


class _Way(NamedTuple):
    """A way to say a domain: how it is read, what tells its number of inputs, and the further options it has."""

    read: Callable[[Network, dict[str, Any]], Domain]
    sized_by: Callable[[dict[str, Any]], Sequence[str]]
    further: tuple[str, ...] = ()


# By the option that asks for each.
_WAYS = {
    "box": _Way(_box, lambda _: []),
    "domain_file": _Way(_polytope, lambda given: [given["domain_file"]]),
    "slice_axes": _Way(_axes, lambda given: [given["at"]], ("at", "window")),
    "through": _Way(_through, _points, ("window",)),
    "vnnlib": _Way(_case, lambda given: [given["vnnlib"]], ("case",)),
}
