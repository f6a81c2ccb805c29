"""While the log of a script that has ended gets its own end, signals wait."""

from __future__ import annotations

import signal

import pytest

from torch_debugger.runner.watched_script import undisturbed


def test_a_request_to_end_is_passed_on_when_all_is_written() -> None:
    told: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: told.append("asked to end"))
    try:
        with undisturbed():
            signal.raise_signal(signal.SIGTERM)
            told.append("written")
        assert told == ["written", "asked to end"]
        signal.raise_signal(signal.SIGTERM)
        assert told[2:] == ["asked to end"], "the script's own handler is back"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_second_ctrl_c_is_too_late() -> None:
    with undisturbed():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
