"""A run of ours, asked for what it knows: while it goes on, after it ended, and of many ranks."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.runlog.logs import LAYERS, WEIGHTS, event_file, faces, rows, scalars, small_run, write
from torch_debugger.log import run_facts as status
from torch_debugger.log.decoder_records import Decoder
from torch_debugger.log.run import Run
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import EndFact, HparamsFact, Notice, RunFact, Scalars, SeedFact, Surroundings, TensorRows
from torch_debugger.system.errors import DebuggerError

RUN = RunFact("train.py", ("--lr", "1"), "/x", os.getpid(), time.time(), "3", "2", "cpu", "1", 0.02, False)
AROUND = Surroundings(("python", "train.py"), "train.py", "abc", "")


def ended(outcome: str) -> EndFact:
    return EndFact(outcome, 300, "optimizer steps")


def test_every_record_comes_back(tmp_path: Path) -> None:
    write(tmp_path, small_run())
    run = Run(tmp_path)

    assert faces(run.records()) == faces(small_run())
    assert faces(run.records(Notice)) == faces(record for record in small_run() if isinstance(record, Notice))
    both = [record for record in small_run() if isinstance(record, (Scalars, EndFact))]
    assert faces(run.records(Scalars, EndFact)) == faces(both)


def test_curves_beside_records(tmp_path: Path) -> None:
    write(tmp_path, small_run())
    run = Run(tmp_path)

    assert run.tags == {"scalars": ["loss", "lr/0", "eval/accuracy", "grad_norm"]}
    assert run.scalars("loss").steps.tolist() == [1, 2, 3, 300]
    assert str(run.scalars("loss").values.tolist()) == "[1.0, 2.0, nan, 300.0]"
    assert run.steps == 300 and run.damage == []


def test_the_records_of_one_step_alone_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, [Notice(f"step {step}", step) for step in range(100)])
    decoded: list[bytes] = []
    decode = Decoder.decode
    monkeypatch.setattr(Decoder, "decode", lambda self, each: (decoded.append(each), decode(self, each))[1])
    assert list(Run(tmp_path).records_at(7, Notice)) == [Notice("step 7", 7)]
    assert len(decoded) == 1


def test_some_records_are_spread_over_the_run_and_end_with_the_last(tmp_path: Path) -> None:
    write(tmp_path, [Notice("even" if step % 2 == 0 else "odd", step) for step in range(1000)])
    run = Run(tmp_path)
    some = [notice.step for notice in run.some_records(100, Notice)]
    assert 80 <= len(some) <= 100 and some[0] < 20 and some[-1] == 999
    assert len(set(np.diff(some))) == 1
    assert {notice.text for notice in run.some_records(100, Notice)} == {"even", "odd"}
    assert [notice.step for notice in run.some_records(1000, Notice)] == list(range(1000))
    assert run.last_record(Notice) == Notice("odd", 999)
    assert run.last_record(EndFact) is None


def test_rows_by_kind_root_and_step(tmp_path: Path) -> None:
    other = dataclasses.replace(LAYERS, root="critic")
    write(tmp_path, [rows(2), rows(1), rows(1, WEIGHTS), rows(3, other)])
    run = Run(tmp_path)

    assert [each.step for each in run.rows("activation")] == [1, 2, 3]
    assert [each.step for each in run.rows("activation", "net")] == [1, 2]
    assert faces(run.rows("parameter")) == faces([rows(1, WEIGHTS)])
    assert run.rows("update") == []


def test_what_a_run_says_of_itself(tmp_path: Path) -> None:
    found = HparamsFact({"lr": 0.1, "name": "adam"}, "args", 0)
    write(tmp_path, [RUN, AROUND, found, SeedFact({"torch": 1}, 0), SeedFact({"numpy": 2}, 0), ended("finished")])
    facts = Run(tmp_path).facts

    assert facts.run == RUN and facts.end == ended("finished") and facts.surroundings == AROUND
    assert facts.hparams == {"lr": 0.1, "name": "adam"} and facts.seeds == {"torch": 1, "numpy": 2}


@pytest.mark.parametrize("outcome", ["finished", "crashed", "stopped"])
def test_a_run_says_how_it_ended(tmp_path: Path, outcome: str) -> None:
    write(tmp_path, [RUN, ended(outcome)])
    assert Run(tmp_path).status == outcome


def test_a_run_without_an_end_is_running_while_its_process_lives(tmp_path: Path) -> None:
    write(tmp_path / "alive", [RUN])
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write(tmp_path / "gone", [dataclasses.replace(RUN, pid=gone.pid)])
    write(tmp_path / "number used again", [dataclasses.replace(RUN, started=100.0)])

    states = {path.name: Run(path).status for path in tmp_path.iterdir()}

    assert states == {"alive": "running", "gone": "killed", "number used again": "killed"}


def test_a_run_of_another_machine_is_unknown_once_it_is_silent(tmp_path: Path) -> None:
    write(tmp_path, [RUN])
    path = event_file(tmp_path).rename(tmp_path / "events.out.tfevents.1.elsewhere.2")
    assert Run(tmp_path).status == "running"

    os.utime(path, (1000, 1000))
    assert Run(tmp_path).status == "unknown"


RESULT = {
    "outcome": "crashed",
    "verdict": 0,
    "findings": [
        {
            "check": "TD501", "name": "lr-too-high", "severity": "error", "status": "stable",
            "confidence": "nan", "message": "m", "why": "w", "fix": "f",
            "where": {"module": "net", "file": "a.py", "line": 3},
            "first_step": 1, "last_step": 9, "evidence": {"lr": 10.0},
            "edit": {"file": "a.py", "line": 3, "before": "b", "after": "c"}, "symptom_of": None,
        },
        {
            "check": "TD601", "name": "nan-loss", "severity": "error", "status": "stable", "confidence": 0.9,
            "message": "m", "why": "w", "fix": "f", "where": {"module": None, "file": None, "line": None},
            "first_step": 1, "last_step": 9, "evidence": {}, "edit": None, "symptom_of": 0,
        },
    ],
}  # fmt: skip


def test_findings_are_those_beside_the_log(tmp_path: Path) -> None:
    write(tmp_path, [RUN])
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    run = Run(tmp_path)

    assert [finding.name for finding in run.findings] == ["lr-too-high", "nan-loss"]
    assert run.verdict is run.findings[0]
    assert run.findings[0].where.file == "a.py" and run.findings[0].edit is not None
    assert run.findings[1].symptom_of == "lr-too-high"
    assert run.status == "crashed"


@pytest.mark.parametrize("exit_code", [-9, 137])
def test_a_run_that_sigkill_ended_was_killed_and_may_have_been_further_than_its_log(
    tmp_path: Path, exit_code: int
) -> None:
    write(tmp_path, [RUN, Scalars(7, 1.0, {"loss": 1.0})])
    result = {"outcome": "crashed", "findings": [], "steps": 12, "exit_code": exit_code}
    (tmp_path / "result.json").write_text(json.dumps(result))
    run = Run(tmp_path)

    assert (run.status, run.steps, run.exit_code) == ("killed", 12, exit_code)


def test_a_run_recorded_anew_in_a_folder_is_not_mixed_with_the_deleted_one(tmp_path: Path) -> None:
    write(tmp_path, [RUN, *(Scalars(step, 1.0 + step, {"loss": 9.0, "old": 1.0}) for step in range(20))])
    run = Run(tmp_path)
    aside = run.judge_aside(patience_s=30)
    assert run.steps == 19
    run.findings  # noqa: B018
    event_file(tmp_path).rename(tmp_path / "moved away")
    assert not run.poll() and run.steps == 19, "a folder that is out of reach for a moment"

    bad = [Scalars(step, 1.0 + step, {"loss": float("nan") if step > 3 else 1.0}) for step in range(9)]
    write(tmp_path, [RUN, *bad, ended("finished")])
    event_file(tmp_path).rename(tmp_path / "events.out.tfevents.9999999999.anew")

    assert run.poll()
    assert (len(run.scalars("loss")), run.tags["scalars"], run.damage) == (9, ["loss"], [])
    assert run.verdict is not None
    assert aside.step is None


def test_findings_are_judged_again_where_none_were_written(tmp_path: Path) -> None:
    bad = [Scalars(step, 1.0 + step, {"loss": float("nan") if step > 3 else 1.0}) for step in range(9)]
    write(tmp_path, [RUN, *bad, ended("finished")])
    run = Run(tmp_path)

    assert run.verdict is not None and run.verdict.first_step == 4
    assert run.findings is run.findings


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    run = Run(tmp_path)
    for step in range(100):
        log.add(scalars(step, "loss"))
        if step % 40 == 0:
            log.flush()
            assert run.poll()
            assert len(run.scalars("loss")) == step + 1
    log.close()
    assert len(run.scalars("loss")) == 81  # until it is asked to look again
    assert run.poll() and not run.poll()
    assert run.scalars("loss").steps.tolist() == list(range(100))


def test_following_ends_with_the_run(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    log.add(RUN)
    log.add(scalars(1, "loss"))
    log.flush()

    def go_on() -> None:
        log.add(scalars(2, "loss"))
        log.flush()
        log.add(ended("finished"))
        log.close()

    seen = []
    for run in Run(tmp_path).follow(pause_s=0.01):
        seen.append(len(run.scalars("loss")))
        if len(seen) == 1:
            threading.Thread(target=go_on).start()

    assert seen[0] == 1 and seen[-1] == 2 and run.status == "finished"


def test_files_of_one_run_are_read_as_one(tmp_path: Path) -> None:
    """Rotated, or of a process that went on."""
    write(tmp_path, [RUN, scalars(1, "loss"), rows(1)])
    event_file(tmp_path).rename(tmp_path / "events.out.tfevents.1")
    write(tmp_path, [scalars(2, "loss", "lr"), rows(2), ended("finished")])
    run = Run(tmp_path)

    assert run.scalars("loss").steps.tolist() == [1, 2]
    assert run.scalars("lr").steps.tolist() == [2]
    assert [each.step for each in run.rows("activation")] == [1, 2]
    assert run.facts.end is not None and list(run.ranks) == [0]


def test_each_rank_has_its_own_curve(tmp_path: Path) -> None:
    for rank in (1, 0, 2):
        write(
            tmp_path / str(rank),
            [dataclasses.replace(AROUND, rank=rank), scalars(10 + rank, "loss", f"only{rank}")],
        )
        event_file(tmp_path / str(rank)).rename(tmp_path / f"events.out.tfevents.{5 - rank}")
    run = Run(tmp_path)

    assert list(run.ranks) == [0, 1, 2]
    assert run.scalars("loss").steps.tolist() == [10]
    assert [run.ranks[rank].scalars("loss").steps.tolist() for rank in range(3)] == [[10], [11], [12]]
    assert run.scalars("only2").steps.tolist() == [12]
    assert run.ranks[1].tags == {"scalars": ["loss", "only1"]}


def test_a_rank_in_the_name_of_a_file_counts(tmp_path: Path) -> None:
    for rank in (0, 11):
        write(tmp_path / str(rank), [scalars(rank, "loss")])
        event_file(tmp_path / str(rank)).rename(tmp_path / f"events.out.tfevents.1.host.2.rank{rank}")

    assert list(Run(tmp_path).ranks) == [0, 11]


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    first, second = LogWriter(tmp_path, on_fault=print), LogWriter(tmp_path, on_fault=print)
    for step in range(30):
        first.add(scalars(step, "a"))
        second.add(scalars(step, "b"))
    first.close()
    second.close()
    run = Run(tmp_path)

    assert run.scalars("a").steps.tolist() == run.scalars("b").steps.tolist() == list(range(30))


def test_a_tag_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    write(tmp_path, [scalars(1, "loss", "lr/0")])
    run = Run(tmp_path, "first")

    with pytest.raises(KeyError) as error:
        run.scalars("los")
    assert str(error.value) == "The run 'first' has no scalars 'los'. There are 'loss', and 1 more."
    with pytest.raises(DebuggerError, match=r"has no pictures 'x'\. There are none at all\."):
        run.pictures("x")


def test_tensor_rows_are_decoded_when_asked(tmp_path: Path) -> None:
    write(tmp_path, [rows(1)])
    (found,) = Run(tmp_path).records(TensorRows)
    assert faces([found]) == faces([rows(1)])


@pytest.mark.parametrize("home", ["torch.utils.tensorboard", "torch_debugger"])
def test_following_ends_when_a_summary_writer_is_closed(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_GRACE_S", 0.0)
    writer = importlib.import_module(home).SummaryWriter(str(tmp_path))
    writer.add_scalar("loss", 1.0, 1)
    writer.flush()

    seen = []
    for run in Run(tmp_path).follow(pause_s=0.05):
        seen.append(len(run.scalars("loss")))
        if len(seen) == 1:
            writer.add_scalar("loss", 2.0, 2)
            threading.Timer(0.3, writer.close).start()

    assert seen[-1] == 2 and run.status == "unknown"


def test_what_is_written_just_before_the_end_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, [scalars(1, "loss")])
    run = Run(tmp_path)

    def write_and_end() -> bool:
        monkeypatch.setattr(run, "_is_silent", lambda: True)
        write(tmp_path, [scalars(2, "loss")])
        return True

    monkeypatch.setattr(run, "_is_silent", write_and_end)
    assert [len(run.scalars("loss")) for _ in run.follow(pause_s=0.0)] == [1, 2]


def test_a_log_whose_writer_cannot_be_told_ends_with_a_long_silence(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    now = time.time()

    for paths in ([str(path)], []):
        assert status.may_grow(paths, now - 500)
        assert not status.may_grow(paths, now - 700)
