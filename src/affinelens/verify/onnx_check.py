"""A model's outputs as onnxruntime computes them, in the model's own floats."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


class OnnxCheck:
    """A session for an ONNX file, opened when it is first asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session: Any = None

    @classmethod
    def of(cls, model: Any) -> OnnxCheck | None:
        """For a path to an ONNX file, if onnxruntime is installed; otherwise None."""
        if not isinstance(model, str | Path) or not str(model).lower().endswith((".onnx", ".onnx.gz")):
            return None
        try:
            import onnxruntime  # noqa: F401
        except ImportError:
            return None
        return cls(Path(model))

    def run(self, x: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The input in the model's own type and the output there, both flat; None if onnxruntime cannot run it."""
        import onnxruntime

        try:
            if self._session is None:
                options = onnxruntime.SessionOptions()
                options.log_severity_level = 4
                packed = self._path.suffix == ".gz"
                source = gzip.decompress(self._path.read_bytes()) if packed else str(self._path)
                self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
            entry = self._session.get_inputs()[0]
            values = x.astype(_TYPES[entry.type])
            shape = [size if isinstance(size, int) and size > 0 else 1 for size in entry.shape]
            [output, *_] = self._session.run(None, {entry.name: values.reshape(shape)})
        except Exception:  # the library raises its own types; whatever it is, there is nothing to compare with
            return None
        return values, np.asarray(output).ravel()
