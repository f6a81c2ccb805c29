"""Runs of other trackers become logs of ours; what is none is refused in a sentence."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from wandb.proto.wandb_internal_pb2 import Record

import torch_debugger
from torch_debugger.cli import main
from torch_debugger.integrations import import_runs as adopting
from torch_debugger.integrations import import_runs as mlflow_runs
from torch_debugger.integrations.import_runs import adopt, find_foreign_runs, read_mlflow_folder
from torch_debugger.integrations.import_wandb import read_wandb_run
from torch_debugger.integrations.imported_run import ForeignRun
from torch_debugger.log import writer as waiting
from torch_debugger.system.errors import UsageError


@pytest.fixture
def mlruns(tmp_path: Path) -> Path:
    """As MLflow's file store lays it out."""
    run = tmp_path / "mlruns" / "0" / "3860baff"
    for folder in ("metrics/eval", "params", "tags"):
        (run / folder).mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: 3860baff\nstatus: 3\n")
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("experiment_id: '0'\n")
    (run / "metrics" / "loss").write_text("1700000000100 2.0 1\n1700000000200 nan 2\n")
    (run / "metrics" / "eval" / "accuracy").write_text("1700000000200 0.5 2\n")
    (run / "params" / "lr").write_text("0.1")
    (run / "tags" / "mlflow.runName").write_text("../bold/run")
    return tmp_path / "mlruns"


def test_an_mlruns_folder_is_taken_in(mlruns: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = tmp_path / "runs"
    assert main(["import-runs", str(mlruns), "--into", str(into)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{into}/_bold_run  2 rows, 1 hyperparameters"
    (run,) = torch_debugger.runs(into)
    loss = run.scalars("loss")
    assert list(loss.steps) == [1, 2] and loss.values[0] == 2.0 and math.isnan(loss.values[1])
    assert run.scalars("eval/accuracy").values == [0.5]
    assert run.hparams == {"lr": "0.1"}
    assert (run.status, run.steps) == ("finished", 2)


def test_a_run_taken_in_again_is_the_same_run_as_it_is_now(mlruns: Path, tmp_path: Path) -> None:
    into = tmp_path / "runs"
    (into / "_bold_run").mkdir(parents=True)  # of somebody else
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    for _ in range(2):
        assert main(["import-runs", str(mlruns), "--into", str(into)]) == 0
        loss.write_text(loss.read_text() + "1700000000300 1.0 3\n")
    found = torch_debugger.runs(into)
    assert found.names == ["_bold_run-2"]
    assert list(found[0].scalars("loss").steps) == [1, 2, 3]


@pytest.mark.parametrize(("status", "outcome"), [("1", "unknown"), ("4", "crashed"), ("5", "killed")])
def test_how_an_mlflow_run_ended(mlruns: Path, tmp_path: Path, status: str, outcome: str) -> None:
    (mlruns / "0" / "3860baff" / "meta.yaml").write_text(f"run_id: 3860baff\nstatus: {status}\n")
    assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
    assert torch_debugger.runs(tmp_path / "runs")[0].status == outcome


def test_what_holds_no_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no runs that can be read: neither"):
        find_foreign_runs(tmp_path, print)
    with pytest.raises(UsageError, match=r"There is no .*gone to take runs from\."):
        find_foreign_runs(tmp_path / "gone", print)
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(UsageError, match=r"is no database of MLflow's that can be read: no such table: runs\."):
        find_foreign_runs(tmp_path / "other.db", print)
    assert main(["import-runs", str(tmp_path / "other.db")]) == 2


BEGINNING = b":W&B\xe1\xbe\x00"


@pytest.mark.parametrize(
    ("content", "damaged_from"),
    [
        (b"", 0),
        (b":W&B", 0),
        (bytes(7), 0),
        (b"\x9c" * 40_000, 0),
        (BEGINNING + bytes(100), 7),
        (BEGINNING + b"\xff" * 99, 7),
        (BEGINNING + bytes(3), 7),
    ],
)
def test_a_file_that_is_none_of_wandb_s_gives_an_empty_run_and_is_named(
    content: bytes, damaged_from: int, tmp_path: Path
) -> None:
    path = tmp_path / "run-x.wandb"
    path.write_bytes(content)
    run = read_wandb_run(tmp_path, path)
    assert run.points == []
    assert run.damaged == [f"{path} is damaged from its byte {damaged_from} on; the rest of it is not read."]


def leveldb(record: Record) -> bytes:
    payload = record.SerializeToString()
    checked = b"\x01" + payload
    return zlib.crc32(checked).to_bytes(4, "little") + len(payload).to_bytes(2, "little") + checked


def history(**row: str) -> bytes:
    record = Record()
    for key, value in row.items():
        record.history.item.add(key=key, value_json=value)
    return leveldb(record)


def test_of_a_wandb_file_the_rows_before_the_damage_are_kept(tmp_path: Path) -> None:
    path, rows = tmp_path / "run-x.wandb", [history(_step=str(step), loss="0.5") for step in range(5)]
    whole = BEGINNING + b"".join(rows)
    third, length = len(BEGINNING) + 3 * len(rows[0]), len(rows[0])
    flipped = bytearray(whole)
    flipped[third + length - 3] ^= 1  # within a number: only the checksum tells
    for content in (whole[: third + 3], whole[: third + length - 1], flipped, whole[:third] + bytes(50)):
        path.write_bytes(content)
        run = read_wandb_run(tmp_path, path)
        assert [point.step for point in run.points] == [0, 1, 2]
        assert run.damaged == [f"{path} is damaged from its byte {third} on; the rest of it is not read."]
    path.write_bytes(whole)
    assert read_wandb_run(tmp_path, path).damaged == []


def test_a_record_in_chunks_is_put_together_and_its_torn_end_is_named(tmp_path: Path) -> None:
    first, large = history(_step="0", loss="0.5"), Record()
    large.history.item.add(key="_step", value_json="1")
    large.history.item.add(key="note", value_json=json.dumps("x" * 50_000))
    payload = large.SerializeToString()
    room = 32768 - len(BEGINNING) - len(first) - 7
    chunks = b""
    for kind, part in ((2, payload[:room]), (4, payload[room:])):
        checked = bytes([kind]) + part
        chunks += zlib.crc32(checked).to_bytes(4, "little") + len(part).to_bytes(2, "little") + checked
    path = tmp_path / "run-x.wandb"
    path.write_bytes(BEGINNING + first + chunks)
    run = read_wandb_run(tmp_path, path)
    assert ([point.step for point in run.points], run.damaged) == ([0, 1], [])
    path.write_bytes(BEGINNING + first + chunks[: 7 + room])  # whole chunks, but the last of them is missing
    run = read_wandb_run(tmp_path, path)
    assert [point.step for point in run.points] == [0]
    start = len(BEGINNING) + len(first)
    assert run.damaged == [f"{path} is damaged from its byte {start} on; the rest of it is not read."]


def test_rows_of_wandb_without_a_step_that_fits_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run-x.wandb"
    steps = ["1", "99999999999999999999999", "2.5", '"NaN"', "1e999", "-9223372036854775809", '"x"', "3.0"]
    odd = history(_step="4", loss="9" * 5000)  # more digits than Python takes: this record alone is left out
    path.write_bytes(BEGINNING + b"".join(history(_step=step, loss="0.5") for step in steps) + odd)
    told: list[str] = []
    (run,) = find_foreign_runs(path, told.append)
    assert [point.step for point in run.points] == [1, 3]
    assert told == [
        f"{path}: rows left out, as their step is no whole number of 64 bits: 6.",
        f"{path}: records left out, as they hold something else than W&B writes: 1.",
    ]


def test_the_config_that_a_wandb_run_began_with_is_kept(tmp_path: Path) -> None:
    begun, changed, ended = Record(), Record(), Record()
    begun.run.run_id = "abc"
    for key, value in {"_wandb": {"t": 1}, "lr": 0.1, "opt": {"name": "adam", "betas": [1]}, "bs": 32}.items():
        begun.run.config.update.add(key=key, value_json=json.dumps(value))
    changed.config.update.add(key="lr", value_json="0.2")
    ended.exit.exit_code = 1
    path = tmp_path / "run-abc.wandb"
    path.write_bytes(BEGINNING + b"".join(map(leveldb, (begun, changed, ended))))

    run = read_wandb_run(tmp_path, path)

    assert run.hparams == {"lr": 0.2, "opt.name": "adam", "bs": 32}
    assert (run.identity, run.name, run.outcome) == ("wandb-abc", "abc", "crashed")


def test_links_are_not_followed(mlruns: Path, tmp_path: Path) -> None:
    """A folder that somebody hands over must not bring a file of this machine into a log."""
    run = mlruns / "0" / "3860baff"
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes").write_text("1700000000100 7.0 1\nnobody's business")
    (run / "params" / "leaked").symlink_to(tmp_path / "private" / "notes")
    (run / "metrics" / "leaked").symlink_to(tmp_path / "private" / "notes")
    (run / "metrics" / "all").symlink_to(tmp_path / "private", target_is_directory=True)
    (run / "artifacts").symlink_to(tmp_path / "private", target_is_directory=True)
    (tmp_path / "private" / "result.json").write_text("{}")
    (mlruns / "elsewhere.wandb").symlink_to(tmp_path / "private" / "notes")
    (found,) = find_foreign_runs(mlruns, print)
    assert found.hparams == {"lr": "0.1"}
    assert {name for point in found.points for name in point.values} == {"loss", "eval/accuracy"}
    assert found.result == ""


def test_a_database_names_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    for folder in ("given/inside", "private"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "result.json").write_text(folder)
    with closing(sqlite3.connect(tmp_path / "given" / "mlflow.db")) as store, store:
        store.execute("create table runs (run_uuid, name, status, artifact_uri, lifecycle_stage)")
        store.execute("create table params (run_uuid, key, value)")
        store.execute("create table metrics (run_uuid, key, value, step, timestamp, is_nan)")
        for name, folder in (("a", tmp_path / "given" / "inside"), ("b", tmp_path / "private")):
            store.execute("insert into runs values (?, ?, 'FINISHED', ?, 'active')", [name, name, folder.as_uri()])
    found = find_foreign_runs(tmp_path / "given" / "mlflow.db", print)
    assert [run.result for run in found] == ["given/inside", ""]


def test_a_fifo_is_not_waited_for(mlruns: Path) -> None:
    for name in ("params/pipe", "metrics/pipe", "tags/pipe"):
        os.mkfifo(mlruns / "0" / "3860baff" / name)
    os.mkfifo(mlruns / "run.wandb")
    (found,) = find_foreign_runs(mlruns, print)
    assert found.hparams == {"lr": "0.1"}


def test_what_is_damaged_is_named_and_the_rest_is_taken_in(mlruns: Path, tmp_path: Path) -> None:
    shutil.copytree(mlruns / "0" / "3860baff", mlruns / "0" / "damaged")
    (mlruns / "0" / "damaged" / "meta.yaml").write_text("run_id: damaged\nstatus: 3\n")
    torn = mlruns / "0" / "damaged" / "metrics" / "loss"
    torn.write_text("1700000000100 2.0 1\n17000000002")
    (mlruns / "mlflow.db").write_bytes(b"no database" * 99)
    told: list[str] = []
    assert len(find_foreign_runs(mlruns, told.append)) == 2
    assert told == [
        f"{mlruns / 'mlflow.db'} is no database of MLflow's that can be read: file is not a database.",
        f"{torn}:2 is no `timestamp value step`; the line is left out.",
    ]
    assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
    assert len(torch_debugger.runs(tmp_path / "runs")) == 2


def test_a_file_of_nothing_but_torn_lines_is_not_read_to_its_end(mlruns: Path) -> None:
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    loss.write_bytes(b"1700000000100 2.0 1\n" + b"\n" * 2_000_000)
    run = read_mlflow_folder(mlruns, mlruns / "0" / "3860baff")
    assert len(run.damaged) == 21
    assert run.damaged[-1] == f"{loss} is not read any further: so are too many of its lines."
    assert [(point.step, point.values) for point in run.points] == [
        (1, {"loss": 2.0}),
        (2, {"eval/accuracy": 0.5}),
    ]


def test_of_a_run_with_more_numbers_than_fit_the_first_are_taken(mlruns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_runs, "_MOST_ROWS", 100)
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    loss.write_text("".join(f"1700000000100 2.0 {step}\n" for step in range(1000)))
    told: list[str] = []
    (run,) = find_foreign_runs(mlruns, told.append)
    assert len(run.points) == 100
    assert told == ["The run 3860baff has more than 100 numbers; the rest is left out."]


def test_what_is_too_large_for_a_hyperparameter_is_left_out_by_itself(mlruns: Path) -> None:
    run = mlruns / "0" / "3860baff"
    (run / "params" / "big").write_bytes(b" " * 2_000_000)
    (run / "metrics" / "line").write_bytes(b"1" * 2_000_000)
    found, told = taken_in(mlruns)
    assert found[0].hparams == {"lr": "0.1"} and len(found[0].points) == 2
    assert told == [
        f"{run / 'metrics' / 'line'}:1 is no `timestamp value step`; the line is left out.",
        f"{run / 'params' / 'big'} is left out: it is larger than 1,000,000 bytes.",
    ]


def taken_in(source: Path) -> tuple[list[ForeignRun], list[str]]:
    told: list[str] = []
    return find_foreign_runs(source, told.append), told


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/etc/hosts"), os.mkfifo])
@pytest.mark.parametrize("name", ["meta.yaml", "metrics/x", "params/x", "tags/x", "artifacts/result.json"])
def test_links_and_pipes_are_named_and_the_rest_is_taken_in(
    mlruns: Path, make: Callable[[Path], None], name: str
) -> None:
    path = mlruns / "0" / "3860baff" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    make(path)
    (run,), told = taken_in(mlruns)
    assert run.hparams == {"lr": "0.1"} and len(run.points) == 2
    assert run.outcome == ("" if name == "meta.yaml" else "finished")
    assert told == [f"{path} is left out: it is {'a link' if path.is_symlink() else 'no regular file'}."]


@pytest.mark.parametrize("folder", ["metrics", "params", "tags", "artifacts"])
def test_a_folder_that_is_a_link_costs_the_run_no_more_than_that_folder(
    mlruns: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "lr").write_text("7")
    path = mlruns / "0" / "3860baff" / folder
    shutil.rmtree(path, ignore_errors=True)
    path.symlink_to(tmp_path / "private", target_is_directory=True)
    (run,), told = taken_in(mlruns)
    assert told == [f"{path} is left out: it is a link."]
    assert run.hparams == ({} if folder == "params" else {"lr": "0.1"})
    assert len(run.points) == (0 if folder == "metrics" else 2)


def test_a_link_to_what_is_read_anyway_is_not_named(mlruns: Path, tmp_path: Path) -> None:
    """As W&B makes one to the latest run; a link to a run of another folder is named."""
    (mlruns / "latest").symlink_to("0", target_is_directory=True)
    (mlruns / "debug.log").symlink_to("0/meta.yaml")
    assert len(taken_in(mlruns)[0]) == 1 and not taken_in(mlruns)[1]
    (tmp_path / "others").mkdir()
    (mlruns / "others").symlink_to(tmp_path / "others", target_is_directory=True)
    assert taken_in(mlruns)[1] == [f"{mlruns / 'others'} is left out: it is a link."]


def test_links_of_wandb_are_named_though_there_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        (tmp_path / f"run-{number:02}.wandb").symlink_to("/etc/hosts")
    assert main(["import-runs", str(tmp_path), "--into", str(tmp_path / "runs")]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].endswith(f"{tmp_path / 'run-00.wandb'} is left out: it is a link.")
    assert told[20:] == ["and 10 more that are damaged.", f"{tmp_path} holds no runs that can be read."]


@pytest.mark.parametrize("content", ["", "run_id: 3860baff\nsta", "status: 3\nrun_id: 386", "a: 1\n"])
def test_a_torn_meta_file_is_named(mlruns: Path, content: str) -> None:
    path = mlruns / "0" / "3860baff" / "meta.yaml"
    path.write_text(content)
    (run,), told = taken_in(mlruns)
    assert len(run.points) == 2 and run.hparams == {"lr": "0.1"}
    assert told == [f"{path} is damaged: it breaks off, or says no status."]


def test_rows_of_mlflow_without_a_step_that_fits_are_counted(mlruns: Path, tmp_path: Path) -> None:
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    huge = "".join(f"1700000000100 2.0 {10**22 + step}\n" for step in range(30))
    loss.write_text(f"{huge}1700000000100 2.0 1.5\n{'9' * 400} 2.0 1\n1700000000100 2.0 {2**63 - 1}\n")
    (run,), told = taken_in(mlruns)
    assert [point.step for point in run.points] == [2, 2**63 - 1]
    assert told == [
        f"{loss}:32 is no `timestamp value step`; the line is left out.",
        f"{loss}: rows left out, as their step is no whole number of 64 bits: 31.",
    ]
    assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
    assert torch_debugger.runs(tmp_path / "runs")[0].steps == 2**63 - 1


def test_of_a_damaged_database_all_is_taken_in_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("create table runs (run_uuid, name, status, artifact_uri, lifecycle_stage)")
        store.execute("create table params (run_uuid, key, value)")
        store.execute("create table metrics (run_uuid, key, value, step, timestamp, is_nan)")
        for number, uri in (("a", "http://["), ("b", "x\0y"), ("c", b"\xff"), ("d", None)):
            store.execute("insert into runs values (?, ?, 'FINISHED', ?, 'active')", [number, number, uri])
            store.execute("insert into params values (?, 'lr', 0.1)", [number])
        store.execute("insert into params values ('a', 'blob', ?)", [b"\xff"])
        for value, step, time in (
            (2.0, 1, 5),
            (1.0, "1" * 30, 5),
            (1.0, 1e300, 5),
            ("x", 2, 5),
            (1.0, 3, "9" * 400),
        ):
            store.execute("insert into metrics values ('a', 'loss', ?, ?, ?, 0)", [value, step, time])
    found, told = taken_in(path)
    assert [(run.name, run.hparams) for run in found] == [(name, {"lr": 0.1}) for name in "abcd"]
    assert [point.step for point in found[0].points] == [1]
    assert told == [
        f"The run a in {path} is damaged: Invalid IPv6 URL.",
        f"The run a in {path}: rows left out, as they are no numbers: 2.",
        f"The run a in {path}: rows left out, as their step is no whole number of 64 bits: 2.",
        f"The run a in {path}: hyperparameters left out, as they are no text, or too long: 1.",
    ]


def test_a_name_moves_no_cursor(mlruns: Path) -> None:
    (mlruns / "0" / "3860baff" / "params" / "a\x1b[2J\n").symlink_to("/etc/hosts")
    assert taken_in(mlruns)[1] == [f"{mlruns}/0/3860baff/params/a\\x1b[2J\\n is left out: it is a link."]


def test_no_row_is_lost_to_a_log_that_is_slower_than_its_reader(
    mlruns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_RECORDS", 100)
    monkeypatch.setattr(adopting, "_WRITTEN_TOGETHER", 50)
    loss = mlruns / "0" / "3860baff" / "metrics" / "loss"
    loss.write_text("".join(f"1700000000100 2.0 {step}\n" for step in range(5000)))
    assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
    assert len(torch_debugger.runs(tmp_path / "runs")[0].scalars("loss").steps) == 5000


def test_long_names_are_shortened(mlruns: Path, tmp_path: Path) -> None:
    long = mlruns / "0" / ("n" * 250)
    shutil.copytree(mlruns / "0" / "3860baff", long)
    (long / "tags" / "mlflow.runName").write_text("ü" * 5000)
    for _ in range(2):
        assert main(["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]) == 0
        assert torch_debugger.runs(tmp_path / "runs").names == ["_bold_run", "ü" * 100]


def test_a_run_whose_log_cannot_be_written_leaves_the_others(
    mlruns: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(run: ForeignRun, into: Path, tell: Callable[[str], None]) -> Path:
        if run.identity == "mlflow-3860baff":
            raise OSError(errno.ENOSPC, "No space left on device")
        return adopt(run, into, tell)

    monkeypatch.setattr(adopting, "adopt", full)
    arguments = ["import-runs", str(mlruns), "--into", str(tmp_path / "runs")]
    assert main(arguments) == 2
    assert "The run ../bold/run is left out: No space left on device." in capfd.readouterr().err
    shutil.copytree(mlruns / "0" / "3860baff", mlruns / "0" / "another")
    assert main(arguments) == 0
    assert len(torch_debugger.runs(tmp_path / "runs")) == 1
