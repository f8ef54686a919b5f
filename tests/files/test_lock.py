"""A lock keeps a second process out, and nobody once its holder is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import affinelens as al
from affinelens.files import lock
from affinelens.files.lock import LOCK, Lock

HOLDER = """
import sys, time
from pathlib import Path
from affinelens.files.lock import Lock
held = Lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(100)
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    for _ in range(2):
        with pytest.raises(al.AffineLensError, match="another process is writing there"):
            Lock(tmp_path)
    first.release()
    first.release()
    assert not list(tmp_path.iterdir())
    Lock(tmp_path).release()


def test_a_killed_process_holds_nobody_up(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(al.AffineLensError, match="another process"):
        Lock(tmp_path)
    process.kill()
    process.communicate()
    assert (tmp_path / LOCK).exists()
    Lock(tmp_path).release()


def test_what_replaced_a_folder_keeps_its_own_lock(tmp_path: Path) -> None:
    old, new = tmp_path / "folder", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    first = Lock(old)
    old.rename(tmp_path / "aside")
    new.rename(old)
    second = Lock(old)
    first.release()
    assert (old / LOCK).exists()
    second.release()


def test_where_files_cannot_be_locked_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(descriptor: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock, "_lock", unsupported)
    with pytest.warns(al.AffineLensWarning, match="cannot be locked"):
        Lock(tmp_path).release()
