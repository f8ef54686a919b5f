"""The command line's ways to say a domain, of which a command takes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from affinelens.api import compile_for
from affinelens.cli.shared_options import option_group
from affinelens.domain import Box, Domain, Polytope, Slice, read_vnnlib
from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz
from affinelens.files.vector import read_vector
from affinelens.network import Network

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
        help="The slice through two or more inputs; give it once for each.  They are at 0,0 1,0 0,1.",
    ),
    click.option("--window", nargs=2, metavar="LO HI", help="Slice coordinates between LO and HI.  [through: 0 1]"),
    click.option("--vnnlib", metavar="FILE", help="The input domain of a VNN-LIB property."),
    click.option("--case", type=click.IntRange(min=1), metavar="N", help="Which of the property's input domains."),
)  # fmt: skip


def taken_from(options: dict[str, Any]) -> dict[str, Any]:
    """Take the domain's options out of a command's, and keep those that were given."""
    names = [name for way, (_, further) in _WAYS.items() for name in (way, *further)]
    found = {name: options.pop(name) for name in dict.fromkeys(names)}
    return {name: value for name, value in found.items() if value not in (None, ())}


def read_domain(compiled: Network, given: dict[str, Any]) -> Domain:
    """The domain that was asked for, checked against the network."""
    ways = [way for way in _WAYS if way in given]
    if len(ways) != 1:
        raise AffineLensError(f"give the domain, once: {all_ways()}")
    [way] = ways
    for name in given:
        if name not in (way, *_WAYS[way].further):
            owners = " or ".join(_option(other) for other, (_, further) in _WAYS.items() if name in further)
            raise AffineLensError(f"--{name} goes with {owners}, but the domain is given by {_option(way)}")
    domain = _WAYS[way].read(compiled, given)
    compile_for(compiled, domain)
    return domain


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
    except ValueError as error:
        raise AffineLensError(f"{name} takes numbers, or one per input as 0,0,1; got {text!r}") from error


def _polytope(_: Network, given: dict[str, Any]) -> Domain:
    path = Path(given["domain_file"])
    arrays = read_npz(path)
    if not {"W", "b"} <= set(arrays):
        found = ", ".join(sorted(arrays)) or "nothing"
        raise AffineLensError(
            f"{path}: a domain file holds arrays W and b with W x + b >= 0, but this one holds {found}"
        )
    try:
        return Polytope(arrays["W"], arrays["b"])
    except AffineLensError as error:
        raise error.located(str(path)) from None


def _axes(_: Network, given: dict[str, Any]) -> Domain:
    missing = [_option(name) for name in ("at", "window") if name not in given]
    if missing:
        raise AffineLensError(f"--slice-axes needs an input and bounds; add {' and '.join(missing)}")
    try:
        places = [int(part) for part in given["slice_axes"].split(",")]
    except ValueError as error:
        raise AffineLensError(
            f"--slice-axes takes the numbers of inputs, as 3,17; got {given['slice_axes']!r}"
        ) from error
    window = _bounded("--window", given["window"], len(places))
    return Slice.axes(read_vector(Path(given["at"])), places, window.lower, window.upper)


def _through(_: Network, given: dict[str, Any]) -> Domain:
    points = [read_vector(Path(name)) for name in given["through"]]
    window = _bounded("--window", given["window"], len(points) - 1) if "window" in given and len(points) > 1 else None
    return Slice.through(*points, window=window)


def _case(compiled: Network, given: dict[str, Any]) -> Domain:
    path = given["vnnlib"]
    prop = read_vnnlib(path)
    try:
        prop.require_sizes(compiled.input_size, compiled.output_size)
    except AffineLensError as error:
        raise error.located(path) from None
    count, number = len(prop.cases), given.get("case")
    if number is None and count > 1:
        raise AffineLensError(
            f"{path}: the property has {count} input domains; choose one with --case 1 to --case {count}"
        )
    if number is not None and number > count:
        raise AffineLensError(f"{path}: the property has {count} input domain(s), so there is no case {number}")
    return prop.cases[(number or 1) - 1].domain


class _Way(NamedTuple):
    """A way to say a domain: how it is read, and the further options that belong to it."""

    read: Callable[[Network, dict[str, Any]], Domain]
    further: tuple[str, ...] = ()


# By the option that asks for each.
_WAYS = {
    "box": _Way(_box),
    "domain_file": _Way(_polytope),
    "slice_axes": _Way(_axes, ("at", "window")),
    "through": _Way(_through, ("window",)),
    "vnnlib": _Way(_case, ("case",)),
}
