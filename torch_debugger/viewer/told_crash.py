"""A crash as the page shows it: the user's own frames with what their variables held."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import CrashFact, CrashFrame, LocalTensor, LocalValue, Place
from torch_debugger.report.printable import printable
from torch_debugger.report.source import shown_path
from torch_debugger.viewer.kept_code import KeptCode

_MOST_FRAMES = 20
_MOST_VALUES = 30
_LONGEST_TRACEBACK = 20_000  # characters


def told_crash(run: Run, code: KeptCode) -> dict[str, Any] | None:
    """The one that ended the run, if one did."""
    crashes = [each for each in run.records(CrashFact) if isinstance(each, CrashFact)]
    if not crashes or run.status != "crashed":
        return None
    crash = crashes[-1]
    return {
        "kind": crash.qualified or crash.kind,
        "message": printable(crash.message.strip())[:_LONGEST_TRACEBACK],
        "step": crash.step,
        "frames": _frames(crash, code),
        "traceback": _lines(crash.traceback[-_LONGEST_TRACEBACK:]),
    }


def _frames(crash: CrashFact, code: KeptCode) -> list[dict[str, Any]]:
    """The user's, outermost first, each with how many of libraries follow it."""
    shown: list[dict[str, Any]] = []
    for frame in crash.frames:
        if frame.user:
            shown.append(_frame(frame, code))
        elif shown:
            shown[-1]["inside"] += 1
    return shown[-_MOST_FRAMES:]


def _frame(frame: CrashFrame, code: KeptCode) -> dict[str, Any]:
    tensors = [_tensor(each) for each in frame.tensors]
    values = [_value(each) for each in frame.values if each.kind != "module"]
    return {
        "file": shown_path(frame.file, code.folder),
        "line": frame.line,
        "function": frame.function,
        "module": frame.module,
        "kind": frame.kind,
        "failing": frame.failing,
        "code": code.excerpt(Place(frame.file, frame.line)),
        "values": [*tensors, *values][:_MOST_VALUES],
        "inside": 0,
    }


def _tensor(tensor: LocalTensor) -> dict[str, str]:
    shape = f"[{', '.join(map(str, tensor.shape))}]"
    says = f"{shape}, {tensor.dtype} on {tensor.device}" + (", needs gradients" if tensor.requires_grad else "")
    if tensor.lowest is not None and tensor.highest is not None:
        says += f", from {tensor.lowest} to {tensor.highest}"
    return {"name": printable(tensor.name), "kind": "Tensor", "says": says}


def _value(value: LocalValue) -> dict[str, str]:
    size = f"{value.size:,} entries" if value.size is not None else ""
    return {
        "name": printable(value.name),
        "kind": printable(value.kind),
        "says": ", ".join(filter(None, (printable(value.text), size))),
    }


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))
