"""Files with damage: seeded mutants of bytes, for readers that must answer in AffineLens' own errors."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from affinelens.errors import AffineLensError

_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x28, 0x29, 0x2E, 0x30, 0x39, 0x5B, 0x7B]
_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*|[-+]?[0-9][0-9.eE+-]*")
_VALUES = [
    *b"0 -1 1 2 3 7 1e400 -1e-400 1e99999999 0.1 1/3 1/0 nan inf -inf NaN null true 18446744073709551615".split(),
    *b'9223372036854775808 4294967296 100000000000 33554432 [] {} "" [[]] {"a":1}'.split(),
    *b"F8_E4M3 F8_E8M0 F4 BF16 F16 F64 I64 U64 BOOL C64 <f8 >f8 <f2 <i8 |b1 |O <c16 |S8 <U4 <M8[s] |V8 <g x".split(),
    *(b"9" * 5000, b"-" + b"1" * 400, b"0." + b"3" * 700, b"\xc2\xb2", b""),
]


def mutated_words(content: bytes, generator: np.random.Generator) -> bytes:
    """The bytes with one to three numbers or words of their text replaced: by others of it, or by odd ones."""
    for _ in range(int(generator.integers(1, 4))):
        places = list(_WORD.finditer(content[:5000]))
        if not places:
            break
        place, other = (places[int(generator.integers(len(places)))] for _ in range(2))
        new = other[0] if generator.random() < 0.3 else _VALUES[int(generator.integers(len(_VALUES)))]
        content = content[: place.start()] + new + content[place.end() :]
    return content


def mutated_header(content: bytes, generator: np.random.Generator) -> bytes:
    """A .npy or .safetensors file with words of its header replaced, and the length of the header set right."""
    if content.startswith(b"\x93NUMPY"):
        length = int.from_bytes(content[8:10], "little")
        header = mutated_words(content[10 : 10 + length], generator)[:65535]
        return content[:8] + len(header).to_bytes(2, "little") + header + content[10 + length :]
    length = int.from_bytes(content[:8], "little")
    header = mutated_words(content[8 : 8 + length], generator)
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


def _damaged(content: bytes, generator: np.random.Generator) -> bytes:
    way = generator.random()
    if way < 0.4:
        return mutated(content, generator)
    if way < 0.7 and (content.startswith(b"\x93NUMPY") or content[8:9] == b"{"):
        return mutated_header(content, generator)
    return mutated_words(content, generator)


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
            target.writestr(entry.filename, _damaged(inner, generator) if index == chosen else inner)
    return result.getvalue()


def escapes(
    samples: list[bytes],
    read: Callable[[bytes], object],
    count: int,
    seed: int,
    watch: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[tuple[int, bytes, Exception]]:
    """Mutants, of so many, that a reader fails on with anything but AffineLens' own error: number, bytes and error."""
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        content = samples[number % len(samples)]
        inside = content.startswith(b"PK") and generator.random() < 0.7
        mutant = mutated_archive(content, generator) if inside else _damaged(content, generator)
        try:
            with watch():
                read(mutant)
        except AffineLensError:
            continue
        except Exception as error:
            yield number, mutant, error
