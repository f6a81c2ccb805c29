"""What all checks of crashes share: the first explainer that recognises the crash speaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.explainers.blame import Blame, first_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, Finding, Record

Explainer = Callable[[CrashFact], Blame | None]


class CrashCheck(Check):
    """A check that reads a CrashFact and says nothing about crashes it does not know."""

    reads = (CrashFact,)
    explainers: ClassVar[tuple[Explainer, ...]]

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, CrashFact)
        blame = first_of(explain(record) for explain in self.explainers)
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
