from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests import fakes
from torch_debugger.checks.judge import verdict
from torch_debugger.records import Notice, ProbeFault, Record
from torch_debugger.report.result import RunDigest, ending_signal, outcome_of_exit


def digested(*records: Record) -> RunDigest:
    digest = RunDigest("train.py")
    for record in records:
        digest.see(record)
    return digest


@pytest.mark.parametrize(
    ("exit_code", "outcome"),
    [
        (None, "finished"),
        (0, "finished"),
        (1, "crashed"),
        (-signal.SIGINT, "stopped"),
        (128 + signal.SIGINT, "stopped"),
        (-signal.SIGTERM, "stopped"),
        (128 + signal.SIGTERM, "stopped"),
        (-signal.SIGSEGV, "crashed"),
        (128 + signal.SIGKILL, "crashed"),
        (128, "crashed"),
        (255, "crashed"),
    ],
)
def test_outcome_without_a_last_word(exit_code: int | None, outcome: str) -> None:
    assert outcome_of_exit(exit_code) == outcome
    assert digested(fakes.run()).result([], exit_code=exit_code).outcome == outcome


def test_the_script_has_the_last_word_on_its_outcome() -> None:
    result = digested(fakes.run(), fakes.end("stopped", steps=20)).result([], exit_code=0)
    assert (result.outcome, result.steps, result.counted) == ("stopped", 20, "optimizer steps")


def test_a_killed_process_got_further_than_its_log() -> None:
    digest = digested(fakes.run(), fakes.scalars(40, grad_norm=1.0))
    digest.reached(57)
    digest.reached(12)
    assert digest.result([], exit_code=-9).steps == 57


def test_the_caller_may_know_better() -> None:
    assert digested(fakes.end("finished")).result([], outcome="hung").outcome == "hung"


@pytest.mark.parametrize(
    ("exit_code", "expected"), [(-9, signal.SIGKILL), (137, signal.SIGKILL), (9, None), (255, None)]
)
def test_ending_signal(exit_code: int, expected: signal.Signals | None) -> None:
    assert ending_signal(exit_code) == expected


def test_loss_in_three_points() -> None:
    nan = float("nan")
    result = digested(*fakes.losses([3.0, 0.5, nan, 2.0]), fakes.scalars(9, grad_norm=1.0)).result([])
    assert result.losses is not None
    assert result.losses.first == (1, 3.0)
    assert result.losses.lowest == (2, 0.5)
    assert result.losses.last == (4, 2.0)
    assert result.steps == 9


def test_a_loss_that_was_never_finite_has_no_lowest_point() -> None:
    result = digested(*fakes.losses([float("inf"), float("nan")])).result([])
    assert result.losses is not None and result.losses.lowest is None


def test_a_script_without_torch_is_known_by_its_records() -> None:
    silent = [
        fakes.run(),
        fakes.crash("KeyError"),
        fakes.cost(),
        Notice("x", 0),
        ProbeFault("p", "e", 0),
        fakes.end(),
    ]
    assert not digested(*silent).result([]).torch_seen
    assert digested(*silent, fakes.model({"net": "Net"})).result([]).torch_seen


def test_the_last_cost_holds() -> None:
    assert digested(fakes.cost(step=1), fakes.cost(step=7)).result([]).cost == fakes.cost(step=7)


def test_a_fault_told_twice_is_shown_once() -> None:
    fault = ProbeFault("the optimizer probe", "ValueError: no", 3)
    other = ProbeFault("check dead-relu", "KeyError: x", 4)
    assert digested(fault).result([], faults=[fault, other]).faults == (fault, other)


@pytest.mark.parametrize("severity", ["error", "warning", "note"])
def test_the_verdict_is_the_judges(severity: str) -> None:
    findings = [fakes.finding(severity=severity)]
    assert digested().result(findings).verdict == verdict(findings)


def test_a_child_that_never_spoke_still_has_a_name() -> None:
    result = digested().result([], exit_code=-11)
    assert (result.script, result.outcome, result.run) == ("train.py", "crashed", None)


def test_without_a_first_record_paths_are_those_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert digested().result([]).folder == str(tmp_path)
    assert digested(fakes.run(folder="/elsewhere")).result([]).folder == "/elsewhere"


def test_a_deleted_working_folder_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert digested().result([]).folder is None
