"""Files with damage: seeded mutants of bytes, for readers that must answer in AffineLens' own errors."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator

import numpy as np

from affinelens.errors import AffineLensError

_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x28, 0x29, 0x2E, 0x30, 0x39, 0x5B, 0x7B]


def mutated(content: bytes, generator: np.random.Generator) -> bytes:
    """The bytes with one to four pieces of damage: set, flipped, cut out, doubled, copied from elsewhere or cut off."""
    data = bytearray(content)
    for _ in range(int(generator.integers(1, 5))):
        if not data:
            break
        start = int(generator.integers(len(data)))
        length = int(2 ** generator.integers(0, 7))
        other = int(generator.integers(len(data)))
        match int(generator.integers(7)):
            case 0:
                data[start] = int(generator.choice(_NUMBERS))
            case 1:
                data[start] ^= 1 << int(generator.integers(8))
            case 2:
                del data[start : start + length]
            case 3:
                data[start:start] = data[start : start + length]
            case 4:
                data[start : start + length] = data[other : other + length]
            case 5:
                data[start : start + 1] = generator.integers(0x30, 0x3A, size=length, dtype=np.uint8).tobytes()
            case _:
                if generator.random() < 0.1:
                    del data[start:]
    return bytes(data)


def mutated_archive(content: bytes, generator: np.random.Generator) -> bytes:
    """A zip archive one of whose entries is damaged, so that checksums do not hide it."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(result, "w") as target:
        entries = source.infolist()
        chosen = int(generator.integers(len(entries)))
        for index, entry in enumerate(entries):
            inner = source.read(entry)
            target.writestr(entry.filename, mutated(inner, generator) if index == chosen else inner)
    return result.getvalue()


def escapes(
    samples: list[bytes], read: Callable[[bytes], object], count: int, seed: int
) -> Iterator[tuple[int, bytes, Exception]]:
    """Mutants, of so many, that a reader fails on with anything but AffineLens' own error: number, bytes and error."""
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        content = samples[number % len(samples)]
        inside = content.startswith(b"PK") and generator.random() < 0.7
        mutant = mutated_archive(content, generator) if inside else mutated(content, generator)
        try:
            read(mutant)
        except AffineLensError:
            continue
        except Exception as error:
            yield number, mutant, error
