"""Random attributes of every operator with attributes: the network computes what onnxruntime computes, or refuses.

Each case is one node whose attributes are drawn from a seed. What onnxruntime refuses is no model and is passed over;
what it runs must give the same numbers, unless it is refused in a sentence that says why.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from affinelens.errors import AffineLensError  # noqa: E402
from affinelens.network import network  # noqa: E402
from support.onnx_draws import DRAWS, Drawn, drawn_model  # noqa: E402
from support.onnx_models import save  # noqa: E402

CASES = 80


def assert_agrees(drawn: Drawn, folder: Path, seed: int) -> str:
    """What came of it: ``same`` numbers, or refused by one of the two."""
    shape = drawn[2]
    path = save(drawn_model(drawn), folder)
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    try:
        session = runtime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
        expected = session.run(None, {"x": x})[0]
    except Exception:  # onnxruntime's own kinds of errors, all of which say that this is no model
        expected = None
    try:
        net = network(path)
    except AffineLensError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        empty = expected is None or not expected.size
        assert "\n" not in refusal
        assert empty or "is not read" in refusal, f"onnxruntime runs it, but: {refusal}\n{drawn}"
        return "refused"
    if expected is None:
        return "passed over"
    found = net(x.reshape(net.input_shape))
    assert found.shape == expected.ravel().shape, drawn
    np.testing.assert_allclose(found, expected.ravel(), rtol=2e-5, atol=2e-5, err_msg=str(drawn))
    return "same"


@pytest.mark.parametrize("operator", DRAWS)
def test_random_attributes_mean_what_they_mean_to_onnxruntime(operator: str, tmp_path: Path) -> None:
    outcomes = []
    for case in range(CASES):
        seed = [case, *operator.encode()]
        outcomes.append(assert_agrees(DRAWS[operator](np.random.default_rng(seed)), tmp_path, case))
    assert outcomes.count("same") >= CASES // 3
