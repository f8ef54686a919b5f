"""Helper processes: how they are started, let in, and how they find the process that started them.

Helpers are started as plain commands that connect to this process, so that a user's script needs no ``__main__``
guard. Messages are pickled between our own processes only, over a connection that both ends authenticate with a fresh
key.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

_KEY = "AFFINELENS_WORKER_KEY"
_ADDRESS = "AFFINELENS_WORKER_ADDRESS"


class Admission:
    """Lets a number of helpers in, from a thread, because they need a while to start; each is sent the welcome.

    ``module`` is what helpers run: its function ``main``.
    """

    def __init__(self, module: str, welcome: bytes, count: int, admit: Callable[[Any], object]) -> None:
        self._module = module
        self._welcome = welcome
        self._missing = count
        self._admit_one = admit
        self._key = secrets.token_hex(32)
        self._listener = Listener(authkey=self._key.encode())
        self._closed = False
        self._thread = threading.Thread(target=self._admit, daemon=True)
        self._thread.start()

    def launch(self) -> subprocess.Popen[bytes]:
        package_parent = str(Path(__file__).resolve().parents[1])
        inherited = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            _KEY: self._key,
            _ADDRESS: str(self._listener.address),
            "PYTHONPATH": os.pathsep.join([package_parent, inherited] if inherited else [package_parent]),
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-c", f"from {self._module} import main; main()"]
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)

    def _admit(self) -> None:
        with self._listener:
            while self._missing and not self._closed:
                try:
                    connection = self._listener.accept()
                    if not self._closed:
                        connection.send_bytes(self._welcome)
                        self._admit_one(connection)
                        self._missing -= 1
                except (OSError, EOFError, AuthenticationError):
                    continue

    def close(self) -> None:
        """Stop admitting: a last connection, our own, wakes the thread up."""
        self._closed = True
        if self._thread.is_alive():
            with suppress(OSError, EOFError):
                Client(self._listener.address, authkey=self._key.encode()).close()
            self._thread.join(timeout=5.0)


def connection_from_helper() -> Connection[Any, Any]:
    """In a helper: the connection to the process that started it, which alone is to be stopped by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Client(os.environ[_ADDRESS], authkey=os.environ[_KEY].encode())
