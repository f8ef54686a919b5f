"""Directories that are written whole or not at all, and read without trust: what runs and training records share.

One is written beside its destination and moved there in one step. A JSON file in it says what it is.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from affinelens.errors import AffineLensError, MissingExtraError, Option


def require_place(path: Path, *, overwrite: bool, marker: str, content: str) -> None:
    """Refuse a destination before any work is done for it; what it may replace is known by the file ``marker``."""
    if path.is_dir():
        if (path / marker).is_file():
            if not overwrite:
                replacing = Option("overwrite", value=True)
                raise AffineLensError(f"{path}: already holds {content}; choose another directory, or pass ", replacing)
        elif any(path.iterdir()):
            raise AffineLensError(f"{path}: exists and holds something other than {content}; choose another directory")
    elif path.exists():
        raise AffineLensError(f"{path}: is a file; choose a directory for {content}")
    parent = path.resolve().parent
    if not parent.is_dir():
        raise AffineLensError(f"{path}: the folder {parent} does not exist; create it first")
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".affinelens-"):
            pass
    except OSError as error:
        raise AffineLensError(
            f"{path}: cannot write to {parent} ({error.strerror}); choose another directory"
        ) from None


def move_into_place(partial: Path, path: Path) -> None:
    """Give a finished directory its name; one that has it already is replaced."""
    if not path.is_dir():
        partial.rename(path)
        return
    aside = Path(tempfile.mkdtemp(dir=path.resolve().parent, prefix=".affinelens-"))
    try:
        path.rename(aside / "replaced")
        try:
            partial.rename(path)
        except OSError:
            (aside / "replaced").rename(path)
            raise
    except OSError:
        with suppress(OSError):
            aside.rmdir()  # not if what was there could not be put back
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A folder to write to, which then becomes the destination; if something goes wrong, nothing stays behind."""
    try:
        folder = Path(tempfile.mkdtemp(dir=path.resolve().parent, prefix=".affinelens-"))
        try:
            yield folder
            folder.chmod(0o755)
            move_into_place(folder, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise not_saved(path, error) from None


def not_saved(path: Path, error: OSError) -> AffineLensError:
    """What to say when a directory could not be written."""
    reason = error.strerror or str(error)
    return AffineLensError(
        f"{path}: could not be saved ({reason}); nothing was left there, free some space or choose another place"
    )


@contextmanager
def naming_damage(folder: Path, kind: str) -> Iterator[None]:
    """A damaged directory fails in many ways; all of them mean the same to a user."""
    try:
        yield
    except AffineLensError as error:
        raise error.located(f"{folder}: damaged {kind}") from None
    except ImportError as missing:
        package = (missing.name or "a package").partition(".")[0]
        raise MissingExtraError(
            f"{folder}: reading it needs {package}, which is not installed; run: pip install {package}"
        ) from None
    except Exception as error:
        raise AffineLensError(f"{folder}: damaged {kind} ({damage_text(error)}); write it again") from None


def damage_text(error: Exception) -> str:
    """What is wrong with a damaged directory, in a few words."""
    if isinstance(error, KeyError):
        return f"an entry {str(error)[:80]} is missing"
    if isinstance(error, TypeError | AttributeError | IndexError):
        return "an entry is of another kind than AffineLens writes"
    return " ".join(str(error).split())[:200] or "what it holds cannot be read"


class OtherVersionError(AffineLensError):
    """A directory is of a format version that is not read here, so nothing can be said about what is in it."""


def read_description(folder: Path, name: str, form: str, versions: int | range, largest: int) -> dict[str, Any]:
    """The JSON file that says what a directory is: of at most so many bytes, and of a format and version as given."""
    accepted = versions if isinstance(versions, range) else range(versions, versions + 1)
    file = plain_file_inside(folder, name)
    if file.stat().st_size > largest:
        raise AffineLensError(f"its {name} is larger than any that AffineLens writes")
    data = _json(file)
    if not isinstance(data, dict) or data.get("format") != form:
        raise AffineLensError(f"its {name} is not one that AffineLens wrote")
    version = data.get("format_version")
    if type(version) is not int or version not in accepted:
        readable = " and ".join(map(str, accepted))
        raise OtherVersionError(
            f"it has format version {version!r:.40}, and this AffineLens reads {readable}; update AffineLens"
        )
    return data


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise AffineLensError(f"its {file.name} is no JSON from line {error.lineno} on; write it again") from None
    except (UnicodeDecodeError, RecursionError):
        raise AffineLensError(f"its {file.name} is no JSON; write it again") from None


def plain_file_inside(folder: Path, name: str) -> Path:
    """A plain file of the run; links that lead out of it, devices and other folders are refused."""
    file = folder / name
    if Path(name).name != name or not file.is_file() or file.resolve().parent != folder.resolve():
        raise AffineLensError(f"{name!r:.80} is not a file inside it")
    return file
