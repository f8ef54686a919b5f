"""What compiling changed or took for granted, as values: code asks a note for its kind and people read its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class NoteKind(Enum):
    """What a note says."""

    CUT_OFF = "cut off"  # the model's last operator, which only rescales the output, was left out
    SIGMOID_CUT_OFF = "sigmoid cut off"  # the same, of an operator that a threshold can be taken back through
    TANH_CUT_OFF = "tanh cut off"
    ROUNDED = "rounded"  # a coefficient is not the model's own number
    COMBINED = "combined"  # the model's own arithmetic made one constant of several
    ASSUMED = "assumed"  # the model does not say it

    @property
    def is_cut_off(self) -> bool:
        """Whether outputs are not the model's own values."""
        return self in (NoteKind.CUT_OFF, NoteKind.SIGMOID_CUT_OFF, NoteKind.TANH_CUT_OFF)


# How the sentences of each kind read, to know those that were saved without their kind.
_WORDS = {
    "sigmoid was cut off": NoteKind.SIGMOID_CUT_OFF,
    "was cut off": NoteKind.CUT_OFF,
    "rounded": NoteKind.ROUNDED,
    "were combined": NoteKind.COMBINED,
}


@dataclass(frozen=True)
class Note:
    """One note; ``place`` is the node or layer it is about, if it is about one."""

    kind: NoteKind
    text: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text

    @classmethod
    def read(cls, sentence: str) -> Note:
        """A note of which only the sentence was kept."""
        found = (kind for words, kind in _WORDS.items() if words in sentence.lower())
        return cls(next(found, NoteKind.ASSUMED), sentence)


def cut_off(place: str, operator: str) -> Note:
    """That a final softmax, sigmoid or tanh was left out, and what this does not change."""
    thresholds = {
        "sigmoid": (NoteKind.SIGMOID_CUT_OFF, "log(t / (1 - t))"),
        "tanh": (NoteKind.TANH_CUT_OFF, "atanh(t)"),
    }
    kind, kept = NoteKind.CUT_OFF, "the argmax along its axis is unchanged"
    if operator.lower() in thresholds:
        kind, place_of_threshold = thresholds[operator.lower()]
        kept = f"the argmax is unchanged, and so is a threshold t, taken at {place_of_threshold}"
    return Note(kind, f"the final {operator} was cut off; {kept}", place)


def combined(place: str, operator: str) -> Note:
    """That the model computes a constant from others."""
    return Note(NoteKind.COMBINED, f"constants were combined by {operator} in the model's own arithmetic", place)


def evaluated(place: str, operator: str) -> Note:
    """That an operator's coefficients are not numbers of the model, but what the framework computes from them."""
    return Note(NoteKind.ROUNDED, f"the coefficients of {operator} were computed once and rounded to float64", place)


def rounded_input(name: str, number_type: str, owner: str) -> Note:
    """That the numbers given for an input are not numbers of the model's type."""
    return Note(NoteKind.ROUNDED, f"fixed input {name!r} was rounded to {number_type}, the {owner}'s type")


def rounds(place: str, number_type: str) -> Note:
    """That the model rounds values here, which a piecewise affine function cannot do."""
    return Note(NoteKind.ROUNDED, f"values are rounded to {number_type} in the model, but not in the network", place)
