"""A checkpoint whose tensors were to be put on a device that this machine does not have."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import argument_of, one_line, rewritten, with_argument
from torch_debugger.checks.explainers.statements import Change, Statement, statement_of
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.checkpoints import StorageLocation


def explain_location(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    location = evidence.location if evidence is not None else None
    if location is None or frame is None or not _is_absent(location):
        return None
    statement = statement_of(frame, None)
    change = _change(statement, "cpu" if not location.available else f"{_kind(location)}:0")
    return Blame(
        message=f"{_told(location)}, but {_here(location)}.",
        why=_why(location),
        fix=f"Say where the tensors go: {change.text}.",
        where=change.where,
        evidence={
            "location": location.location,
            "map_location": location.asked or "none given",
            "devices here": f"{location.available} of {_kind(location)}",
            "line": line_text(statement.line),
        },
        confidence=0.98,
        edit=change.edit,
    )


def _kind(location: StorageLocation) -> str:
    return location.location.partition(":")[0]


def _is_absent(location: StorageLocation) -> bool:
    if _kind(location) == "cpu":
        return False
    number = location.location.partition(":")[2]
    return not location.available or (number.isdigit() and int(number) >= location.available)


def _told(location: StorageLocation) -> str:
    if location.asked_itself:
        return f"torch.load was told to put the tensors on `{location.location}`"
    return f"The checkpoint's tensors were saved on `{location.location}`"


def _here(location: StorageLocation) -> str:
    kind = _kind(location)
    if not location.available:
        return f"torch finds no {kind.upper() if kind in ('cuda', 'mps', 'xpu') else kind} device here"
    last = location.available - 1
    return (
        f"there is only `{kind}:0` here" if not last else f"there are only `{kind}:0` to `{kind}:{last}` here"
    )


def _why(location: StorageLocation) -> str:
    if location.asked_itself:
        return "map_location decides where every tensor of the file goes, whatever device it was saved from."
    return (
        "A file remembers the device of each tensor, and torch.load puts it back there unless it is told "
        "otherwise."
    )


def _change(statement: Statement, device: str) -> Change:
    """map_location in the user's call: replaced where one is written, else added."""
    call = statement.call(["torch.load", "load"])
    if call is None:
        return Change(f'pass `map_location="{device}"` to torch.load', None, statement.line)
    written = argument_of(call, 1, "map_location")
    changed = written.replaced(f'"{device}"') if written else with_argument(call, f'map_location="{device}"')
    text = f"write `{one_line(changed)}` instead of `{one_line(call)}` at {place_text(statement.line)}"
    return Change(text, rewritten(statement.whole, call, changed), statement.line)
