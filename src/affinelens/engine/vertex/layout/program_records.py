"""What kernels read of a network: tables of stages, breaks, groups, copies of earlier units, and targets of sums."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from affinelens.engine.vertex.layout.records import Records
from affinelens.array_types import Floats, Indices


class StageRow:
    """A stage: how many units, breaks and choices it has, where they begin, and how accurate its functions are.

    Functions are written for whole lanes of units or breaks; offsets count single ones unless they are of lanes. The
    row after the last stage has the ends of all offsets.
    """

    units: int
    padded: int
    unit_offset: int
    row_offset: int
    breaks: int
    break_offset: int
    padded_breaks: int
    lane_offset: int
    choices: int
    choice_offset: int
    # whether break i is just the sign of unit i, whether units compete in groups, whether some slope below all breaks
    # is not zero, and how many breaks follow another
    is_plain: int
    is_grouped: int
    has_bases: int
    followed: int
    # where the sums begin that it is added to
    first_target: int
    # relative error of sums and of hyperplanes, and the largest of the sums that the stage is added to
    rounding: float
    break_rounding: float
    target_rounding: float
    # the unit in which its functions are integers, or 0
    quantum: float
    # whether errors are lumped and, if so, their norms
    is_lumped: int
    fixed_norm: float
    row_norm: float
    error_norm: float


class BreakRow:
    """A break: the units whose difference it is of, its choice and place there, and the break it is a copy of."""

    plus: int
    minus: int
    choice: int
    position: int
    leader: int
    orientation: int
    # those that follow it end where the next row's begin
    first_follower: int


class GroupRow:
    """A group of competing units, and where its square table of pairs begins."""

    first_unit: int
    members: int
    pairs: int


class CopyRow:
    """The ReLU that a unit repeats: its break among all lanes and its number, or -1; and the first unit like this."""

    lane: int
    break_number: int
    first_like: int


class TargetRow:
    """A stage that an earlier one is added to, and where the columns of that one's breaks and base slopes begin."""

    source: int
    stage: int
    break_columns: int
    base_columns: int


class BreakColumns(NamedTuple):
    """Of all breaks, in lanes: where they are, how the slope changes there, and what continuity leaves over."""

    threshold: Floats
    jump: Floats
    gap: Floats


class UnitErrors(NamedTuple):
    """Of all units, in lanes: the slope below all breaks, errors of the fixed part, and the norm of what is added."""

    base_slope: Floats
    fixed_error: Floats
    fixed_constant_error: Floats
    norm: Floats


class Program(NamedTuple):
    """What kernels read. Tables have one row more than stages, hyperplanes or groups where they hold offsets.

    Points and rows take ``lanes`` numbers: the coordinates, then 1 or the constant, then zeros. ``own`` has a bit for
    each break that is a hyperplane of its own, not a copy of another's and not identically zero. Where
    ``wanted`` has rows, a cell is wanted if it lies above all breaks of the last stage that some row has a 1 for. Of
    the first ``selected_stages`` stages only those cells are wanted in which some region of the ``selection`` lies.
    """

    dim: int
    lanes: int
    stages: int
    domain_rows: int
    wanted: Indices
    selected_stages: int
    selection: NDArray[Any]
    shift: Floats
    scale: Floats
    stage: Records[StageRow]
    hyperplane: Records[BreakRow]
    step: BreakColumns
    own: Indices
    followers: Indices
    group: Records[GroupRow]
    pairs: Indices
    unit: UnitErrors
    copy: Records[CopyRow]
    fixed: Floats
    target: Records[TargetRow]
    columns: Floats
