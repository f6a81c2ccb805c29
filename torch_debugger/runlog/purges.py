"""Which steps of a folder's older files a later file takes back: it continues a run that had crashed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from torch_debugger.runlog.events import EVENT_SESSION, EVENT_STEP, SESSION_START, SESSION_STATUS
from torch_debugger.runlog.frames import unframe
from torch_debugger.runlog.wire import message, signed

_HEAD_BYTES = 1024
_FIRST_EVENTS = 3  # all writers put a restart right behind the file's version


def first_purged_steps(paths: Sequence[str]) -> dict[str, int]:
    """For files in the order of their names: the step from which a later file replaces what they hold.

    A restarted rank replaces its own points and not those of other ranks, which have files beside its own.
    """
    purged: dict[str, int] = {}
    later: dict[str, int] = {}
    for path in reversed(paths):
        rank = _rank(path)
        if rank in later:
            purged[path] = later[rank]
        restart = restart_step(path)
        if restart is not None:
            later[rank] = min(restart, later.get(rank, restart))
    return purged


def restart_step(path: str) -> int | None:
    """The step with which a file begins again, if it does."""
    try:
        with open(path, "rb") as file:
            payloads = unframe(file.read(_HEAD_BYTES)).payloads[:_FIRST_EVENTS]
        steps = [_restart_step(message(payload)) for payload in payloads]
    except (OSError, ValueError):
        return None
    return next((step for step in steps if step is not None), None)


def _restart_step(event: dict[int, Any]) -> int | None:
    session = event.get(EVENT_SESSION)
    if not isinstance(session, bytes) or message(session).get(SESSION_STATUS) != SESSION_START:
        return None
    return signed(event.get(EVENT_STEP, 0))


def _rank(path: str) -> str:
    match = re.search(r"\.rank\d+\.", os.path.basename(path))
    return match.group() if match else ""
