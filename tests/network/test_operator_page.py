"""The page of operators lists what the importers' tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

from affinelens.network.operator_page import operator_page


def test_the_page_of_operators_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "operators.md"
    assert page.read_text(encoding="utf-8") == operator_page()
