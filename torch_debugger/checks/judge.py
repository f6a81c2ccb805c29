"""The judge: hands records to checks, keeps their findings, and finds the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import catalog, find_check
from torch_debugger.checks.causes import consequences
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.state import RunState
from torch_debugger.records import SEVERITIES, CrashFact, Finding, ProbeFault, Record
from torch_debugger.signals import is_the_scripts


class Judge:
    """Judges one run as its records arrive; findings may be asked for at any time."""

    def __init__(self, only: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
        chosen = [find_check(name) for name in only] or list(catalog())
        ignored = [find_check(name) for name in ignore]
        self.checks: list[Check] = [check() for check in chosen if self.asks(check) and check not in ignored]
        self.state = RunState()
        self.faults: list[ProbeFault] = []
        self._found: dict[tuple[str, str], Finding] = {}
        self._readers: dict[type, list[Check]] = {}
        for check in self.checks:
            for kind in check.reads:
                self._readers.setdefault(kind, []).append(check)
        for readers in self._readers.values():
            readers.sort(key=lambda check: check.last_resort)

    @staticmethod
    def asks(check: type[Check]) -> bool:
        """Those across ranks are asked by the judge of all ranks."""
        return not issubclass(check, RankCheck) or check.alone

    def see(self, record: Record) -> list[Finding]:
        """Judge one record; what is new since the last call comes back."""
        self.state.see(record)
        if isinstance(record, ProbeFault):
            self.faults.append(record)
        elif isinstance(record, CrashFact):
            self.faults += [_examiner_fault(fault, record.step) for fault in record.evidence.faults]
        return self.ask(record)

    def ask(self, record: Record) -> list[Finding]:
        """What the checks say of a record that `state` already includes."""
        new: list[Finding] = []
        for check in tuple(self._readers.get(type(record), ())):
            if check.last_resort and new:
                break
            try:
                new += self._keep(self._hear(check, record))
            except Exception as error:  # a check's own bug must not cost the user the other verdicts
                if is_the_scripts(error):
                    raise
                self._retire(check, error)
        return new

    def finish(self) -> list[Finding]:
        new: list[Finding] = []
        for check in tuple(self.checks):
            try:
                new += self._keep(self._hear_last(check))
            except Exception as error:  # as above
                if is_the_scripts(error):
                    raise
                self._retire(check, error)
        return new

    def _hear(self, check: Check, record: Record) -> Iterable[Finding]:
        return check.see(record, self.state)

    def _hear_last(self, check: Check) -> Iterable[Finding]:
        return check.finish(self.state)

    def _retire(self, check: Check, error: Exception) -> None:
        for readers in self._readers.values():
            if check in readers:
                readers.remove(check)
        self.checks.remove(check)
        fault = f"{type(error).__name__}: {error}"
        self.faults.append(ProbeFault(f"check {check.name}", fault, self.state.step))

    def _keep(self, findings: Iterable[Finding]) -> list[Finding]:
        new = []
        for finding in findings:
            before = self._found.get(finding.key)
            if before is None:
                new.append(finding)
            else:
                finding = dataclasses.replace(finding, first_step=min(before.first_step, finding.first_step))
            self._found[finding.key] = finding
        return new

    @property
    def findings(self) -> list[Finding]:
        """All findings, the verdict first, symptoms named as such."""
        return rank(self.unranked)

    @property
    def unranked(self) -> list[Finding]:
        return list(self._found.values())


def _examiner_fault(fault: str, step: int) -> ProbeFault:
    part, _, error = fault.partition(": ")
    return ProbeFault(f"evidence of the crash ({part})", error, step)


def rank(findings: list[Finding]) -> list[Finding]:
    """Causes before their symptoms, then by severity, confidence and first step."""
    ordered = sorted(findings, key=_weight)
    # A note never explains an error away: a cause must be at least a warning.
    named = [finding.name for finding in ordered if finding.severity != "note"]
    marked = [dataclasses.replace(finding, symptom_of=_cause(finding, named)) for finding in ordered]
    return sorted(marked, key=lambda finding: finding.symptom_of is not None)


def _cause(finding: Finding, named: list[str]) -> str | None:
    """The first cause of it that was found, causes that are symptoms themselves last."""
    causes = [name for name in named if finding.name in consequences().get(name, ())]
    first = (name for name in causes if not any(name in consequences().get(other, ()) for other in causes))
    return next(first, None)


def _weight(finding: Finding) -> tuple[int, float, int]:
    return -SEVERITIES.index(finding.severity), -finding.confidence, finding.first_step


def verdict(findings: Sequence[Finding]) -> Finding | None:
    """The one finding to act on first; notes alone are no verdict."""
    first = findings[0] if findings else None
    return first if first is not None and first.severity != "note" else None
