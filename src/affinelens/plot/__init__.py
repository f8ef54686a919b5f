"""Pictures of regions, with matplotlib: axes in and axes out; without axes, a figure of pyplot's."""

from affinelens.plot.canvas import close_picture, require_picture_file, save_picture
from affinelens.plot.curves import Curve, curve_panels, curves
from affinelens.plot.display import KINDS, display, name_of_picture, picture, picture_options
from affinelens.plot.evolution import Snapshot, animation, evolution, surface_evolution
from affinelens.plot.function_graph import graph
from affinelens.plot.image_slice import image_slice
from affinelens.plot.network_comparison import comparison
from affinelens.plot.partition import partition
from affinelens.plot.partition_rows import Panel, partition_rows
from affinelens.plot.search_stages import search_stages
from affinelens.plot.solid import solid
from affinelens.plot.statistics import layer_bars, volume_histogram
from affinelens.plot.surface import surface
from affinelens.plot.training_curves import training_curves

__all__ = [
    "Curve",
    "KINDS",
    "Panel",
    "Snapshot",
    "animation",
    "close_picture",
    "comparison",
    "curve_panels",
    "curves",
    "display",
    "evolution",
    "graph",
    "image_slice",
    "layer_bars",
    "name_of_picture",
    "partition",
    "partition_rows",
    "picture",
    "picture_options",
    "require_picture_file",
    "save_picture",
    "search_stages",
    "solid",
    "surface",
    "surface_evolution",
    "training_curves",
    "volume_histogram",
]
