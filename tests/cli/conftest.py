"""Small networks whose regions are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def tent(tmp_path: Path) -> Path:
    """Two units on a line, at 0 and 1/2: three regions on [-1, 1], two on [0, 1]."""
    path = tmp_path / "tent.npz"
    np.savez(path, W0=[[1.0], [1.0]], b0=[0.0, -0.5], W1=[[1.0, -2.0]], b1=[0.25])
    return path


@pytest.fixture
def cross(tmp_path: Path) -> Path:
    """One unit an input: the quadrants of the plane."""
    path = tmp_path / "cross.npz"
    np.savez(path, W0=np.eye(2), b0=np.zeros(2), W1=[[1.0, 1.0]], b1=[-1.0])
    return path
