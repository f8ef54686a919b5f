"""Small VNN-LIB files of both versions, as bytes: what mutants are made of."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import affinelens as al

_FIRST = """; a comment
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 -0.5)) (assert (<= X_0 1e0))
(assert (and (>= X_1 0) (<= X_1 1/3)))
(assert (or (and (<= Y_0 Y_1) (> Y_1 0.25)) (>= (+ Y_0 (* 2 Y_1) -1) 0)))
"""
_LINEAR = """(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)
(assert (>= X_0 0))(assert (>= X_1 0))(assert (<= (+ X_0 X_1) 1))
(assert (or (= X_0 0.5) (!= Y_0 (- 3 X_1))))
"""
_SECOND = """(vnnlib-version <2.0>)
(declare-network f (declare-input X float32 [1,2]) (declare-output Y real [2]))
(assert (and (<= X[0,0] 1) (>= X[0,0] -1) (<= X[0,1] 0.5) (>= X[0,1] 0.5)))
(assert (or (< Y[0] Y[1]) (>= (* 3 Y[0]) 2.5)))
"""


def vnnlib_samples() -> list[bytes]:
    texts = [text.encode() for text in (_FIRST, _LINEAR, _SECOND)]
    return [*texts, gzip.compress(texts[0])]


def vnnlib_reader(folder: Path) -> Callable[[bytes], object]:
    """Read a file and, if that goes, use all that was read."""

    def read(content: bytes) -> object:
        path = folder / ("property.vnnlib.gz" if content.startswith(b"\x1f\x8b") else "property.vnnlib")
        path.write_bytes(content)
        found = al.read_vnnlib(path)
        origin, zero = [0] * found.inputs, [0] * found.outputs
        for case in found.cases:
            case.holds(origin, zero)
            if case.domain.dim:
                case.domain.frame.inverse.coordinates(case.domain.frame.to_inputs(case.domain.frame.lower[None]))
        return repr(found), [str(part) for case in found.cases for row in case.condition for part in row]

    return read
