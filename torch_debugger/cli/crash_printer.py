"""Prints a crash at the moment it happens: what is known by then, and the traceback below it."""

from __future__ import annotations

from torch_debugger.checks.judge import Judge
from torch_debugger.checks.ranks_judge import RanksJudge
from torch_debugger.cli.ending import print_crash
from torch_debugger.records import CrashFact, Finding
from torch_debugger.redaction.looks import SECRET
from torch_debugger.report.digest import RunDigest
from torch_debugger.report.ranks_digest import RanksDigest
from torch_debugger.saying import say


class CrashPrinter:
    def __init__(self, judge: Judge | RanksJudge, digest: RunDigest | RanksDigest, *, quiet: bool) -> None:
        self._judge, self._digest, self._quiet = judge, digest, quiet
        self.told: tuple[Finding, ...] = ()

    def show(self, crash: CrashFact) -> bool:
        """The explanation, and below it the traceback: unless secrets are left out of that. The script's own,
        with all that it says, is for its own process to print."""
        is_whole = SECRET not in crash.traceback
        result = self._digest.result(self._judge.findings, outcome="crashed", exit_code=1)
        try:
            print_crash(result, crash.traceback if is_whole else "", quiet=self._quiet)
        except Exception as error:  # whatever is wrong with our words, the traceback must be read
            say(f"the crash could not be explained ({type(error).__name__}: {error}).")
            if is_whole:
                say(crash.traceback)
        self.told = result.findings
        return is_whole
