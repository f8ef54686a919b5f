from __future__ import annotations

from pathlib import Path

import pytest

import affinelens as al
from affinelens.plot import Panel, comparison, partition_rows, save_picture
from affinelens.plot.repeats import repeats
from support.plot_sets import drawn_set


def test_each_partition_has_its_count_beneath_and_each_row_its_name() -> None:
    first, second = drawn_set(2, 6, 1, seed=0), drawn_set(2, 9, 1, seed=1)
    figure = partition_rows({"one": [Panel(first, "a"), Panel(second)], "two": [Panel(second, "b")]})
    assert [ax.get_xlabel() for ax in figure.axes] == [
        f"{len(first)} regions\na", f"{len(second)} regions", f"{len(second)} regions\nb",
    ]  # fmt: skip
    assert [ax.get_ylabel() for ax in figure.axes] == ["one", "", "two"]
    assert [len(ax.collections[0].get_paths()) for ax in figure.axes] == [len(first), len(second), len(second)]


def test_no_partition_is_refused() -> None:
    with pytest.raises(al.AffineLensError, match="no partition"):
        partition_rows({"one": []})


def test_a_comparison_draws_planes_stages_and_volumes(tmp_path: Path) -> None:
    sets = {name: drawn_set(2, 5, size, 2, seed=0) for name, size in (("a", 3), ("b", 7))}
    *partitions, stages, volumes = comparison(sets).axes
    assert [ax.get_xlabel() for ax in partitions] == [f"{len(found)} regions\n{name}" for name, found in sets.items()]
    assert [tuple(line.get_ydata()) for line in stages.lines] == [found.layer_counts for found in sets.values()]
    assert [len(line.get_xdata()) for line in volumes.lines] == [len(found) for found in sets.values()]
    save_picture(comparison({"solid": drawn_set(3, 4, 1, seed=0)}), tmp_path / "solid.png")
    assert len(comparison({"solid": drawn_set(3, 4, 1, seed=0)}).axes) == 2
    with pytest.raises(al.AffineLensError, match="nothing to compare"):
        comparison({})


def test_repeats_draw_every_value_and_the_mean() -> None:
    (ax,) = repeats({"g": {"a": [0.2, 0.4], "b": [0.9]}}, "share").axes
    points, mean, other, its_mean = ax.collections
    assert sorted(points.get_offsets()[:, 1].tolist()) == [0.2, 0.4]
    assert mean.get_segments()[0][:, 1].tolist() == pytest.approx([0.3, 0.3])
    assert other.get_offsets()[:, 1].tolist() == its_mean.get_segments()[0][:1, 1].tolist() == [0.9]
    with pytest.raises(al.AffineLensError, match="no values"):
        repeats({}, "share")
