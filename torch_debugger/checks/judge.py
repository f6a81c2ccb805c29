"""The judge: hands records to checks, keeps their findings, and finds the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.catalog import catalog, consequences, find_check
from torch_debugger.checks.rank_checks import RankCheck, RankStates
from torch_debugger.records import SEVERITIES, CrashFact, Finding, ProbeFault, RankEnd, RankFact, Record
from torch_debugger.system.signals import is_the_scripts


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
            parts = [fault.partition(": ") for fault in record.evidence.faults]
            self.faults += [
                ProbeFault(f"evidence of the crash ({part})", error, record.step) for part, _, error in parts
            ]
        return self.ask(record)

    def ask(self, record: Record) -> list[Finding]:
        """What the checks say of a record that `state` already includes."""
        new: list[Finding] = []
        for check in tuple(self._readers.get(type(record), ())):
            if check.last_resort and new:
                break
            try:
                new += self._keep(self._hear(check, record) or ())
            except Exception as error:
                self._retire(check, error)
        return new

    def finish(self) -> list[Finding]:
        new: list[Finding] = []
        for check in tuple(self.checks):
            try:
                new += self._keep(self._hear_last(check))
            except Exception as error:
                self._retire(check, error)
        return new

    def _hear(self, check: Check, record: Record) -> Iterable[Finding] | None:
        return check.see(record, self.state)

    def _hear_last(self, check: Check) -> Iterable[Finding]:
        return check.finish(self.state)

    def _retire(self, check: Check, error: Exception) -> None:
        """A check's own bug must not cost the user the other verdicts."""
        if is_the_scripts(error):
            raise error
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
        return in_order(self.unranked)

    @property
    def unranked(self) -> list[Finding]:
        return list(self._found.values())


def in_order(findings: list[Finding]) -> list[Finding]:
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


# The judge of a whole run, of one process or of many: a judge for each rank, and the checks across ranks.
_Key = tuple[str, str]
_LOST_ANOTHER = "ranks-disagree"  # what the ranks say that another one has left alone


class RanksJudge:
    """Judges a run as its records arrive; findings may be asked for at any time.

    A record comes with the rank whose log it stands in, or None: of a program of one process, or of the one
    that starts the others. A finding that several ranks share is one finding, and says on which.
    """

    def __init__(self, only: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
        self._choice = only, ignore
        self._judges: dict[int | None, Judge] = {None: Judge(only, ignore)}
        self._across = _Across(only, ignore)
        self._known: set[_Key] = set()
        self._crashed: dict[_Key, set[int | None]] = {}  # findings that explain a crash, and whose
        self._here: int | None = None  # the rank of the process whose log does not say it

    @property
    def ranks(self) -> RankStates:
        return self._across.ranks

    @property
    def checks(self) -> list[Check]:
        alone = self._judges[None].checks
        known = {type(check) for check in alone}
        return [*alone, *(check for check in self._across.checks if type(check) not in known)]

    @property
    def faults(self) -> list[ProbeFault]:
        found: list[ProbeFault] = []
        for rank, judge in self._judges.items():
            named = self._named(rank)
            suffix = "" if named is None else f" (rank {named})"
            found += [dataclasses.replace(fault, probe=fault.probe + suffix) for fault in judge.faults]
        return [*found, *self._across.faults]

    def see(self, record: Record, rank: int | None = None) -> list[Finding]:
        """Judge one record; what is new since the last call comes back, also what is new on one rank only
        where no other has it."""
        if rank not in self._judges:
            self._judges[rank] = Judge(*self._choice)
        judge = self._judges[rank]
        if isinstance(record, RankFact) and rank is None:
            self._here = record.rank
        if isinstance(record, RankEnd) and record.rank < 0:
            self.ranks.see_end(record)
            return []
        named = self._named(rank)
        if named is not None:
            self.ranks.states.setdefault(named, judge.state)
        found = judge.see(record)
        if isinstance(record, CrashFact):
            for finding in found:
                self._crashed.setdefault(finding.key, set()).add(named)
        if named is None:
            return self._news(found, None)
        return self._news(found, named) + self._news(self._across.see_rank(named, record), None)

    def finish(self) -> list[Finding]:
        """What only the end tells; of the whole run."""
        new: list[Finding] = []
        for rank, judge in self._judges.items():
            new += self._news(judge.finish(), self._named(rank))
        return new + self._news(self._across.finish(), None)

    @property
    def findings(self) -> list[Finding]:
        """All findings, the verdict first, symptoms named as such."""
        made: dict[_Key, list[Finding]] = {}
        for rank, judge in self._judges.items():
            for finding in judge.unranked:
                made.setdefault(finding.key, []).append(_on(self._named(rank), finding))
        merged = [_merged(same) for same in made.values()]
        return self._first_failure_first(in_order([*merged, *self._across.unranked]))

    def _named(self, rank: int | None) -> int | None:
        return self._here if rank is None else rank

    def _news(self, findings: Iterable[Finding], rank: int | None) -> list[Finding]:
        new = [finding for finding in findings if finding.key not in self._known]
        self._known.update(finding.key for finding in new)
        return [_on(rank, finding) for finding in new]

    def _first_failure_first(self, findings: list[Finding]) -> list[Finding]:
        """When a rank fails, the others lose it in the middle of a collective and crash in their turn, and so
        does a script that has started them and waits."""
        for first in self.ranks.failed():
            causes = [each for each in findings if first in self._whose_crash(each)]
            if any(each.name != _LOST_ANOTHER for each in causes):
                break
        else:
            return findings
        followed = [self._whose_crash(each) and first not in self._whose_crash(each) for each in findings]
        marked = [
            dataclasses.replace(each, symptom_of=each.symptom_of or causes[0].name) if follows else each
            for each, follows in zip(findings, followed, strict=True)
        ]
        return sorted(marked, key=lambda finding: finding.symptom_of is not None)

    def _whose_crash(self, finding: Finding) -> set[int | None]:
        return self._crashed.get(finding.key, set())


class _Across(Judge):
    """Asks the checks that see several ranks."""

    def __init__(self, only: Sequence[str], ignore: Sequence[str]) -> None:
        super().__init__(only, ignore)
        self.ranks = RankStates()
        self._rank = 0

    @staticmethod
    def asks(check: type[Check]) -> bool:
        return issubclass(check, RankCheck)

    def see_rank(self, rank: int, record: Record) -> list[Finding]:
        self.ranks.see(rank, record)
        self._rank = rank
        return self.ask(record)

    def _hear(self, check: Check, record: Record) -> Iterable[Finding] | None:
        assert isinstance(check, RankCheck)
        return check.see_rank(self._rank, record, self.ranks)

    def _hear_last(self, check: Check) -> Iterable[Finding]:
        assert isinstance(check, RankCheck)
        return check.finish_ranks(self.ranks)


def _on(rank: int | None, finding: Finding) -> Finding:
    return finding if rank is None else dataclasses.replace(finding, ranks=(rank,))


def _merged(same: list[Finding]) -> Finding:
    """The gravest and surest of them, with the ranks of all."""
    chosen = min(same, key=lambda finding: (-SEVERITIES.index(finding.severity), -finding.confidence))
    ranks = tuple(sorted({rank for finding in same for rank in finding.ranks}))
    return dataclasses.replace(chosen, ranks=ranks)


# Advice on a trace of the profiler: the checks of speed that need nothing else of a run.
_NAMES = (
    "data-loaded-in-the-training-process",
    "too-few-workers",
    "parameters-updated-one-by-one",
    "optimizer-not-fused",
    "device-waited-for-each-step",
    "unpinned-copy",
    "launch-bound",
    "tf32-off",
    "no-autocast",
    "sizes-not-multiple-of-8",
    "convs-not-channels-last",
)


def judge_trace(records: Iterable[Record]) -> tuple[Finding, ...]:
    """The most severe first. Settings come before what is judged by them."""
    judge = Judge(only=_NAMES)
    for record in records:
        judge.see(record)
    return tuple(judge.findings)
