"""A small picture of a set, for where results show themselves."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from affinelens.plot.canvas import close_picture
from affinelens.plot.display import display

if TYPE_CHECKING:
    from affinelens.regions import Regions

# Sets of at most so many regions are drawn unasked: their vertices are found in milliseconds.
_MOST_REGIONS = 3_000
_DIMENSIONS = (1, 2, 3)
_INCHES, _DPI = 3.0, 80


def thumbnail(regions: Regions) -> bytes | None:
    """A set of few regions as a PNG, or None where there is nothing to draw or too much to do so unasked."""
    if regions.domain.dim not in _DIMENSIONS or not 0 < len(regions) <= _MOST_REGIONS:
        return None
    if not regions.outcome.has_facets:
        return None
    ax = display(regions, legend=False)
    figure, buffer = ax.figure, BytesIO()
    figure.set_size_inches(_INCHES * figure.get_size_inches() / figure.get_size_inches().max())
    figure.savefig(buffer, format="png", dpi=_DPI, bbox_inches="tight")
    close_picture(figure)
    return buffer.getvalue()
