"""ONNX models for tests: built node by node, saved, and compared with onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from affinelens.network import Network, network


def weights(*shape: int, seed: int = 0) -> Any:
    """Numbers that depend on the shape and the seed alone: two tensors of one shape need a seed each."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def drawn(generator: np.random.Generator, *shape: int) -> Any:
    """The generator's next numbers, as float32."""
    return generator.normal(size=shape).astype(np.float32)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node named after its operator and first output; an input called ``-`` is left out."""
    from onnx import helper

    name = f"the_{operator}_{outputs.split()[0]}"
    names = ["" if part == "-" else part for part in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), name=name, **attributes)


def model(
    nodes: list[Any],
    constants: dict[str, Any],
    shape: list[Any] | None,
    *,
    opset: int = 17,
    kind: int = 11,
    outputs: str = "y",
) -> Any:
    """A model from input ``x`` (double unless said) to ``y``; constants are arrays or ready-made tensors."""
    from onnx import helper, numpy_helper

    stored = [c if hasattr(c, "dims") else numpy_helper.from_array(c, name) for name, c in constants.items()]
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs.split()]
    graph = helper.make_graph(nodes, "graph", inputs, results, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def save(proto: Any, folder: Path) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def assert_same_function(
    proto: Any, folder: Path, *, rtol: float = 1e-9, points: int = 4, seed: int = 0, **options: Any
) -> Network:
    """Compile the model and compare it with onnxruntime, in float64 at all points and exactly at the first."""
    runtime = pytest.importorskip("onnxruntime")
    path = save(proto, folder)
    net = network(path, **options)
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4
    session = runtime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    shape = [size if isinstance(size, int) else 1 for size in entry.shape]
    rng = np.random.default_rng(seed)
    for index in range(points):
        x = rng.normal(size=shape).astype(np.float64 if "double" in entry.type else np.float32)
        expected = session.run(None, {"x": x})[0].ravel()
        given = x.reshape(net.input_shape)
        np.testing.assert_allclose(net(given), expected, rtol=rtol, atol=rtol)
        if index == 0:
            exact = [float(value) for value in net.evaluate_exact(given.astype(np.float64).ravel().tolist())]
            np.testing.assert_allclose(exact, expected, rtol=rtol, atol=rtol)
    return net
