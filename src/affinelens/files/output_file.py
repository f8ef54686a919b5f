"""Files that results are written to: whether that will work is looked at before the work is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from affinelens.errors import AffineLensError


def require_writable_file(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed for it."""
    folder = path.resolve().parent
    if path.is_dir():
        raise AffineLensError(f"{path}: is a directory; give the name of a file")
    if not folder.is_dir():
        raise AffineLensError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise AffineLensError(f"{path}: cannot be written (permission denied); give another file")


@contextmanager
def written_whole_file(path: Path) -> Iterator[Path]:
    """A file beside the destination to write to, which then takes its name; if something goes wrong, none is left.

    What is no plain file, such as /dev/stdout, is written to as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    partial = path.with_name(f".affinelens-{os.getpid()}-{path.name}")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise cannot_be_written(path, error) from None
    finally:
        partial.unlink(missing_ok=True)


def cannot_be_written(path: Path, error: OSError) -> AffineLensError:
    """What to say when writing a file failed all the same."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return AffineLensError(f"{path}: cannot be written ({reason}); give another file")
