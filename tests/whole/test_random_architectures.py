"""Networks drawn from all kinds of operators are what torch and onnxruntime compute, and the same from either."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from affinelens.network import network  # noqa: E402
from support.architectures import STEPS, Architecture  # noqa: E402
from support.onnx_models import save  # noqa: E402

SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_torch_and_onnx_give_the_same_network(seed: int, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    module = Architecture(seed)
    path = save(module.proto(), tmp_path)
    from_torch, from_onnx = network(module, input_shape=module.input_shape), network(path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    points = np.random.default_rng(seed).normal(size=(5, *module.input_shape)).astype(np.float32)
    with torch.no_grad():
        theirs = np.concatenate([module(torch.from_numpy(point[None])).numpy() for point in points])
    ours = from_torch(points)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max())
    answers = np.concatenate([session.run(None, {"x": point[None]})[0] for point in points])
    np.testing.assert_allclose(from_onnx(points), answers, rtol=1e-3, atol=1e-3 * np.abs(answers).max())
    exact = [net.evaluate_exact(points[0].ravel().tolist()) for net in (from_torch, from_onnx)]
    assert exact[0] == exact[1]
    np.testing.assert_allclose([float(value) for value in exact[0]], ours[0], rtol=1e-9, atol=1e-9)


def test_every_kind_of_step_is_drawn() -> None:
    assert {name for seed in SEEDS for name in Architecture(seed).drawn} == {step.__name__ for step in STEPS}
