"""Notes are values with a sentence, and a sentence alone still tells its kind."""

from __future__ import annotations

import pytest

from affinelens.network.note import Note, NoteKind, combined, cut_off, rounded_input

NOTES = [
    (cut_off("the_Softmax_y", "Softmax"), NoteKind.CUT_OFF),
    (cut_off("", "Sigmoid"), NoteKind.SIGMOID_CUT_OFF),
    (combined("node 3", "Mul"), NoteKind.COMBINED),
    (rounded_input("scale", "float32", "model"), NoteKind.ROUNDED),
    (Note(NoteKind.ASSUMED, "the batch axis was taken to be 1"), NoteKind.ASSUMED),
]


@pytest.mark.parametrize(("note", "kind"), NOTES)
def test_a_saved_sentence_tells_the_kind(note: Note, kind: NoteKind) -> None:
    assert note.kind is kind
    again = Note.read(str(note))
    assert again.kind is kind
    assert str(again) == str(note)


def test_the_place_comes_first() -> None:
    assert str(Note(NoteKind.ASSUMED, "it is so", "layer 2")) == "layer 2: it is so"
    assert str(Note(NoteKind.ASSUMED, "it is so")) == "it is so"


def test_a_final_sigmoid_keeps_thresholds_and_a_softmax_does_not() -> None:
    assert "log(t / (1 - t))" in cut_off("", "Sigmoid").text
    assert "threshold" not in cut_off("", "Softmax").text
