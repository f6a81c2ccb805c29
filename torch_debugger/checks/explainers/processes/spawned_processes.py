"""A process that the script started and that failed, told by what it left behind."""

from __future__ import annotations

from collections.abc import Callable

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.processes.process_backends import (
    explain_absent_master,
    explain_absent_ranks,
    explain_backend,
    explain_rank,
)
from torch_debugger.checks.explainers.processes.process_gpus import explain_no_gpu, explain_shared_gpu
from torch_debugger.checks.explainers.processes.process_groups import (
    explain_absent_group,
    explain_environment,
    explain_port,
    explain_second_group,
    explain_variable,
)
from torch_debugger.checks.explainers.processes.processes import (
    also_in_a_child,
    child_of,
    child_place,
    first_said,
)
from torch_debugger.checks.explainers.processes.rank_sizes import (
    explain_collective_sizes,
    explain_lost_peer,
    explain_parameter_counts,
    explain_parameter_sizes,
)
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.processes import ChildEvidence

_Explainer = Callable[[CrashFact], Blame | None]
SETUP: tuple[_Explainer, ...] = tuple(
    also_in_a_child(explain)
    for explain in (
        explain_port, explain_environment, explain_absent_group, explain_second_group, explain_variable,
        explain_backend, explain_rank, explain_absent_ranks, explain_absent_master, explain_no_gpu,
        explain_shared_gpu,
    )
)  # fmt: skip
DISAGREEMENTS: tuple[_Explainer, ...] = tuple(
    also_in_a_child(explain)
    for explain in (
        explain_parameter_sizes, explain_parameter_counts, explain_collective_sizes, explain_lost_peer
    )
)  # fmt: skip
_SIGNALS = {
    "SIGKILL": "Often the system ended it because memory ran out (`dmesg` tells); it may also have been killed "
    "on purpose",
    "SIGSEGV": "A library crashed in compiled code; `python -X faulthandler` shows the line",
    "SIGABRT": "Compiled code gave up; its last words are in the output above. With gloo, tensors of different "
    "sizes or dtypes on two ranks end like this",
    "SIGBUS": "Often shared memory (/dev/shm) is full",
    "SIGTERM": "Something asked it to end",
    "SIGINT": "Somebody pressed Ctrl-C",
}


def explain_spawned(crash: CrashFact) -> Blame | None:
    child = child_of(crash)
    if child is None or first_said(crash, (*SETUP, *DISAGREEMENTS)) is not None:
        return None
    if child.kind:
        return _raised(crash, child)
    return _ended(crash, child)


def _raised(crash: CrashFact, child: ChildEvidence) -> Blame:
    place = child_place(child)
    told = f"{child.kind.rpartition('.')[2]}: {_first_line(child.message)}" if child.message else child.kind
    inside = f"`{place.code}`" if place.code else "its line"
    return Blame(
        message=f"Process {_number(child)} stopped at {place_text(place)}, {inside}, with {told}",
        why="The error is the child's. Only the text of its traceback came back from it, so its tensors and "
        f"values are not known here; {place_text(crash.place)} merely waited for it.",
        fix=f"Look at {place_text(place)}. To have it explained with all its values, call the function once in "
        "this process instead: `fn(0, *args)`, with one process.",
        where=place if place.file else crash.place,
        evidence={"line": line_text(place), "started at": line_text(crash.place)},
        confidence=0.85,
    )


def _ended(crash: CrashFact, child: ChildEvidence) -> Blame:
    how = f"was ended by {child.signal}" if child.signal else f"ended with exit code {child.exit_code}"
    meaning = _SIGNALS.get(child.signal, "What it printed before is all it left")
    return Blame(
        message=f"Process {_number(child)}, started at {place_text(crash.place)}, {how} and left no traceback.",
        why=f"{meaning}. The cause itself is not known here.",
        fix="Read what that process printed last, and run the function once in this process (`fn(0, *args)`) "
        "to see where it ends.",
        where=crash.place,
        evidence={"line": line_text(crash.place), **({"signal": child.signal} if child.signal else {})},
        confidence=0.7,
    )


def _number(child: ChildEvidence) -> str:
    return str(child.index) if child.index is not None else "of the script's"


def _first_line(message: str) -> str:
    line = message.strip().splitlines()[0] if message.strip() else ""
    return line if len(line) <= 200 else f"{line[:200]} ..."
