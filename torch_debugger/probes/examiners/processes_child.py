"""A process that this one started and that failed: what it left behind is text, or only a signal."""

from __future__ import annotations

import re
from typing import Any

from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.processes import ChildEvidence, ChildFrame

_START = "Traceback (most recent call last):\n"
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n(?:    (.*)\n)?', re.MULTILINE)
_END = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?\Z", re.MULTILINE | re.DOTALL)
_SPAWN, _ELASTIC = "torch.multiprocessing.spawn", "torch.distributed.elastic.multiprocessing"
_MESSAGE_LENGTH, _FRAMES_KEPT = 4000, 40


def examine_child(scene: Scene) -> ChildEvidence | None:
    home, name = type(scene.error).__module__, type(scene.error).__name__
    if home == _SPAWN and name in ("ProcessRaisedException", "ProcessExitedException"):
        return _spawned(scene.error)
    if str(home).startswith(_ELASTIC) and name == "ChildFailedError":
        return _launched(scene.error)
    return None


def _spawned(error: Any) -> ChildEvidence:
    told = read_traceback(str(error))
    index = getattr(error, "error_index", None)
    code = getattr(error, "exit_code", None)
    return ChildEvidence(
        index=index if type(index) is int else _index(str(error)),
        kind=told[0],
        message=told[1],
        frames=told[2],
        signal=getattr(error, "signal_name", None) or "",
        exit_code=code if type(code) is int else None,
    )


def _launched(error: Any) -> ChildEvidence:
    """Of several processes that torchrun lost, the first to fail."""
    index, failure = error.get_first_failure()
    code = failure.exitcode
    told = failure.message if type(failure.message) is str else ""
    kind, message, frames = read_traceback(told)
    signal = str(failure.signal_name()) if code < 0 else ""
    return ChildEvidence(index, kind, message or told[:_MESSAGE_LENGTH], frames, signal, code)


def _index(message: str) -> int | None:
    found = re.search(r"[Pp]rocess (\d+) terminated", message)
    return int(found[1]) if found else None


def read_traceback(text: str) -> tuple[str, str, tuple[ChildFrame, ...]]:
    """The kind, message and frames of the exception that ended it, which is told last."""
    if _START not in text:
        return "", "", ()
    last = text.rpartition(_START)[2]
    found = list(_FRAME.finditer(last))
    after = re.sub(r"\A(?:    .*\n)*", "", last[found[-1].end() :] if found else last)
    end = _END.match(after.strip())
    frames = tuple(_frame(match) for match in found[-_FRAMES_KEPT:])
    return (end[1], (end[2] or "")[:_MESSAGE_LENGTH], frames) if end else ("", after[:_MESSAGE_LENGTH], frames)


def _frame(match: re.Match[str]) -> ChildFrame:
    file, line, function, code = match.groups()
    return ChildFrame(file, int(line), function, (code or "").strip(), is_user_file(file))
