"""What an exit status tells of a process that could not tell its end itself."""

from __future__ import annotations

import signal


def outcome_of_exit(exit_code: int | None) -> str:
    """The outcome of a process that could not say itself how it ended."""
    if not exit_code:
        return "finished"
    return "stopped" if ending_signal(exit_code) in (signal.SIGINT, signal.SIGTERM) else "crashed"


def ending_signal(exit_code: int | None) -> signal.Signals | None:
    """The signal in an exit status: -9 as subprocess says it, 137 as shells do."""
    code = exit_code or 0
    number = -code if code < 0 else code - 128
    return signal.Signals(number) if number in set(signal.Signals) else None
