"""torch-debugger runs: the table as text, at the widths that terminals have."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest
from rich.console import Console
from torch.utils.tensorboard import SummaryWriter

from tests.runlog.logs import scalars, write
from torch_debugger.cli import main
from torch_debugger.records import EndFact, HparamsFact, RunFact
from torch_debugger.report.run_lines import RunLine, differing_hparams, render_runs

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
        "run     status    verdict        steps  loss  when",
        "theirs  unknown   not watched        7   2.5  0 s ago",
        "ours1   finished  nothing found      9     9  2001-09-09",
        "ours0   finished  nothing found      9     9  2001-09-09",
    ]


def test_a_wide_terminal_shows_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path)

    lines = listed(capsys, str(tmp_path), "--sort", "name", columns=200)

    assert lines[0].split() == [
        "run",
        "status",
        "verdict",
        "steps",
        "loss",
        "curve",
        "took",
        "when",
        "what",
        "differs",
    ]
    assert lines[1].endswith("2001-09-09  lr=0.1 batch=32")
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
def test_sorted_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sort: str, order: list[str]
) -> None:
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

    assert (
        lines[2]
        == "torn: events.out.tfevents.1 is no event file in spite of its name; nothing was read from it."
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = ["x" * 300, "short", "a/b c"]
    now = time.time()
    lines = [
        RunLine(
            name,
            "finished",
            "missing-zero-grad",
            "error",
            10**9,
            float("nan"),
            [1.0] * 9,
            1e6,
            now,
            {"lr": name},
        )
        for name in names
    ]
    console = Console(file=io.StringIO(), width=width)

    render_runs(lines, console)

    assert max(map(len, console.file.getvalue().splitlines())) <= width  # type: ignore[attr-defined]


def test_only_what_differs_is_shown() -> None:
    assert differing_hparams([{"lr": 1, "seed": 1}, {"lr": 1, "seed": 2}, {"lr": 1, "seed": 1, "new": 0}]) == [
        "seed",
        "new",
    ]
    assert differing_hparams([{"lr": 1}]) == [] == differing_hparams([])
