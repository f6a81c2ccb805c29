"""What all checks of crashes share: the first explainer that recognises the crash speaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.explainers.blame import Blame, first_of
from torch_debugger.checks.explainers.texts.texts import TEXTS
from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, Finding, Record

Explainer = Callable[[CrashFact], Blame | None]


class CrashCheck(Check):
    """A check that reads a CrashFact and says nothing about crashes it does not know."""

    reads = (CrashFact,)
    explainers: ClassVar[tuple[Explainer, ...]]

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, CrashFact)
        blame = first_of(explain(crash) for crash in _told_of(record) for explain in self._asked(crash))
        if blame is not None:
            yield self.finding(
                severity="error",
                confidence=blame.confidence,
                message=blame.message,
                why=blame.why,
                fix=blame.fix,
                where=blame.where,
                first_step=record.step,
                last_step=record.step,
                evidence=blame.evidence,
                edit=blame.edit,
            )

    def _asked(self, crash: CrashFact) -> tuple[Explainer, ...]:
        """A pasted traceback has no tensors: the text itself must do."""
        return (*self.explainers, *TEXTS.get(self.name, ())) if crash.pasted else self.explainers


def _told_of(crash: CrashFact) -> Iterable[CrashFact]:
    """The crash, then those it only passes on: raised from them, or by the user's `raise` in a handler."""
    yield crash
    for cause in crash.causes:
        if not (crash.raised_from or _is_the_users_own(crash) or _reports_on_a_device(crash)):
            return
        yield cause
        crash = cause


def _reports_on_a_device(crash: CrashFact) -> bool:
    """A handler's look at the memory of a GPU that is not there: the error it handled is the one."""
    held = crash.evidence.devices
    return held is not None and bool(held.asked) and "/torch/" in crash.frames[-1].file.replace("\\", "/")


def _is_the_users_own(crash: CrashFact) -> bool:
    last = crash.frames[-1] if crash.frames else None
    return last is not None and last.user and last.code.startswith("raise")
