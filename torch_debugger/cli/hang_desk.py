"""The parent's part when the training stands still: say so once all ranks have told where they are, and end
the run if that was asked for."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Callable
from os import getpid
from typing import NoReturn

import psutil

from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.ranks_judge import RanksJudge
from torch_debugger.cli.ending import print_hang
from torch_debugger.records import Finding, HangFact, HangOver, Record
from torch_debugger.report.ranks_digest import RanksDigest
from torch_debugger.saying import say

ABORTED = 124  # the exit code of a run that was ended since it hung, as that of timeout(1)
_OTHER_RANKS_S = 3.0  # to tell where they are, after the first of them was sure
_KILL_S = 5.0


class HangDesk:
    """Hears every record; `act` is called again and again, and `end_run` ends the child."""

    def __init__(
        self, judge: RanksJudge, digest: RanksDigest, end_run: Callable[[], None], *, quiet: bool
    ) -> None:
        self.told: tuple[Finding, ...] = ()
        self.aborted = False
        self._judge, self._digest, self._quiet = judge, digest, quiet
        self._end_run = end_run
        self._ranks: dict[int, HangFact] = {}
        self._since_s: float | None = None
        self._is_said = False

    def see(self, record: Record, rank: int | None, now_s: float) -> None:
        if isinstance(record, HangFact):
            self._ranks[rank or 0] = record
            if record.final and self._since_s is None:
                self._since_s = now_s
        elif isinstance(record, HangOver):
            self._ranks.pop(rank or 0, None)
            if not any(fact.final for fact in self._ranks.values()):
                self._since_s, self._is_said = None, False

    def act(self, now_s: float) -> None:
        if self._since_s is None or self._is_said:
            return
        world = max(fact.world for fact in self._ranks.values())
        if len(self._ranks) < world and now_s - self._since_s < _OTHER_RANKS_S:
            return
        findings = hang_findings(self._judge.findings)
        if findings:  # else some rank is still at work, and the others wait for it
            self._is_said = True
            self._say(findings)
            if any(fact.policy == "abort" for fact in self._ranks.values()):
                self.aborted = True
                self._end_run()

    def _say(self, findings: list[Finding]) -> None:
        result = self._digest.result(self._judge.findings, outcome="hung")
        result = dataclasses.replace(result, findings=tuple(findings), verdict=findings[0])
        stacks = any(fact.policy != "warn" for fact in self._ranks.values())
        try:
            print_hang(result, stacks=stacks and not self._quiet)
        except Exception as error:  # whatever is wrong with our words, the run must still be ended if asked for
            say(f"the hang could not be explained ({type(error).__name__}: {error}).")
        self.told = tuple(findings)

    @property
    def is_hung(self) -> bool:
        return bool(hang_findings(self._judge.findings))


def hang_findings(findings: list[Finding]) -> list[Finding]:
    """Those that say that the training stands still; one that went on again is a note by now."""
    return [finding for finding in findings if finding.check in _ids() and finding.severity != "note"]


@functools.cache
def _ids() -> frozenset[str]:
    return frozenset(check.id for check in catalog() if issubclass(check, HangCheck))


def end_here() -> NoReturn:
    """This very process, at once: the thread that hangs would not hear of a wish to end."""
    end_with_descendants(getpid(), itself=False)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(ABORTED)


def end_with_descendants(pid: int, *, itself: bool = True) -> None:
    """At once, and everybody that the process has started: a worker that hangs would never notice that the
    training is gone."""
    try:
        process = psutil.Process(pid)
        doomed = process.children(recursive=True)
    except psutil.Error:
        return
    doomed += [process] if itself else []
    for each in doomed:
        try:
            each.kill()
        except psutil.Error:  # it has ended meanwhile
            continue
    psutil.wait_procs([each for each in doomed if each.pid != pid], timeout=_KILL_S)
