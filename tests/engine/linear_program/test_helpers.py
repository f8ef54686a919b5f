"""Helper processes whose parent is gone end silently, however far they had come with it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener

import pytest

from affinelens.engine.linear_program import helpers

KEY = b"a key"


def gone_before_it_looked() -> str:
    with Listener() as listener:
        return str(listener.address)


@pytest.mark.parametrize("key", [None, b"another key", KEY], ids=["no answer", "another's place", "no welcome"])
def test_a_helper_whose_parent_goes_away_while_it_is_let_in_ends_silently(key: bytes | None) -> None:
    with Listener(authkey=key) as listener:
        process = started(str(listener.address))
        with suppress(AuthenticationError, EOFError):
            listener.accept().close()
    assert ended(process) == (0, b"", b"")


def test_a_helper_that_finds_no_parent_ends_silently() -> None:
    assert ended(started(gone_before_it_looked())) == (0, b"", b"")


def started(address: str) -> subprocess.Popen[bytes]:
    """A helper that looks for its parent there."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "AFFINELENS_WORKER_KEY": KEY.decode(),
        "AFFINELENS_WORKER_ADDRESS": address,
    }
    command = [sys.executable, "-c", f"from {helpers.__name__} import main; main()"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors
