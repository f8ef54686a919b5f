"""The page of the documentation that lists the operators that are read, made from the importers' own tables."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

_PAGE = """# Operators that are read

This page is made from the importers' tables by `python -m affinelens.network.operator_page`. An operator that is
read may still be refused in a form that is not piecewise affine or that jumps; the message says which. Operators on
constants alone are carried out as the model does. A final softmax, log-softmax, sigmoid or tanh is left out and noted
in `network.report()`.

## ONNX (operator sets from 7)

{onnx}

## torch (ATen operators, as `torch.export` names them)

{torch}

Operators that torch itself takes apart into these are read too, such as `einsum`, `addcmul`, `hstack` or `linalg_norm`.
"""


def operator_page() -> str:
    """The page as Markdown."""
    from affinelens.network.onnx.node_table import OPERATORS as ONNX
    from affinelens.network.torch.aten_table import OPERATORS as ATEN

    shown = [name for name in ATEN.table if not name.startswith("_") and name != "getitem"]
    return _PAGE.format(onnx=_listed(ONNX.table), torch=_listed(shown))


def _listed(names: Iterable[str]) -> str:
    return fill(", ".join(f"`{name}`" for name in sorted(names)), 118, break_on_hyphens=False)


if __name__ == "__main__":
    print(operator_page(), end="")
