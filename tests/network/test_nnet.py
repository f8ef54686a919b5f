"""``.nnet`` files: the network has exactly the file's decimals, scaled as the file says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import affinelens as al
from affinelens.network.note import NoteKind
from support.model_files import nnet_text
from support.random_networks import Layers, random_layers

MEANS, RANGES = [1.5, -0.1, 7.0], [3.0, 0.3, 373.9]


def written(folder: Path, text: str) -> Path:
    path = folder / "model.nnet"
    path.write_text(text)
    return path


def value(layers: Layers, x: list[Fraction], means: list[float], ranges: list[float], form: str) -> list[Fraction]:
    """What a file says, in rational arithmetic on the decimals that stand in it."""

    def stated(number: float) -> Fraction:
        return Fraction(f"{number:{form}}")

    *middles, last_middle = map(stated, means)
    *spans, last_span = map(stated, ranges)
    values = [(a - middle) / span for a, middle, span in zip(x, middles, spans, strict=True)]
    for index, (weight, bias) in enumerate(layers):
        rows = [[stated(w) for w in row] for row in weight]
        values = [
            sum((w * v for w, v in zip(row, values, strict=True)), stated(b)) for row, b in zip(rows, bias, strict=True)
        ]
        if index < len(layers) - 1:
            values = [max(v, Fraction(0)) for v in values]
    return [v * last_span + last_middle for v in values]


@pytest.mark.parametrize("form", [".5e", ".9f", ".2f"])
@pytest.mark.parametrize("seed", range(3))
def test_decimals_means_and_ranges_are_exact(tmp_path: Path, seed: int, form: str) -> None:
    layers = random_layers([2, 4, 3, 2], seed=seed, bias=1)
    net = al.network(written(tmp_path, nnet_text(layers, MEANS, RANGES, form)))
    x = [Fraction(1, 3), Fraction(-7, 5)]
    assert net.evaluate_exact(x) == value(layers, x, MEANS, RANGES, form)
    assert net([1 / 3, -1.4]) == pytest.approx([float(v) for v in net.evaluate_exact(x)], rel=1e-9)
    assert all(note.kind is not NoteKind.ROUNDED for note in net.notes)


def test_regions_are_those_of_the_layers(tmp_path: Path) -> None:
    layers = random_layers([2, 6, 6, 1], seed=1)
    net = al.network(written(tmp_path, nnet_text(layers, form=".17g")))
    box = al.Box(-1, 1, dim=2)
    assert al.count(net, box) == al.count(layers, box)


def test_what_float64_cannot_hold_is_rounded_and_said(tmp_path: Path) -> None:
    layers = random_layers([2, 3, 1], seed=0)
    net = al.network(written(tmp_path, nnet_text(layers, form=".25f")))
    assert "rounded once" in net.report()
    assert net([0.3, 0.4]) == pytest.approx(al.network(layers)([0.3, 0.4]))


TEXT = nnet_text(random_layers([2, 3, 1], seed=0))
BAD = {
    "": "is not a .nnet file",
    "a network": "is not a .nnet file",
    TEXT.replace("2,2,1,3,", "2,3,1,3,"): "do not fit these",
    TEXT.replace("2,2,1,3,", "999999999,2,1,3,"): "do not fit these",
    TEXT.replace("2,3,1,", "2,0,1,"): "do not fit these",
    TEXT + "1.0,\n": "numbers, but layers of sizes 2, 3, 1 take",
    TEXT.rsplit(",", 2)[0] + ",nan,\n": "'nan' where a decimal",
    TEXT.rsplit(",", 2)[0] + ",1e999,\n": "'1e999' where a decimal",
    TEXT.rsplit(",", 2)[0] + "," + "1" * 5000 + ",\n": "where a decimal",
    TEXT.replace("1.00000e+00,1.00000e+00,1.00000e+00", "0,1,1"): "a range of 0",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_is_no_such_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(al.AffineLensError, match=BAD[text]) as caught:
        al.network(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
