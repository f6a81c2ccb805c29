"""What explainers of crashes among processes share: who raised, and a child's crash read as one's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from torch_debugger.checks.explainers.blame import Blame, first_of
from torch_debugger.records import CrashEvidence, CrashFact, CrashFrame, Place
from torch_debugger.records.evidence.processes import ChildEvidence, GroupEvidence, ReductionEvidence

_CHILD_CONFIDENCE = 0.85  # nothing but text came back from it


def raised_by(crash: CrashFact, *parts: str) -> bool:
    """Whether the frame that raised lies in one of these places of torch: torch/distributed"""
    last = crash.frames[-1] if crash.frames else None
    if last is None or last.user:
        return False
    file = last.file.replace(os.sep, "/")
    return any(f"/{part}" in file for part in parts)


def group_of(crash: CrashFact) -> GroupEvidence:
    held = crash.evidence.processes
    return held.group if held is not None and held.group is not None else GroupEvidence()


def reduction_of(crash: CrashFact) -> ReductionEvidence | None:
    return crash.evidence.processes.reduction if crash.evidence.processes is not None else None


def child_of(crash: CrashFact) -> ChildEvidence | None:
    return crash.evidence.processes.child if crash.evidence.processes is not None else None


def script_name(place: Place) -> str:
    return os.path.basename(place.file) if place.file else "train.py"


def child_place(child: ChildEvidence) -> Place:
    """The innermost line of the user's in the child."""
    users = [frame for frame in child.frames if frame.user]
    return Place(users[-1].file, users[-1].line, None, users[-1].code) if users else Place()


def also_in_a_child(
    explain: Callable[[CrashFact], Blame | None],
) -> Callable[[CrashFact], Blame | None]:
    """The explainer, which reads the traceback of a spawned process as well as this one's."""

    def explain_either(crash: CrashFact) -> Blame | None:
        child = child_of(crash)
        return explain(crash) if child is None else _told_by_child(explain, crash, child)

    return explain_either


def _told_by_child(
    explain: Callable[[CrashFact], Blame | None], crash: CrashFact, child: ChildEvidence
) -> Blame | None:
    blame = explain(_as_crash(crash, child)) if child.frames else None
    if blame is None:
        return None
    known: dict[str, float | str] = {"process": child.index} if child.index is not None else {}
    return Blame(
        blame.message,
        blame.why,
        blame.fix,
        blame.where,
        blame.evidence | known,
        min(blame.confidence, _CHILD_CONFIDENCE),
        blame.edit,
    )


def _as_crash(crash: CrashFact, child: ChildEvidence) -> CrashFact:
    frames = tuple(
        CrashFrame(frame.file, frame.line, frame.function, frame.code, frame.user, None, None, (), frame.line)
        for frame in child.frames
    )
    kind = child.kind.rpartition(".")[2]
    return CrashFact(
        kind, child.message, frames, child_place(child), None, "", crash.step,
        qualified=child.kind, bases=(kind,), evidence=CrashEvidence(),
    )  # fmt: skip


def first_said(crash: CrashFact, explainers: Iterable[Callable[[CrashFact], Blame | None]]) -> Blame | None:
    return first_of(explain(crash) for explain in explainers)
