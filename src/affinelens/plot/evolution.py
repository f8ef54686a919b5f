"""How the regions of a network change while it trains: strips of panels (the paper's Figure 7), and an animation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib import animation as matplotlib_animation
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from affinelens.errors import AffineLensError
from affinelens.files.given_path import given_path
from affinelens.files.output_file import cannot_be_written, require_writable_file
from affinelens.plot.canvas import panels
from affinelens.plot.partition_rows import draw_panel
from affinelens.plot.surface import surface

if TYPE_CHECKING:
    from affinelens.regions import Regions

_FRAME_INCHES, _FRAME_DPI = 4.0, 120
_FRAMES_A_SECOND = 10
_ANIMATIONS = (".gif", ".mp4")


class Snapshot(Protocol):
    """A network's regions at one moment of its training."""

    @property
    def label(self) -> Any: ...

    def regions(self) -> Regions: ...


def evolution(snapshots: Sequence[Snapshot], *, columns: int = 6, **options: Any) -> Figure:
    """Draw a panel a snapshot, with its label and number of regions beneath.

    ``columns`` is how many panels stand side by side. Other options are those of a partition, which here is colored by
    class if nothing else is asked for.
    """
    _require_some(snapshots, columns)
    figure, axes = panels(len(snapshots), columns)
    for ax, snapshot in zip(axes, snapshots, strict=True):
        _draw(ax, snapshot, options)
    return figure


def surface_evolution(snapshots: Sequence[Snapshot], *, columns: int = 6, **options: Any) -> Figure:
    """Draw a panel a snapshot with the outputs as heights over the plane (the paper's Figure 7b).

    Options other than ``columns`` are those of a surface.
    """
    _require_some(snapshots, columns)
    figure, axes = panels(len(snapshots), columns, solid=True)
    for ax, snapshot in zip(axes, snapshots, strict=True):
        surface(snapshot.regions(), ax, **{"legend": False, **options})
        ax.set(xlabel="", ylabel="", zlabel="", xticklabels=[], yticklabels=[], zticklabels=[])
        ax.set_title(_caption(snapshot), y=-0.12, fontsize="medium")
    return figure


def animation(snapshots: Sequence[Snapshot], path: str | Path, *, seconds: float = 0.5, **options: Any) -> Path:
    """Write an animation, a frame a snapshot, each shown for so many seconds: a GIF, or an MP4 if ffmpeg is there.

    Other options are those of a partition.
    """
    _require_some(snapshots)
    target = given_path(path, "an animation")
    if target.suffix.lower() not in _ANIMATIONS:
        raise AffineLensError(f"{target}: animations are written as .gif or .mp4; give a name that ends so")
    if not seconds > 0 or not np.isfinite(seconds):
        raise AffineLensError(f"seconds must be more than 0, but is {seconds}")
    require_writable_file(target)
    write = _write_gif if target.suffix.lower() == ".gif" else _write_mp4
    try:
        write(target, _frames(snapshots, options), seconds)
    except OSError as error:
        raise cannot_be_written(target, error) from None
    return target


def _require_some(snapshots: Sequence[Snapshot], columns: int = 1) -> None:
    if columns < 1:
        raise AffineLensError(f"columns must be at least 1, but is {columns}")
    if not isinstance(snapshots, Sequence) or not all(hasattr(snapshot, "label") for snapshot in snapshots):
        raise AffineLensError(
            f"snapshots must be a list of such as have a label and regions, like those of a training record "
            f"(tracker.snapshots), but got {snapshots!r:.60}"
        )
    if not len(snapshots):
        raise AffineLensError("there is no snapshot to draw; give at least one, with a label and regions")


def _draw(ax: Axes, snapshot: Snapshot, options: dict[str, Any]) -> None:
    draw_panel(ax, snapshot.regions(), _caption(snapshot), **{"color": "class", **options})


def _caption(snapshot: Snapshot) -> str:
    return f"{snapshot.label}\n{len(snapshot.regions()):,} regions"


def _frames(snapshots: Sequence[Snapshot], options: dict[str, Any]) -> Iterator[Figure]:
    for snapshot in snapshots:
        figure = Figure(figsize=(_FRAME_INCHES, _FRAME_INCHES + 0.5), dpi=_FRAME_DPI, layout="constrained")
        _draw(figure.add_subplot(), snapshot, options)
        yield figure


def _write_gif(target: Path, frames: Iterator[Figure], seconds: float) -> None:
    first, *others = [_pixels(figure).convert("P", palette=Image.Palette.ADAPTIVE) for figure in frames]
    first.save(target, save_all=True, append_images=others, duration=round(1000 * seconds), loop=0)


def _write_mp4(target: Path, frames: Iterator[Figure], seconds: float) -> None:
    if not matplotlib_animation.writers.is_available("ffmpeg"):
        raise AffineLensError(f"{target}: writing MP4 needs ffmpeg, which is not installed; write a .gif instead")
    writer = matplotlib_animation.FFMpegWriter(fps=_FRAMES_A_SECOND)
    screen = Figure(figsize=(_FRAME_INCHES, _FRAME_INCHES + 0.5), dpi=_FRAME_DPI)
    image = screen.add_axes((0.0, 0.0, 1.0, 1.0))
    image.set_axis_off()
    with writer.saving(screen, str(target), _FRAME_DPI):
        for figure in frames:
            image.clear()
            image.set_axis_off()
            image.imshow(np.asarray(_pixels(figure)), aspect="auto")
            for _ in range(max(1, round(_FRAMES_A_SECOND * seconds))):
                writer.grab_frame()


def _pixels(figure: Figure) -> Image.Image:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=_FRAME_DPI)
    return Image.open(buffer).convert("RGB")
