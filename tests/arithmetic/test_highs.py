"""HiGHS is asked only what it can answer: numbers that are none, infinite or out of its range give no suggestion."""

from __future__ import annotations

import numpy as np
import pytest

from affinelens.arithmetic.highs import Solver


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", range(5))
def test_a_program_with_a_number_that_is_none_is_not_solved(part: int, bad: float) -> None:
    cost, normals, offsets = np.array([1.0, 0.0]), np.eye(2), np.zeros(2)
    low, high = -np.ones(2), np.ones(2)
    parts = [cost, normals, offsets, low, high]
    parts[part].flat[0] = bad
    solver = Solver()
    assert solver.minimise(cost, normals, offsets, low, high, 1.0) is None
    assert solver.solved == 1


def test_a_refused_program_does_not_answer_with_the_one_before() -> None:
    solver, box = Solver(), (-np.ones(2), np.ones(2))
    before = solver.minimise(np.ones(2), np.eye(2), np.zeros(2), *box, 1.0)
    assert before is not None
    assert before.point.tolist() == [0.0, 0.0]
    assert solver.minimise(np.ones(2), np.full((1, 2), 1e300), np.zeros(1), *box, 1.0) is None
