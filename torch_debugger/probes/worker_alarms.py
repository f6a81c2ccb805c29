"""The alarm that torch raises when a DataLoader worker dies, held back while a crash is looked at."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def alarms_held() -> Iterator[None]:
    """torch's handler of SIGCHLD raises wherever the main thread is: not in the middle of an explanation."""
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGCHLD")
    handler = signal.getsignal(signal.SIGCHLD) if here else None
    if not callable(handler):
        yield
        return
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, handler)
