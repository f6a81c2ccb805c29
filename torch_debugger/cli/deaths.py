"""A process that does not outlive the one that started it."""

from __future__ import annotations

import os
import signal
import sys
from os import getpid

_PR_SET_PDEATHSIG = 1  # of Linux's prctl


def die_with_parent() -> None:
    """As if it had been killed itself: whoever kills a rank knows the process that torchrun started, and must
    not leave another one running. Only where the system can do it, which is Linux."""
    if sys.platform != "linux":
        return
    import ctypes

    starter = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != starter:  # it has gone before we asked
        os.kill(getpid(), signal.SIGKILL)
