"""What a walk found out about the network on the domain before it began: which choices patterns are stored for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.files.durable import write_npz
from affinelens.files.npz import read_npz
from affinelens.files.saved_directory import plain_file_inside
from affinelens.network import Network
from affinelens.restrict import SwitchingChoices

SWITCHING = "switching.npz"


def write_switching(folder: Path, switching: SwitchingChoices) -> None:
    """Write it; there is one for all sittings."""
    write_npz(folder / SWITCHING, {"choices": switching.choices, "pattern": switching.pattern})


def read_switching(folder: Path, network: Network) -> SwitchingChoices:
    """Read it; what does not fit the network is refused."""
    arrays = read_npz(plain_file_inside(folder, SWITCHING))
    choices, pattern = arrays["choices"].astype(np.int64), arrays["pattern"].astype(network.pattern_type)
    count = network.choice_offsets[-1]
    inside = choices.ndim == 1 and np.all((choices >= 0) & (choices < count)) and np.all(np.diff(choices) > 0)
    if not inside or pattern.shape != (count,) or np.any(pattern >= network.choice_pieces):
        raise AffineLensError("its switching choices do not fit its network")
    return SwitchingChoices(choices, pattern)


def same_switching(one: SwitchingChoices | None, other: SwitchingChoices | None) -> bool:
    """Whether patterns of both mean the same."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one.choices, other.choices) and np.array_equal(one.pattern, other.pattern)
