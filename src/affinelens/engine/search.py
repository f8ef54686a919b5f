"""Algorithm 2 of the paper: all cells into which one stage cuts one parent cell.

In order: filter the breaks that cut the parent; merge those that are the same hyperplane there; start from the cell at the parent's
interior point; then, breadth first, decide for each cell which rows are facets (that is redundancy removal) and
cross every facet that belongs to this stage (Theorem 2: this reaches all cells). No verdict rests on a tolerance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, gamma, upward
from affinelens.arithmetic.rational import stack_rows
from affinelens.engine.local_rows import LocalRows
from affinelens.engine.problem import Cell, Problem
from affinelens.engine.proofs import BOX_MODE_FROM, Conditions, Ledger, Tally, Witness
from affinelens.engine.solver import Solver
from affinelens.network.activation import Activation, MaxGroups
from affinelens.network.enclosure import Enclosure

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Signs = NDArray[np.int8]
Bools = NDArray[np.bool_]
Key = tuple[int, ...]
_RAYS_PER_DIMENSION = 8
_TIGHT_BOX_UP_TO = 8
_SHORT_OF_THE_BORDER = 1.0 - 1e-6
_SHARES_TOWARD_ROOM = (0.5, 0.9, 0.99)


@dataclass(frozen=True, eq=False)
class _Arrangement:
    """The parent's facets (rows 0 .. facets-1, always positive) and then one row for each distinct cutting hyperplane."""

    facets: int
    classes: list[int]
    class_of: dict[int, int]
    orientation: dict[int, int]


class Search:
    """One parent cell and the stage that cuts it."""

    def __init__(self, problem: Problem, solver: Solver, parent: Cell, tally: Tally, *, facets: bool = True) -> None:
        self._problem = problem
        self._solver = solver
        self._parent = parent
        self._tally = tally
        self._want_facets = facets
        self._activation: Activation = problem.network.stages[parent.depth].activation
        self._forms = problem.network.forms(problem.chart, parent.pattern, parent.depth)
        self._break_numbers = (
            problem.domain_count + problem.network.break_offsets[parent.depth] + np.arange(len(self._activation.breaks))
        )
        self._centre = parent.point

    # ------------------------------------------------------------------ rows

    @cached_property
    def _facet_rows(self) -> LocalRows:
        form = self._problem.rows(self._forms, self._parent.facets)
        return LocalRows.around(form, self._centre).signed(self._parent.signs)

    @cached_property
    def _break_rows(self) -> LocalRows:
        return LocalRows.around(self._problem.rows(self._forms, self._break_numbers), self._centre)

    @cached_property
    def _exact_forms(self) -> list[ExactMatrix]:
        return self._problem.network.exact_forms(self._problem.frame.chart, self._parent.pattern, self._parent.depth)

    @cached_property
    def _exact_breaks(self) -> ExactMatrix:
        return self._problem.exact_rows(self._exact_forms, self._break_numbers)

    @cached_property
    def _exact_facets(self) -> ExactMatrix:
        rows = self._problem.exact_rows(self._exact_forms, self._parent.facets)
        return rows.scaled_rows(ExactMatrix.from_floats(self._parent.signs.astype(np.float64)))

    @cached_property
    def _scale(self) -> float:
        """A length typical of the parent: its margin at the centre."""
        margin = float(self._facet_rows.offsets.min(initial=np.inf))
        return margin if np.isfinite(margin) and margin > 0 else 1.0

    @cached_property
    def _inside_parent(self) -> Conditions:
        return Conditions.all_positive(len(self._parent.facets))

    @property
    def _domain_facets(self) -> int:
        return int(np.count_nonzero(self._parent.facets < self._problem.domain_count))

    def _ledger(self, breaks: Indices) -> Ledger:
        """A ledger of the parent's facets followed by some of the stage's breaks."""

        def exact() -> ExactMatrix:
            return stack_rows([self._exact_facets, self._exact_breaks.rows(breaks.tolist())])

        rows = self._facet_rows.joined(self._break_rows[breaks])
        return Ledger(
            self._problem, self._solver, self._tally, self._centre, self._scale, rows, exact,
            len(self._parent.facets), self._domain_facets,
        )  # fmt: skip

    # ------------------------------------------------------------------ children

    def children(self) -> Iterator[Cell]:
        """Every cell of the stage inside the parent, the one at the parent's point first."""
        signs, ties = self._signs_at_centre()
        cutting = np.flatnonzero(ties | self._cuts(signs, ties))
        start = self._activation.pattern_from_signs(signs)
        if not len(cutting):
            yield self._child(start, self._parent.facets, self._parent.signs, self._parent.point, self._parent.exact_point)
            return
        yield from _Walk(self, self._merge(cutting), start).cells()

    def _child(
        self, pattern: Indices, facets: Indices, signs: Signs, point: Floats, exact: tuple[Fraction, ...] | None
    ) -> Cell:
        depth = self._parent.depth + 1
        whole = np.concatenate([self._parent.pattern, pattern]).astype(self._problem.network.pattern_type)
        return Cell(depth, whole, facets, signs, point, exact)

    # ------------------------------------------------------------------ the filter

    def _signs_at_centre(self) -> tuple[Signs, Bools]:
        """Sign of each break just beside the parent's point, and which breaks pass through the point itself.

        A break that is zero there takes the sign of its first non-zero coefficient, as if the point had been moved by infinitesimals of
        decreasing order along the axes; it is 0 only if it vanishes identically.
        """
        values, errors = self._break_rows.values(np.zeros((1, self._problem.dim)))
        signs = np.where(values[0] > 0, 1, -1).astype(np.int8)
        ties = np.zeros(len(signs), dtype=bool)
        open_questions = ~(np.abs(values[0]) > errors[0])
        if self._parent.exact_point is not None:
            open_questions[:] = True
        self._tally.by_rounding_bound += int(np.count_nonzero(~open_questions))
        if open_questions.any():
            point = ExactMatrix.from_fractions([[v] for v in [*self._parent.rational_point(), Fraction(1)]])
            exact_values = (self._exact_breaks.numerators * point.numerators).entries()
            for i in np.flatnonzero(open_questions).tolist():
                self._tally.by_exact_arithmetic += 1
                first = next((a for a in [exact_values[i], *self._exact_breaks.row(i)[:-1]] if a), fmpz(0))
                signs[i] = (first > 0) - (first < 0)
                ties[i] = not exact_values[i] and bool(first)
        return signs, ties

    def _cuts(self, signs: Signs, ties: Bools) -> Bools:
        """Which breaks change sign inside the parent; the sign at the centre is known, so one side is settled."""
        open_questions = (signs != 0) & ~ties & np.any(self._break_rows.normals != 0, axis=1)
        cuts = np.zeros(len(signs), dtype=bool)
        breaks = self._break_rows.signed(signs)
        ledger = self._ledger(np.arange(len(signs)))
        low, high = ledger.box
        open_questions &= ~self._positive_on_box(breaks, low, high, open_questions)
        if open_questions.any() and self._parent.exact_point is None:
            toward = _corners(breaks.normals[open_questions], low, high)
            self._witnesses(breaks, toward, open_questions, cuts)
        if np.count_nonzero(open_questions) > 2 * self._problem.dim and self._problem.dim <= _TIGHT_BOX_UP_TO:
            low, high, extremes = self._tight_box(ledger)
            open_questions &= ~self._positive_on_box(breaks, low, high, open_questions)
            if open_questions.any() and self._parent.exact_point is None and len(extremes):
                self._witnesses(breaks, extremes, open_questions, cuts)
        for i in np.flatnonzero(open_questions).tolist():
            cuts[i] = self._reaches_other_side(ledger, breaks, i, -int(signs[i]))
        return cuts

    def _positive_on_box(self, breaks: LocalRows, low: Floats, high: Floats, asked: Bools) -> Bools:
        """Breaks (turned positive at the centre) that an interval evaluation proves positive all over a box."""
        least = np.where(breaks.normals > 0, breaks.normals * low, breaks.normals * high).sum(axis=1)
        extent = np.maximum(np.abs(low), np.abs(high))
        rounding = 2.0**-51 * (len(low) + 2) * (np.abs(breaks.normals) @ extent + np.abs(breaks.offsets))
        proved = asked & (breaks.offsets + least > breaks.errors + rounding)
        self._tally.by_rounding_bound += int(np.count_nonzero(proved))
        return proved

    def _witnesses(self, breaks: LocalRows, toward: Floats, open_questions: Bools, cuts: Bools) -> None:
        """Look for points of the parent, on the way from its centre to given places, where a break is negative."""
        facets = self._facet_rows
        margins = facets.offsets
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = toward @ facets.normals.T
            leave = np.where(slopes < 0, margins / -slopes, np.inf).min(axis=1, initial=np.inf)
        steps = np.minimum(leave, 1.0) * _SHORT_OF_THE_BORDER
        points = toward * steps[:, None]
        values, errors = facets.values(points)
        inside = np.all(values > errors, axis=1) & np.all(np.isfinite(points), axis=1)
        if not inside.any():
            return
        values, errors = breaks.values(points[inside])
        found = np.any(values < -errors, axis=0) & open_questions
        self._tally.by_rounding_bound += int(np.count_nonzero(found))
        cuts |= found
        open_questions &= ~found

    def _tight_box(self, ledger: Ledger) -> tuple[Floats, Floats, Floats]:
        """A proven bounding box of the parent, and the places where its sides are touched."""
        facets = self._facet_rows
        low, high = (side.copy() for side in ledger.box)
        extremes = []
        for k in range(self._problem.dim):
            for side in (1.0, -1.0):
                cost = np.zeros(self._problem.dim)
                cost[k] = side
                touched = ledger.least(cost, self._inside_parent)
                if touched is None:
                    continue
                extremes.append(touched.point)
                bound = facets.combination_bound(-touched.multipliers, low, high, linear=cost)
                if side > 0:
                    low[k] = max(low[k], bound)
                else:
                    high[k] = min(high[k], -bound)
        return low, high, np.array(extremes).reshape(len(extremes), self._problem.dim)

    def _reaches_other_side(self, ledger: Ledger, breaks: LocalRows, index: int, sign: int) -> bool:
        """Whether a break, positive at the centre, is negative somewhere in the parent: by a linear program, proved."""
        facets = self._facet_rows
        low, high = ledger.box
        lowest = ledger.least(breaks.normals[index], self._inside_parent)
        if lowest is not None:
            weights = np.append(-lowest.multipliers, 1.0)
            rows = facets.joined(breaks[np.array([index])])
            if rows.combination_bound(weights, low, high) >= 0:
                self._tally.by_rounding_bound += 1
                return False
            if self._parent.exact_point is None:
                open_question, cut = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
                self._witnesses(breaks[np.array([index])], lowest.point[None], open_question, cut)
                if cut[0]:
                    return True
        return ledger.find(self._inside_parent.joined({len(facets) + index: sign})) is not None

    # ------------------------------------------------------------------ coinciding hyperplanes

    def _merge(self, cutting: Indices) -> _Arrangement:
        """Group cutting breaks that are the same hyperplane, decided exactly where float64 cannot tell them apart."""
        class_of: dict[int, int] = {}
        orientation: dict[int, int] = {}
        classes: list[int] = []
        twins = self._possibly_equal(cutting)
        for position, index in enumerate(cutting.tolist()):
            for other in twins.get(position, []):
                earlier = int(cutting[other])
                ratio = _ratio(self._exact_breaks.row(index), self._exact_breaks.row(earlier))
                self._tally.by_exact_arithmetic += 1
                if ratio is not None:
                    class_of[index] = class_of[earlier]
                    orientation[index] = orientation[earlier] * (1 if ratio > 0 else -1)
                    break
            else:
                class_of[index] = len(classes)
                orientation[index] = 1
                classes.append(index)
        return _Arrangement(len(self._parent.facets), classes, class_of, orientation)

    def _possibly_equal(self, cutting: Indices) -> dict[int, list[int]]:
        """For each cutting break the earlier ones that are not proved to be another hyperplane.

        If one row is a multiple of another, so are their values at any points; a 2 x 2 determinant of values that
        exceeds its error bound refutes that.
        """
        rows = self._break_rows[cutting]
        values, errors = rows.values(self._problem.samples - self._centre)
        v, e = values.T, errors.T
        determinant = v[:, None, :1] * v[None, :, 1:] - v[:, None, 1:] * v[None, :, :1]
        size = np.abs(v) + e
        bound = (
            e[:, None, :1] * size[None, :, 1:] + size[:, None, :1] * e[None, :, 1:]
            + e[:, None, 1:] * size[None, :, :1] + size[:, None, 1:] * e[None, :, :1]
        )  # fmt: skip
        bound = bound + 2.0**-50 * (size[:, None, :1] * size[None, :, 1:] + size[:, None, 1:] * size[None, :, :1])
        distinct = np.any(np.abs(determinant) > bound * (1 + 2.0**-20), axis=2)
        later, earlier = np.nonzero(np.tril(~distinct, k=-1))
        twins: dict[int, list[int]] = {}
        for i, j in zip(later.tolist(), earlier.tolist(), strict=True):
            twins.setdefault(i, []).append(j)
        return twins


class _Walk:
    """Breadth-first search over the cells of one parent (Algorithm 2, lines 9-21)."""

    def __init__(self, search: Search, arrangement: _Arrangement, start: Indices) -> None:
        self._search = search
        self._problem = search._problem
        self._parent = search._parent
        self._activation = search._activation
        self._arrangement = arrangement
        self._ledger = search._ledger(np.array(arrangement.classes))
        self._live = np.unique(self._activation.breaks.choice[np.array(sorted(arrangement.class_of))]).tolist()
        self._template = start
        self._conditions_of_choice: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._last = search._parent.depth + 1 == len(self._problem.network.stages)
        self._centres: dict[Key, Witness] = {}

    def cells(self) -> Iterator[Cell]:
        start = tuple(self._template[self._live].tolist())
        found: dict[Key, Witness] = {start: self._interior(start)}
        queue = deque([start])
        while queue:
            key = queue.popleft()
            conditions, facets = self._facets(key, found)
            yield self._cell(key, found[key], conditions, facets)
            for row in conditions.rows[facets].tolist():
                if row >= self._arrangement.facets:
                    neighbour = self._across(key, row - self._arrangement.facets)
                    if neighbour not in found:
                        found[neighbour] = self._interior(neighbour)
                        queue.append(neighbour)

    def _interior(self, key: Key) -> Witness:
        witness = self._centres.pop(key, None) or self._ledger.find(self._conditions(key))
        if witness is None:
            raise AssertionError("a cell beyond a proved facet has no interior; please report this as a bug")
        return witness

    def _cell(self, key: Key, witness: Witness, conditions: Conditions, facets: Bools) -> Cell:
        pattern = self._template.copy()
        pattern[self._live] = key
        numbers, signs = self._parent.facets[:0], self._parent.signs[:0]
        if self._search._want_facets or not self._last:
            rows = conditions.rows[facets]
            count = self._arrangement.facets
            inherited = rows[rows < count]
            own = np.array(self._arrangement.classes)[rows[rows >= count] - count]
            numbers = np.concatenate([self._parent.facets[inherited], self._search._break_numbers[own]])
            signs = np.concatenate([self._parent.signs[inherited], conditions.signs[facets][rows >= count]])
            order = np.argsort(numbers)
            numbers, signs = numbers[order], signs[order]
        return self._search._child(pattern, numbers, signs, witness.point, witness.exact)

    def _conditions(self, key: Key) -> Conditions:
        """The parent's facets and the sides of hyperplanes that define a cell."""
        sides: dict[int, int] = {}
        for choice, piece in zip(self._live, key, strict=True):
            sides.update(self._sides(choice, piece))
        return self._search._inside_parent.joined(sides)

    def _sides(self, choice: int, piece: int) -> list[tuple[int, int]]:
        cached = self._conditions_of_choice.get((choice, piece))
        if cached is None:
            arrangement = self._arrangement
            cached = [
                (arrangement.facets + arrangement.class_of[index], sign * arrangement.orientation[index])
                for index, sign in self._activation.constraints(choice, piece)
                if index in arrangement.class_of
            ]
            self._conditions_of_choice[choice, piece] = cached
        return cached

    def _across(self, key: Key, crossed: int) -> Key:
        """The pattern on the other side of a facet: every choice that breaks on that hyperplane changes."""
        changed = list(key)
        for position, (choice, piece) in enumerate(zip(self._live, key, strict=True)):
            breaking = [
                index
                for index, _ in self._activation.constraints(choice, piece)
                if self._arrangement.class_of.get(index) == crossed
            ]
            if breaking:
                changed[position] = self._next_piece(choice, piece, breaking)
        return tuple(changed)

    def _next_piece(self, choice: int, piece: int, breaking: list[int]) -> int:
        breaks = self._activation.breaks
        if not isinstance(self._activation, MaxGroups):
            above = dict(self._activation.constraints(choice, piece))[breaking[0]] < 0
            return piece + 1 if above else piece - 1
        first = int(self._activation.starts[choice])
        winner = first + piece
        rivals = [int(breaks.plus[i] if breaks.minus[i] == winner else breaks.minus[i]) for i in breaking]
        if len(rivals) == 1:
            return rivals[0] - first
        # Several rivals draw level on the same hyperplane: the one that grows fastest beyond it wins, the first of equal ones.
        exact = self._search._exact_breaks
        reference = exact.row(breaking[0])
        speeds = []
        for index, rival in zip(breaking, rivals, strict=True):
            ratio = _ratio(exact.row(index), reference)
            assert ratio is not None  # the breaks are of one class
            sense = 1 if int(breaks.plus[index]) == rival else -1
            speeds.append((ratio * sense, -rival))
        base_sense = 1 if int(breaks.plus[breaking[0]]) == rivals[0] else -1
        return -max((speed * base_sense, tie) for speed, tie in speeds)[1] - first

    # ------------------------------------------------------------------ facets

    def _facets(self, key: Key, found: dict[Key, Witness]) -> tuple[Conditions, Bools]:
        """Which of a cell's conditions are facets of it."""
        conditions = self._conditions(key)
        asked = np.ones(len(conditions.rows), dtype=bool)
        if self._last and not self._search._want_facets:
            asked[: self._arrangement.facets] = False
        facets = self._hit_by_rays(found[key], conditions, asked)
        for position in np.flatnonzero(asked & ~facets).tolist():
            facets[position] = self._is_facet(key, conditions, position, found)
        return conditions, facets

    def _is_facet(self, key: Key, conditions: Conditions, position: int, found: dict[Key, Witness]) -> bool:
        """Whether there are points of the parent just beyond one condition where all the others still hold."""
        row = int(conditions.rows[position])
        beyond = conditions.flipped(position)
        neighbour: Key | None = None
        if row >= self._arrangement.facets:
            across = self._across(key, row - self._arrangement.facets)
            if beyond.same_as(self._conditions(across)):
                neighbour = across
        if neighbour in found:
            self._ledger.tally.by_reuse += 1
            return True
        if self._ledger.known_empty(beyond, row, int(beyond.signs[position])):
            return False
        witness = self._ledger.find(beyond)
        if witness is not None and neighbour is not None:
            self._centres[neighbour] = witness
        return witness is not None

    def _hit_by_rays(self, witness: Witness, conditions: Conditions, asked: Bools) -> Bools:
        """Conditions that some ray from an interior point breaks first, each proved by a point just beyond it."""
        hit = np.zeros(len(conditions.rows), dtype=bool)
        if witness.exact is not None:
            return hit
        start = witness.point - self._ledger.centre
        if self._problem.dim < BOX_MODE_FROM:
            hit |= self._hit_along(start, conditions, self._directions)
        else:
            asked &= ~self._idle_bounds(conditions)
            hit |= self._hit_along_axes(start, conditions)
            if witness.roomiest is not None:
                for share in _SHARES_TOWARD_ROOM:
                    hit |= self._hit_along_axes(start + share * (witness.roomiest - start), conditions)
            for directions in (self._ledger.rows.normals, self._sliding_directions):
                rest = asked & ~hit
                against = -directions[conditions.rows[rest]] * conditions.signs[rest, None]
                hit |= self._hit_along(start, conditions, against)
        hit &= asked
        self._ledger.tally.by_rounding_bound += int(np.count_nonzero(hit))
        return hit

    @cached_property
    def _directions(self) -> Floats:
        """Directions to shoot in from any cell of this parent: along every row's normal, and at random."""
        dimension = self._problem.dim
        generator = np.random.default_rng(1)
        random = generator.standard_normal((_RAYS_PER_DIMENSION * dimension, dimension))
        random /= np.sqrt((random**2).sum(axis=1))[:, None]
        either_way = np.concatenate([self._ledger.rows.normals, random])
        return np.concatenate([either_way, -either_way])

    @cached_property
    def _sliding_directions(self) -> Floats:
        """For each row a direction that changes it but none of the other general rows: in high dimension it meets the row first."""
        normals = self._ledger.rows.normals
        general = self._ledger.rows.split.general
        span = normals[general]
        inverse = np.linalg.pinv(span)
        directions = normals - (normals @ inverse) @ span
        directions[general] = inverse.T
        return directions

    def _hit_along(self, start: Floats, conditions: Conditions, directions: Floats) -> Bools:
        """Conditions met first by rays in the given directions."""
        hit = np.zeros(len(conditions.rows), dtype=bool)
        margins = self._ledger.values(start[None], conditions)[0][0]
        slopes = (directions @ self._ledger.rows.normals.T)[:, conditions.rows] * conditions.signs
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(slopes < 0, margins / -slopes, np.inf)
        each = np.arange(len(times))
        first = times.argmin(axis=1)
        enter = times[each, first]
        times[each, first] = np.inf
        beyond = 0.5 * (enter + np.minimum(times.min(axis=1, initial=np.inf), 2.0 * enter))
        met = np.isfinite(enter)
        points = start + directions[met] * beyond[met, None]
        first = first[met]
        values, errors = self._ledger.values(points, conditions)
        values[np.arange(len(first)), first] *= -1.0
        proved = np.all(values > errors, axis=1) & self._ledger.trusted(points)
        hit[first[proved]] = True
        return hit

    def _hit_along_axes(self, start: Floats, conditions: Conditions) -> Bools:
        """Bounds of single coordinates that can be crossed by changing that coordinate only, all of them at once.

        Such a ray can meet the general rows, of which there are few in high dimension, and its own bounds; never other ones.
        """
        hit = np.zeros(len(conditions.rows), dtype=bool)
        rows, signs = self._ledger.rows, conditions.signs
        values, errors = (part[0] for part in self._ledger.values(start[None], conditions))
        if not np.all(values > errors):
            return hit
        axis, coordinate, slope, general = self._split(conditions)
        enter = -values[axis] / slope
        sideways = rows.normals[conditions.rows[general]][:, coordinate] * signs[general, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            blocked = values[general, None] / -(sideways * np.sign(enter))
            leave = np.where(blocked > 0, blocked, np.inf).min(axis=0, initial=np.inf)
        step = 0.5 * (np.abs(enter) + np.minimum(leave, 2.0 * np.abs(enter))) * np.sign(enter)
        moved = start[coordinate] + step
        low, high = self._ledger.trust_box
        rounding = 2 * gamma(self._problem.dim + 6) * (np.abs(start).sum() + np.abs(step))
        others = values[general, None] + sideways * step
        slack = errors[general, None] + rounding + gamma(2) * np.abs(values[general, None])
        clear = np.all(others > upward(slack), axis=0)
        passed = values[axis] + slope * step < -upward(errors[axis] + rounding + gamma(2) * np.abs(values[axis]))
        hit[axis] = clear & passed & (moved >= low[coordinate]) & (moved <= high[coordinate])
        return hit

    def _idle_bounds(self, conditions: Conditions) -> Bools:
        """Bounds of single coordinates that no point of the cell comes near, because some general row is negative there.

        The largest value of a row over the domain's box, less what it loses when one coordinate is held at its worse bound, is an
        interval evaluation for all bounds at once.
        """
        axis, coordinate, slope, general = self._split(conditions)
        low, high = self._ledger.box
        rows = self._ledger.rows[conditions.rows[general]].signed(conditions.signs[general])
        most = rows.offsets + np.maximum(rows.normals * low, rows.normals * high).sum(axis=1)
        extent = np.maximum(np.abs(low), np.abs(high))
        rounding = 2 * gamma(self._problem.dim + 6) * (np.abs(rows.normals) @ extent + np.abs(rows.offsets))
        loss = rows.normals[:, coordinate] * np.sign(slope) * (high - low)[coordinate]
        empty = most[:, None] - loss < -upward(rows.errors + rounding)[:, None]
        idle = np.zeros(len(conditions.rows), dtype=bool)
        idle[axis] = np.any(empty, axis=0)
        self._ledger.tally.by_rounding_bound += int(np.count_nonzero(idle))
        return idle

    def _split(self, conditions: Conditions) -> tuple[Indices, Indices, Floats, Indices]:
        """Positions of the conditions on single coordinates, those coordinates, the slopes, and positions of the others."""
        split = self._ledger.rows.split
        place = np.full(len(self._ledger.rows), -1)
        place[conditions.rows] = np.arange(len(conditions.rows))
        axis = place[split.axis]
        asked = axis >= 0
        general = place[split.general]
        signs = conditions.signs[axis[asked]]
        return axis[asked], split.coordinate[asked], split.slope[asked] * signs, general[general >= 0]


def _corners(normals: Floats, low: Floats, high: Floats) -> Floats:
    """For each row the corner of the box where it is least."""
    return np.where(normals > 0, low, high)


def _ratio(row: list[fmpz], other: list[fmpz]) -> fmpq | None:
    """The number r with ``row == r * other``, or None if there is none."""
    pivot = next((k for k, a in enumerate(other) if a), None)
    if pivot is None or not row[pivot]:
        return None
    a, b = row[pivot], other[pivot]
    if all(x * b == y * a for x, y in zip(row, other, strict=True)):
        return fmpq(a, b)
    return None
