"""Time per region of the same kernels with every error bound replaced by a constant, for comparison only.

Run as a process of its own, with its own kernel cache: the module of bounds is exchanged before any kernel is compiled.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from types import ModuleType

_TOLERANCE = 1e-9


def exchange_bounds() -> None:
    """Put functions that bound nothing in the place of ``error_bounds``."""
    from affinelens.kernels.compilation import inlined

    module = ModuleType("affinelens.engine.vertex.kernels.error_bounds")
    source = f"""
from affinelens.kernels.lanes import splat
def row_base(error, constant_error, size, constant, dim):
    return splat({_TOLERANCE})
def value_bound(base, size, off):
    return base
def crossing_error(base, size, p_off, q_off, share, steepness, length):
    return 0.0
def squared(amplitude, error, rounding, size, gap):
    return 0.0
def squares(amplitude, error, rounding, size, gap):
    return splat(0.0)
def summed(fixed, norm, root):
    return fixed
"""
    path = os.path.join(tempfile.gettempdir(), f"affinelens-tolerance-{os.getpid()}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    exec(compile(source, path, "exec"), module.__dict__)
    for name in ("row_base", "value_bound", "crossing_error", "squared", "squares", "summed"):
        setattr(module, name, inlined(module.__dict__[name]))
    sys.modules[module.__name__] = module


def main() -> None:
    sizes_list = json.load(sys.stdin)
    exchange_bounds()
    import affinelens as al
    from benchmarks.measure import counting, enumerating
    from benchmarks.networks import kaiming_uniform

    results = []
    for sizes in sizes_list:
        model, domain = kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=sizes[0])
        walking, alone = enumerating(model, domain), counting(model, domain)
        results.append([walking.regions, walking.seconds, alone.seconds])
    print(json.dumps(results))


if __name__ == "__main__":
    main()
