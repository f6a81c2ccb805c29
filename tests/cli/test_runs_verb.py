"""torch-debugger runs: the table as text, at the widths that terminals have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from tests import preloaded
from tests.runlog.logs import scalars, write
from torch_debugger.cli import main
from torch_debugger.log.run import Run
from torch_debugger.records import EndFact, HparamsFact, RunFact

RUN = RunFact("train.py", (), "/x", 1, 1_700_000_000.0, "3", "2", "cpu", "1", 0.02, False)
END = EndFact("finished", 9, "optimizer steps")


def make_runs(folder: Path) -> None:
    for number, lr in enumerate([0.1, 0.2]):
        hparams = HparamsFact({"lr": lr, "batch": 32}, "args", 0)
        curve = [scalars(step, "loss", "lr/0") for step in range(10)]
        write(folder / f"ours{number}", [RUN, hparams, *curve, END])
        (event_file,) = (folder / f"ours{number}").iterdir()
        os.utime(event_file, (1e9 + number, 1e9 + number))
    with SummaryWriter(str(folder / "theirs")) as writer:
        writer.add_scalar("Loss/train", 2.5, 7)
    (event_file,) = (folder / "theirs").iterdir()
    os.utime(event_file, (1e9 + 86_400, 1e9 + 86_400))


def listed(capsys: pytest.CaptureFixture[str], *words: str, columns: int = 80) -> list[str]:
    os.environ["COLUMNS"] = str(columns)
    assert main(["runs", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_table_of_eighty_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path)
    lines = listed(capsys, str(tmp_path))
    assert lines == [
        "run     status    verdict        steps  loss  when        lr   batch",
        "theirs  unknown   not watched        7   2.5  2001-09-10  -    -",
        "ours1   finished  nothing found      9     9  2001-09-09  0.2  32",
        "ours0   finished  nothing found      9     9  2001-09-09  0.1  32",
    ]


def test_settings_without_room_are_named_below_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path)
    write(tmp_path / "more", [RUN, HparamsFact({"a_long_name_of_a_setting": 0.5}, "args", 0), END])
    lines = listed(capsys, str(tmp_path))
    assert lines[0].endswith("when        lr   batch")
    assert " ".join(lines[-2:]) == (
        "No room for what differs in a_long_name_of_a_setting: a wider terminal or --json shows it."
    )
    assert listed(capsys, str(tmp_path), columns=120)[0].endswith("lr   a_long_name_of_a_setting  batch")


def test_a_run_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_runs(tmp_path)
    good = Run.facts.fget

    def facts(run: Run) -> object:
        if run.name == "ours1":
            raise TypeError("unhashable type")
        return good(run)

    monkeypatch.setattr(Run, "facts", property(facts))
    for sort in ("when", "name", "loss", "verdict"):
        lines = listed(capsys, str(tmp_path), "--sort", sort, columns=150)
        assert sorted(line.split()[0] for line in lines[1:4]) == ["ours0", "ours1", "theirs"]
        assert lines[4] == ("ours1: torch-debugger cannot read it, a fault of its own: TypeError: unhashable type")
    plain = {each["name"]: each for each in json.loads("".join(listed(capsys, str(tmp_path), "--json")))}
    assert plain["ours0"]["steps"] == 9 and plain["ours1"]["status"] == "unknown"


def test_a_wide_terminal_shows_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path)
    lines = listed(capsys, str(tmp_path), "--sort", "name", columns=200)
    assert lines[0].split() == ["run", "status", "verdict", "steps", "loss", "curve", "took", "when", "lr", "batch"]
    assert lines[1].endswith("2001-09-09  0.1  32")
    assert "⢀" in lines[1] or "⣀" in lines[1]
    assert lines[3].startswith("theirs")


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("when", ["theirs", "ours1", "ours0"]),
        ("name", ["ours0", "ours1", "theirs"]),
        ("loss", ["theirs", "ours0", "ours1"]),
        ("steps", ["ours0", "ours1", "theirs"]),
        ("status", ["ours0", "ours1", "theirs"]),
    ],
)
def test_sorted_as_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str], sort: str, order: list[str]) -> None:
    make_runs(tmp_path)
    lines = listed(capsys, str(tmp_path), "--sort", sort)
    assert [line.split()[0] for line in lines[1:]] == order


def test_the_rest_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path)
    lines = listed(capsys, str(tmp_path), "--limit", "1")
    assert len(lines) == 3
    assert lines[2] == "2 more of 3 runs are not shown; --limit 3 shows them all."


def test_the_same_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path)
    write(tmp_path / "bad", [RUN, scalars(1, "x"), *[]])
    plain = {each["name"]: each for each in json.loads("".join(listed(capsys, str(tmp_path), "--json")))}
    assert list(plain) != [] and set(plain) == {"ours0", "ours1", "theirs", "bad"}
    assert plain["ours1"]["hparams"] == {"lr": 0.2, "batch": 32}
    assert plain["ours1"]["loss"] == 9.0 and plain["ours1"]["verdict"] is None
    assert plain["theirs"]["tags"] == {"scalars": ["Loss/train"]} and plain["bad"]["loss"] is None


@pytest.mark.parametrize("words", [["--json"], []], ids=["json", "table"])
def test_a_reader_that_has_read_enough_is_no_fault(tmp_path: Path, words: list[str]) -> None:
    make_runs(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "torch_debugger", "runs", str(tmp_path), *words]
    done = preloaded.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.stderr == ""


def test_a_point_without_a_date_does_not_make_a_run_long(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 2.5, 7)
        writer.add_scalar("odd", 2.5, 7, walltime=1.0)
    duration_s = Run(tmp_path).duration_s
    assert duration_s is not None and duration_s < 60


def test_an_empty_folder_gets_helpful_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, str(tmp_path))
    assert lines[0] == f"No runs in {tmp_path}: there is no event file in it or below it."
    assert lines[1].startswith("`torch-debugger run train.py` keeps its log in runs;")


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_names_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a\x1b[31m[bold]b\nc", [scalars(1, "loss")])
    lines = listed(capsys, str(tmp_path))
    assert lines[1].startswith("a\\x1b[31m[bold]b c ")


def test_damage_is_told_below_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "events.out.tfevents.1").write_bytes(b"garbage of some length")
    lines = listed(capsys, str(tmp_path), columns=200)
    assert lines[2] == "torn: events.out.tfevents.1 is no event file in spite of its name; nothing was read from it."


def test_the_metrics_of_add_hparams_are_columns_beside_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, accuracy in enumerate([0.5, 0.75]):
        with SummaryWriter(str(tmp_path / f"run{number}")) as writer:
            writer.add_scalar("loss", 1.0, 1)
            writer.add_hparams({"lr": 0.1 * (number + 1)}, {"hparam/accuracy": accuracy})
    table = listed(capsys, "--sort", "name", str(tmp_path))
    assert table[0].split()[-2:] == ["lr", "accuracy"]
    assert [line.split()[-2:] for line in table[1:]] == [["0.1", "0.5"], ["0.2", "0.75"]]
    plain = json.loads("\n".join(listed(capsys, "--json", "--sort", "name", str(tmp_path))))
    assert [each["metrics"] for each in plain] == [{"hparam/accuracy": 0.5}, {"hparam/accuracy": 0.75}]


def test_folders_by_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path / "a")
    make_runs(tmp_path / "b")
    table = listed(capsys, "--sort", "name", f"old:{tmp_path}/a", f"new:{tmp_path}/b/ours1")
    assert [line.split()[0] for line in table[1:]] == ["old/ours0", "old/ours1", "old/theirs", "new"]
