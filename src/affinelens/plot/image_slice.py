"""A plane through three images: the partition of it, and the images at their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from affinelens.array_types import Floats
from affinelens.domain import Slice
from affinelens.errors import AffineLensError, Option
from affinelens.plot.canvas import flat_axes
from affinelens.plot.palette import INK
from affinelens.plot.partition import partition

if TYPE_CHECKING:
    from affinelens.regions import Regions

# The three images' slice coordinates, and where they are shown: left, bottom, width, height as shares of the picture.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
_PLACES = ((-0.46, 0.0, 0.26, 0.26), (1.05, 0.0, 0.26, 0.26), (-0.46, 0.74, 0.26, 0.26))
_MARKS = ("o", "s", "^")


def image_slice(
    regions: Regions, ax: Axes | None = None, *, shape: Sequence[int] | None = None, **options: Any
) -> Axes:
    """Draw the partition of a plane through three images, with the images beside it.

    The domain is a ``Slice.through(image, image, image)``, or any slice of two directions: the images are the inputs at
    slice coordinates (0, 0), (1, 0) and (0, 1). ``shape`` is theirs, (height, width) or (channels, height, width), if
    the slice was given flat inputs. Other options are those of a partition.
    """
    domain = regions.domain
    if not isinstance(domain, Slice) or domain.dim != 2 or len(domain.basis) != 2:
        raise AffineLensError(
            "images are shown for a plane through three of them, ",
            Option("through", in_python="Slice.through(image, image, image)"),
            "; this domain is another",
        )
    images = _pictures(domain.origin + np.einsum("pk,k...->p...", _CORNERS, domain.basis), shape)
    ax = flat_axes(ax, (7.6, 4.6))
    partition(regions, ax, **options)
    low, high = float(images.min()), float(images.max())
    for image, place, mark, corner in zip(images, _PLACES, _MARKS, _CORNERS.tolist(), strict=True):
        beside = ax.inset_axes(place)
        beside.imshow((image - low) / ((high - low) or 1.0), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        beside.set(xticks=[], yticks=[])
        for axes, (x, y), coordinates in ((ax, corner, ax.transData), (beside, [0.0, 1.0], beside.transAxes)):
            axes.plot(
                [x], [y], marker=mark, markersize=9, markerfacecolor="white", markeredgecolor=INK, clip_on=False,
                zorder=6, transform=coordinates,
            )  # fmt: skip
    return ax


def _pictures(inputs: Floats, shape: Sequence[int] | None) -> Floats:
    """Three images as matplotlib takes them: height x width, with colors last."""
    if shape is not None:
        try:
            inputs = inputs.reshape(3, *shape)
        except (TypeError, ValueError):
            raise AffineLensError(f"inputs of {inputs[0].size} numbers are no images of shape {shape}") from None
    pictures = inputs[:, 0] if inputs.ndim == 4 and inputs.shape[1] == 1 else inputs
    if pictures.ndim == 4 and pictures.shape[1] == 3:
        return pictures.transpose(0, 2, 3, 1)
    if pictures.ndim == 3:
        return pictures
    raise AffineLensError(
        f"inputs of shape {inputs.shape[1:]} are no images; give shape=(height, width) or (channels, height, width) "
        f"with 1 or 3 channels"
    )
