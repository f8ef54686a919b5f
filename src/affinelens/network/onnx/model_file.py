"""What an ONNX file stores, read without trusting it: the model, its nodes and its tensors.

Nothing in the file is executed. Tensors are read only when they are needed, after their declared sizes have been
compared with the bytes that are there, and external data only from the model's own folder.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.network.build.values import parameter

try:
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import TensorProto
except ImportError as missing:
    raise MissingExtraError.for_extra("onnx", "onnx", "reading an ONNX file") from missing

__all__ = [
    "FLOATS",
    "Node",
    "TensorProto",
    "number_type",
    "onnx",
    "read_model",
    "read_opset",
    "read_tensor",
    "type_name",
]

Array = NDArray[Any]

# Older operator sets broadcast and normalise by other rules.
OLDEST_OPSET = 7
# The largest message that protocol buffers allow.
_LARGEST_FILE = 2**31
_CHUNK = 2**24
# The types of floats, and the bits of their significands.
FLOATS = {TensorProto.FLOAT: 24, TensorProto.DOUBLE: 53, TensorProto.FLOAT16: 11, TensorProto.BFLOAT16: 8}
_SIGNED = {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64}
_UNSIGNED = {TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64, TensorProto.BOOL}
_NUMBERS = set(FLOATS) | _SIGNED | _UNSIGNED


def read_model(path: Path) -> onnx.ModelProto:
    """The model in a file, packed by gzip or not."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(_content(path))
    except DecodeError:
        raise AffineLensError("not a readable ONNX file; export the model again") from None
    return model


def read_opset(model: onnx.ModelProto) -> int:
    """The version of a model's operators."""
    if not model.graph.node:
        raise AffineLensError("not a readable ONNX file (it holds no graph); export the model again")
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if not versions or not OLDEST_OPSET <= max(versions) <= newest:
        raise AffineLensError(
            f"written for operator set {max(versions, default='unknown')}, but those from {OLDEST_OPSET} to {newest} "
            f"are read; convert the file with onnx.version_converter"
        )
    return int(max(versions))


def _content(path: Path) -> bytes:
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    content = bytearray()
    try:
        with gzip.open(path) as stream:
            while chunk := stream.read(_CHUNK):
                content += chunk
                if len(content) > _LARGEST_FILE:
                    raise AffineLensError(f"unpacks to more than {_LARGEST_FILE} bytes, which no ONNX file has")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise AffineLensError("not a readable ONNX file (its gzip packing is damaged); export it again") from None
    return bytes(content)


@dataclass(frozen=True, eq=False)
class Node:
    """An operation: its operator, the names it reads and defines, and its attributes as Python values."""

    proto: onnx.NodeProto
    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    @classmethod
    def read(cls, node: onnx.NodeProto) -> Node:
        kind = _text(node.op_type)
        operator = kind if node.domain in ("", "ai.onnx") else f"{_text(node.domain)}.{kind}"
        name = _text(node.name or next(iter(node.output), ""))
        try:
            attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        except ValueError:
            raise AffineLensError(f"node {name!r} ({operator}): an attribute has no readable value") from None
        return cls(node, operator, name, tuple(node.input), tuple(node.output), attributes)

    @property
    def label(self) -> str:
        return self.operator

    @property
    def place(self) -> str:
        return f"node {self.name!r} ({self.operator})"

    def has(self, position: int) -> bool:
        """Whether an optional input is given."""
        return position < len(self.inputs) and self.inputs[position] != ""

    def tensors(self) -> list[TensorProto]:
        """The attributes that are tensors."""
        return [value for value in self.attributes.values() if isinstance(value, TensorProto)]

    def number(self, attribute: str, default: float) -> Floats:
        """A number among the attributes, which ONNX stores as float32."""
        value = self.attributes.get(attribute, np.float32(default))
        if not isinstance(value, float | np.float32):
            raise AffineLensError(f"attribute {attribute} must be a float")
        return parameter(value, f"attribute {attribute}")

    def integer(self, attribute: str, default: int) -> int:
        value = self.attributes.get(attribute, default)
        if not isinstance(value, int):
            raise AffineLensError(f"attribute {attribute} must be an integer")
        return value

    def integers(self, attribute: str) -> list[int] | None:
        values = self.attributes.get(attribute)
        if values is not None and not (isinstance(values, list) and all(isinstance(value, int) for value in values)):
            raise AffineLensError(f"attribute {attribute} must be a list of integers")
        return values

    def text(self, attribute: str, default: str) -> str:
        value = self.attributes.get(attribute, default.encode())
        if not isinstance(value, bytes):
            raise AffineLensError(f"attribute {attribute} must be a string")
        return value.decode()


def _text(given: str | bytes) -> str:
    """A text of the file on one line; it comes as bytes where it is damaged."""
    text = given if isinstance(given, str) else given.decode(errors="replace")
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def type_name(data_type: int) -> str:
    known = data_type in TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(data_type)) if known else f"type {data_type}"


def number_type(data_type: int, name: str) -> np.dtype[Any]:
    if data_type not in _NUMBERS:
        raise AffineLensError(f"{name} has values of {type_name(data_type)}; floats and integers are read")
    dtype: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(data_type)
    return dtype


def read_tensor(tensor: TensorProto, folder: Path | None, name: str) -> Array:
    """The numbers of a tensor, after checking that as many are stored as its dimensions declare."""
    dtype = number_type(tensor.data_type, name)
    shape = tuple(tensor.dims)
    if min(shape, default=0) < 0:
        raise AffineLensError(f"{name} declares the negative shape {shape}")
    if tensor.data_location == TensorProto.EXTERNAL:
        data = _external_bytes(tensor, folder, name, prod(shape) * dtype.itemsize)
    elif tensor.HasField("raw_data"):
        data = tensor.raw_data
    else:
        stored = len(getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type)))
        _require_equal(stored, prod(shape), f"{name} of shape {shape}", "numbers")
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    _require_equal(len(data), prod(shape) * dtype.itemsize, f"{name} of shape {shape}", "bytes")
    return np.frombuffer(data, dtype=dtype.newbyteorder("<")).reshape(shape)


def _require_equal(stored: int, declared: int, name: str, unit: str) -> None:
    if stored != declared:
        raise AffineLensError(f"{name} declares {declared} {unit}, but {stored} are stored; the file is damaged")


def _external_bytes(tensor: TensorProto, folder: Path | None, name: str, size: int) -> bytes:
    """The tensor's bytes from a file that lies, links followed, in the model's folder."""
    if folder is None:
        raise AffineLensError(
            f"{name} lies in another file; load the model with its data, or give the path to its file"
        )
    entries = {entry.key: entry.value for entry in tensor.external_data}
    file: Path = (folder / entries.get("location", "")).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise AffineLensError(f"{name} refers to {str(file)!r}, outside the model's folder; move it beside the model")
    if not file.is_file():
        raise AffineLensError(f"{name} refers to {str(file)!r}, which is not a file")
    offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
    _require_equal(length, size, name, "bytes")
    if not 0 <= offset <= file.stat().st_size - size:
        raise AffineLensError(f"{name} lies beyond the end of {str(file)!r}; the file is truncated")
    with file.open("rb") as stream:
        stream.seek(offset)
        return stream.read(size)
