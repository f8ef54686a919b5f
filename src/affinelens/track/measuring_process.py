"""A helper process that measures networks, so that laying them out does not hold the interpreter lock of a training.

It is started when a series of measurements has begun. Until it is ready, and if it is lost, networks are measured where
they are.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
import weakref
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from affinelens.errors import AffineLensError
from affinelens.helper_process import Admission, connection_from_helper
from affinelens.network import Network
from affinelens.track.measurement import Measurement
from affinelens.track.training_record import Row

# Starting a process costs as much as a hundred small measurements, so a few are no reason to.
_FIRST_MEASURED_HERE = 8


class MeasuringProcess:
    """Measures networks, one at a time: in a process of its own as soon as there is one."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self._measured_here = 0
        self._starter = os.getpid()
        self._admitted: list[Any] = []
        self._is_ready = False
        self._is_lost = False

    def row(self, network: Network) -> Row:
        """The network's row, whichever process finds it; so are its errors."""
        answer = self._answer(network) if self.is_ready else None
        if isinstance(answer, AffineLensError):
            raise answer
        if answer is not None:
            return answer
        if self._measured_here == _FIRST_MEASURED_HERE and self._measurement.can_be_sent:
            self._start(network)
        self._measured_here += 1
        return self._measurement.row(network)

    @property
    def is_ready(self) -> bool:
        """Whether the process is there and has its kernels loaded. A fork has no part in its parent's."""
        if self._is_lost or not self._admitted or os.getpid() != self._starter:
            return False
        if not self._is_ready:
            try:
                self._is_ready = self._admitted[0].poll() and self._admitted[0].recv()
            except (EOFError, OSError):
                self._is_lost = True
        return self._is_ready and not self._is_lost

    def _start(self, network: Network) -> None:
        """Start the process, which gets ready by measuring a network; if the system does not allow it, do without."""
        welcome = pickle.dumps((self._measurement, network))
        try:
            admission = Admission(__name__, welcome, 1, self._admitted.append)
        except OSError:
            return
        processes: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, _end, admission, processes, self._admitted)
        try:
            processes.append(admission.launch())
        except OSError:
            admission.close()

    def _answer(self, network: Network) -> Row | AffineLensError | None:
        try:
            self._admitted[0].send(network)
            answer: Row | AffineLensError = self._admitted[0].recv()
        except (EOFError, OSError):
            self._is_lost = True
            return None
        return answer


def _end(admission: Admission, processes: list[subprocess.Popen[bytes]], connections: list[Any]) -> None:
    admission.close()
    for process in processes:
        process.kill()
        process.wait()
    for connection in connections:
        connection.close()


def main() -> None:
    """What the process runs: measure each network it is sent, until the connection closes.

    Anything unforeseen ends it without a word: the network is then measured, and the error met, where it came from.
    """
    with suppress(Exception):
        connection = connection_from_helper()
        received: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=_receive, args=(connection, received), daemon=True).start()
        measurement, network = received.get()
        _measured(measurement, network)
        connection.send(True)
        while True:
            connection.send(_measured(measurement, received.get()))


def _receive(connection: Connection[Any, Any], received: SimpleQueue[Any]) -> None:
    """Take in what is sent; end the process with the one that started it, even in the middle of a measurement."""
    try:
        while True:
            received.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)


def _measured(measurement: Measurement, network: Network) -> Row | AffineLensError:
    try:
        return measurement.row(network)
    except AffineLensError as error:
        return error
