"""Entries that are provably the same function, because they are computed from the same things in the same way.

Where an image is black or constant, a convolution repeats itself all over it, and a pooling window compares equal
functions: a tie that no float64 bound can prove. Here every entry of a tensor gets a label such that equal labels mean
equal functions and 0 means the zero function. Different labels mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats, Indices
from affinelens.network.activation import Activation, label_rows
from affinelens.network.composed_maps import Chain, Sum
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import Dense, LinearMap, Scale, Select
from affinelens.network.stage import AffineSum

_ONE: Indices = np.ones(1, dtype=np.int64)


class Labels:
    """Labels of a network's tensors on a chart, stage by stage."""

    def __init__(self, chart: ExactMatrix) -> None:
        self._sources = [_of_rows(chart)]

    def of_sum(self, linear: AffineSum) -> Indices:
        """Labels of an affine sum of the sources so far."""
        terms = [_through(part, self._sources[k]) for k, part in linear.sources]
        if linear.bias is not None:
            terms.append(_through(linear.bias, _ONE))
        return _combined(terms) if terms else np.zeros(linear.size, dtype=np.int64)

    def add_outputs(self, activation: Activation, labels: Indices, first: Indices, last: Indices) -> None:
        """Note an activation's outputs as the next source.

        Its pre-activations have the given labels, and its choices can be on the pieces from ``first`` to ``last``.
        """
        self._sources.append(activation.output_labels(labels, first, last))


def _of_rows(chart: ExactMatrix) -> Indices:
    width = chart.shape[1]
    entries = [int(n) for n in chart.numerators.entries()]
    known: dict[tuple[int, ...], int] = {(0,) * width: 0}
    rows = (tuple(entries[i : i + width]) for i in range(0, len(entries), width))
    return np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)


def _combined(terms: Sequence[Indices]) -> Indices:
    """Indices of a sum; one that has a single term keeps its labels."""
    return terms[0] if len(terms) == 1 else label_rows(np.stack(terms, axis=1))


def _through(part: LinearMap, labels: Indices) -> Indices:
    """Indices behind a linear map."""
    match part:
        case Chain():
            for step in part.maps:
                labels = _through(step, labels)
            return labels
        case Sum():
            return _combined([_through(term, labels) for term in part.maps])
        case Select():
            return np.where(part.indices < 0, 0, labels[part.indices])
        case Scale():
            return _times(part.factors, labels)
        case Dense() if part.size_in == 1:
            return _times(part.weight[:, 0], np.repeat(labels, part.size_out))
        case Convolution():
            return _convolved(part, labels)
    if not labels.any():
        return np.zeros(part.size_out, dtype=np.int64)
    return 1 + np.arange(part.size_out)


def _times(factors: Floats, labels: Indices) -> Indices:
    kinds = np.unique(factors, return_inverse=True)[1].ravel()
    found = label_rows(np.stack([labels, kinds], axis=1)) + 1
    return np.where((labels == 0) | (factors == 0.0), 0, found)


def _convolved(part: Convolution, labels: Indices) -> Indices:
    """One label a channel and a kind of window."""
    groups, (channels_in, _), (channels_out, _) = part.groups, part.taken, part.given
    image = labels.reshape(groups, channels_in, -1)
    outside = np.zeros((groups, channels_in, 1), dtype=np.int64)
    windows = np.concatenate([image, outside], axis=2)[:, :, part.sources]  # a source of -1 is the last
    kinds = np.stack([label_rows(group.reshape(-1, group.shape[2]).T) for group in windows])
    channel = np.arange(groups * channels_out).reshape(groups, channels_out, 1)
    found = 1 + channel * (int(kinds.max(initial=0)) + 1) + kinds[:, None, :]
    return np.where(kinds[:, None, :] == 0, 0, found).ravel()
