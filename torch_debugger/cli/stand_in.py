"""When the parent that reports for all ranks is gone, one of the others does it from what is in the folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

from torch_debugger.checks.ranks_judge import RanksJudge
from torch_debugger.cli.fellow_ranks import FellowRanks
from torch_debugger.cli.rank_launch import RankLaunch
from torch_debugger.records import Notice
from torch_debugger.report.ranks_digest import RanksDigest
from torch_debugger.report.result import RunResult
from torch_debugger.runlog.logfile import rank_in_name
from torch_debugger.runlog.reader import event_files, read_log_of_ranks

_LOOK_EVERY_S = 0.1
_CLAIM = "reporter.txt"


def stands_in(launch: RankLaunch, folder: str) -> bool:
    """Whether this rank is to report, now that it has ended: the first one's processes are gone without having
    done so, or are on a machine that does not share this folder. Of several who could, one does."""
    if Path(folder, "result.json").exists() or FellowRanks(launch, folder).are_left({0}):
        return False
    if launch.is_on_one_machine:
        if launch.by_torchrun and not _was_heard_of(0, folder):
            return False  # it may still begin
    elif not launch.leads_machine:
        return False
    try:
        os.close(os.open(Path(folder, _CLAIM), os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    return True


def _was_heard_of(rank: int, folder: str) -> bool:
    return any(rank_in_name(path) == rank for path in event_files(folder))


def report_of(judge: RanksJudge, launch: RankLaunch, folder: str, script: str, log: str | None) -> RunResult:
    """All that the ranks have written, judged when they have ended."""
    others = FellowRanks(launch, folder, in_hurry=lambda: True)
    while others.wait(_LOOK_EVERY_S) is None:
        time.sleep(_LOOK_EVERY_S)
    digest = RanksDigest(script)
    for rank, record in read_log_of_ranks(folder):
        digest.see(record, rank)
        judge.see(record, rank)
    digest.see(Notice(_said(launch), 0), min(judge.ranks.states, default=None))
    judge.finish()
    return digest.result(
        judge.findings,
        log=log,
        faults=judge.faults,
        checks=len(judge.checks),
        facts=judge.ranks.facts,
        ends=judge.ranks.ends,
    )


def _said(launch: RankLaunch) -> str:
    return (
        f"This report is made by rank {launch.rank}: the process that watched rank 0 has ended without one, "
        "or its log is in a folder that this machine does not share."
    )
