"""The right picture for a set: by its domain's dimension, or by name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from affinelens.errors import AffineLensError, Words
from affinelens.plot.canvas import none_left_behind
from affinelens.plot.function_graph import graph
from affinelens.plot.given import require_regions
from affinelens.plot.image_slice import image_slice
from affinelens.plot.partition import partition
from affinelens.plot.search_stages import search_stages
from affinelens.plot.solid import solid
from affinelens.plot.statistics import layer_bars, volume_histogram
from affinelens.plot.surface import surface

if TYPE_CHECKING:
    from affinelens.regions import Regions

_BY_DIMENSION: dict[int, Any] = {1: graph, 2: partition, 3: solid}
_BY_NAME: dict[str, Any] = {
    "surface": surface,
    "images": image_slice,
    "stages": search_stages,
    "volumes": volume_histogram,
    "layers": layer_bars,
}
KINDS = ("regions", *_BY_NAME)


def display(regions: Regions, ax: Any = None, **options: Any) -> Any:
    """Draw a set: the function's graph on a line, the partition of a plane, or the one of a space."""
    with none_left_behind():
        return _chosen(regions, "regions", options)(regions, ax, **options)


def picture(regions: Regions, kind: str = "regions", **options: Any) -> Any:
    """Draw one of the pictures by name, on a figure of its own."""
    with none_left_behind():
        return _chosen(regions, kind, options)(regions, **options)


def _chosen(regions: Regions, kind: str, options: dict[str, Any]) -> Any:
    """What draws such a picture, after making sure that it takes the options."""
    draw, taken = _found(regions, kind)
    unknown = sorted(set(options) - set(taken))
    if unknown:
        raise AffineLensError(
            f"{name_of_picture(regions, kind)} does not take {', '.join(unknown)}; "
            f"it takes {', '.join(taken) or 'no options'}"
        )
    return draw


def picture_options(regions: Regions, kind: str) -> list[str]:
    """The options that a picture of a set takes."""
    return _found(regions, kind)[1]


def name_of_picture(regions: Regions, kind: str) -> str:
    """What errors call a picture of a set."""
    return (
        f"the picture of a domain of dimension {regions.domain.dim}" if kind == "regions" else f"the picture {kind!r}"
    )


def _found(regions: Regions, kind: str) -> tuple[Any, list[str]]:
    """What draws such a picture, and the options that it takes."""
    require_regions(regions)
    dim = regions.domain.dim
    if kind not in KINDS:
        raise AffineLensError(f"there is no picture {kind!r:.40}; take one of {', '.join(KINDS)}")
    draw = _BY_DIMENSION.get(dim) if kind == "regions" else _BY_NAME[kind]
    if draw is None:
        raise AffineLensError(
            f"the regions of a domain of dimension {dim} cannot be drawn; enumerate on ",
            Words("a Slice", "one given by --slice-axes or --through"),
            " of dimension 1, 2 or 3",
        )
    return draw, _option_names(draw) + (_option_names(partition) if draw is image_slice else [])


def _option_names(draw: Callable[..., Any]) -> list[str]:
    parameters = signature(draw).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
