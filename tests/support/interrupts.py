"""Ctrl-C, as it comes in the middle of a walk."""

from __future__ import annotations

import os
import signal
import threading


def interrupt_here() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupt_from_another_thread() -> None:
    threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()


INTERRUPTS = (interrupt_here, interrupt_from_another_thread)
