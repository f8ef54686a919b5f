"""A vertex computed again from the hyperplanes that meet there, with a proven and smaller error."""

from __future__ import annotations

from typing import Any

from affinelens.engine.vertex.kernels.row_values import value_at
from affinelens.engine.vertex.layout.state import Arena, Rows
from affinelens.kernels.bits import ONE, lowest_bit
from affinelens.kernels.compilation import inlined, kernel
from affinelens.kernels.lanes import LANES, load, splat, store, total

_ROUNDING = 2.0**-53


@kernel
def refresh(arena: Arena, rows: Rows, slots: Any, v: int, words: int, lanes: int, d: int) -> None:
    """Compute a vertex again, from d of the hyperplanes that meet there, if that makes its error bound smaller.

    With M an approximate inverse of their normals N, the vertex differs from x by at most
    ``|M| (|N x + c| + row errors) / (1 - ||I - M N||)``.
    """
    x, bits, off, row = arena.x, arena.bits, arena.off, rows.row
    inverse, point, residual, places = arena.inverse, arena.point, arena.residual, arena.places
    found = 0
    for w in range(words):
        rest = bits[v, w]
        while rest and found < d:
            places[found] = slots[64 * w + lowest_bit(rest)].place
            rest &= rest - ONE
            found += 1
    if not _solve(arena, row, lanes, d):
        return
    # one step of Newton's method, then the bound
    for i in range(d):
        residual[i] = value_at(row, places[i], point, 0, lanes)
    for k in range(d):
        step = 0.0
        for i in range(d):
            step += inverse[k, i] * residual[i]
        point[k] -= step
    defect = 0.0
    for k in range(d):
        part = 0.0
        for i in range(d):
            part += abs(inverse[k, i]) * rows.hyperplane[places[i]].row_base
        for c in range(0, lanes, LANES):
            entry, size = load(arena.identity, k * lanes + c) * -1.0, splat(1.0)
            for i in range(d):
                term = inverse[k, i] * load(row, places[i] * lanes + c)
                entry = entry + term
                size = size + abs(term)
            part += total((abs(entry) + ((d + 2) * _ROUNDING) * size) * load(arena.coordinates, c))
        if not part < 0.5:
            return
        defect = max(defect, part)
    for i in range(d):
        residual[i] = abs(value_at(row, places[i], point, 0, lanes)) + rows.hyperplane[places[i]].row_base
    reach = 0.0
    for k in range(d):
        part = 0.0
        for i in range(d):
            part += abs(inverse[k, i]) * residual[i]
        if not part < off[v]:
            return
        reach = max(reach, part)
    reach = reach / (1.0 - defect) * (1.0 + 1e-9)
    if reach < off[v]:
        for k in range(d):
            x[v, k] = point[k]
        off[v] = reach


@inlined
def _solve(arena: Arena, row: Any, lanes: int, d: int) -> bool:
    """Invert the normals of the rows at ``places`` by Gauss and Jordan; where the rows vanish is left in ``point``."""
    normal, inverse, places = arena.normal, arena.inverse, arena.places
    for i in range(d):
        for c in range(0, lanes, LANES):
            store(normal, i * lanes + c, load(row, places[i] * lanes + c))
            store(inverse, i * lanes + c, load(arena.identity, i * lanes + c))
    for k in range(d):
        pivot = k
        for i in range(k + 1, d):
            if abs(normal[i, k]) > abs(normal[pivot, k]):
                pivot = i
        if not abs(normal[pivot, k]) > 0.0:
            return False
        scale = 1.0 / normal[pivot, k]
        for c in range(0, lanes, LANES):
            a, b = load(normal, pivot * lanes + c) * scale, load(inverse, pivot * lanes + c) * scale
            store(normal, pivot * lanes + c, load(normal, k * lanes + c))
            store(inverse, pivot * lanes + c, load(inverse, k * lanes + c))
            store(normal, k * lanes + c, a)
            store(inverse, k * lanes + c, b)
        for i in range(d):
            if i == k:
                continue
            factor = normal[i, k]
            for c in range(0, lanes, LANES):
                store(normal, i * lanes + c, load(normal, i * lanes + c) - factor * load(normal, k * lanes + c))
                store(inverse, i * lanes + c, load(inverse, i * lanes + c) - factor * load(inverse, k * lanes + c))
    for k in range(d):
        arena.point[k] = -normal[k, d]
    arena.point[d] = 1.0
    return True
