"""Findings of a log that takes long to judge: those so far at once, all of them later, none of them twice."""

from __future__ import annotations

import math
import os
import threading
import time
from pathlib import Path

import pytest

from torch_debugger.checks.judge import Judge
from torch_debugger.log.run import Run
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Finding, RunFact, Scalars

STEPS = 400
NO_PROCESS = 2**22 + 1  # no process has such a number


def write(folder: Path, pid: int = NO_PROCESS) -> LogWriter:
    writer = LogWriter(folder, on_fault=print)
    writer.add(RunFact("train.py", (), "", pid, time.time(), "3", "2", "cpu", "0", 0.02, False))
    add(writer, range(STEPS))
    return writer


def add(writer: LogWriter, steps: range) -> None:
    for step in steps:
        writer.add(Scalars(step, time.time(), {"loss": math.nan if step > 100 else 1.0}))
    writer.flush()


class Gate:
    """Lets a judge see so many records, and waits then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, passes: int) -> None:
        self.open = threading.Event()
        self.seen = 0
        see = Judge.see

        def gated(judge: Judge, record: object) -> list[Finding]:
            self.seen += 1
            if self.seen > passes:
                assert self.open.wait(30)
            return see(judge, record)  # type: ignore[arg-type]

        monkeypatch.setattr(Judge, "see", gated)


def wait_until_judged(run: Run) -> None:
    ends = time.monotonic() + 120
    while run.judged_to is not None:
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_whoever_asks_gets_what_is_known_and_later_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path).close()
    expected = Run(tmp_path).findings
    gate = Gate(monkeypatch, passes=50)
    run = Run(tmp_path)
    run.judge_aside(patience_s=0.05)
    # The judge holds its lock while it waits in the gate, so the step is asked for and not the findings.
    threading.Thread(target=lambda: run.findings, daemon=True).start()
    ends = time.monotonic() + 120
    while gate.seen <= 50:
        assert time.monotonic() < ends, "the judge did not come to the gate"
        time.sleep(0.01)
    assert run.judged_to is not None and run.judged_to < STEPS
    gate.open.set()
    wait_until_judged(run)
    assert [each.name for each in run.findings] == [each.name for each in expected]
    assert run.judged_to is None
    judged = gate.seen
    assert run.findings and gate.seen == judged, "what was judged is not judged again"


def test_a_short_log_is_judged_before_the_answer(tmp_path: Path) -> None:
    write(tmp_path).close()
    run = Run(tmp_path)
    aside = run.judge_aside(patience_s=300)
    assert [each.name for each in run.findings] == [each.name for each in Run(tmp_path).findings]
    assert (run.judged_to, aside.news) == (None, 0), "nobody has gone away with less than everything"


def test_of_a_run_that_goes_on_only_what_is_new_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = write(tmp_path, os.getpid())
    gate = Gate(monkeypatch, passes=10**9)
    run = Run(tmp_path)
    run.judge_aside(patience_s=300)
    assert run.status == "running"
    run.findings  # noqa: B018  judged up to here
    before = gate.seen
    add(writer, range(STEPS, STEPS + 10))
    run.poll()
    run.findings  # noqa: B018
    assert 0 < gate.seen - before <= 10
    writer.close()


def test_a_folder_that_is_written_to_after_its_end_is_judged_anew(tmp_path: Path) -> None:
    write(tmp_path).close()
    run = Run(tmp_path)
    run.judge_aside(patience_s=300)
    first = run.findings
    time.sleep(1.1)  # event files are named by the second
    write(tmp_path).close()
    run.poll()
    assert run.findings and run.findings is not first
