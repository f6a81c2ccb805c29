"""`torch-debugger diff A B` and `torch_debugger.diff`: how runs are named, what is written, foreign logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tensorboardX import SummaryWriter as OtherWriter

import torch_debugger
from tests import fakes
from tests.archive.test_parting import training
from tests.runlog.logs import write
from torch_debugger.cli import main
from torch_debugger.system.errors import UsageError


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "old", training())
    write(tmp_path / "runs" / "new", training(20, lambda step, name, number: number * 1.5 if step > 4 else number))
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["diff", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_runs_are_found_by_name_folder_or_result(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pair / "runs" / "new" / "result.json").write_text("{}")
    by_name = said(capsys, "old", "new")
    assert by_name.startswith("The runs part at step 5, first in the weights of net.fc1.weight (norm ")
    assert said(capsys, "runs/old", str(pair / "runs" / "new")) == by_name
    assert said(capsys, "old", "runs/new/result.json") == by_name


def test_a_run_and_itself(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "old", "runs/old").startswith("The runs are the same: 20 steps, ")


def test_json_holds_the_whole_comparison(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "old", "new", "--json", "out.json")
    plain = json.loads(Path("out.json").read_text())
    assert plain["format"] == 1
    assert (plain["parting"]["gap"]["step"], plain["parting"]["gap"]["phase"]) == (5, "weights")
    assert plain["answer"].startswith("The runs part at step 5")
    assert plain["noise"][0]["chance"] is None, "not known, and JSON has no NaN"


def test_replicates_are_given_with_the_command(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(pair / "runs" / "old2", training(20, lambda step, name, number: number * 1.001))
    text = said(capsys, "old", "new", "--replicates", "old2")
    assert "old2 counts as a replicate of both runs, which it resembles alike." in text
    assert "times the spread of runs of one kind" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("old", "absent"),
            "There is no run absent. Name the folder of a log, a run under ./runs, or a result.json.",
        ),
        (("old", "empty"), "runs/empty holds no event file with numbers in it."),
        (("old", "new", "--json", "absent/x.json"), "cannot be written: No such file or directory."),
    ],
)
def test_what_cannot_be_compared_is_said(
    pair: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    (pair / "runs" / "empty").mkdir()
    assert main(["diff", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_run_of_the_archive_can_be_given(pair: Path) -> None:
    runs = torch_debugger.runs("runs")
    report = torch_debugger.diff(runs["old"], runs["new"])
    assert repr(report).startswith("<The runs part at step 5")
    assert "The runs part at step 5" in report._repr_html_()


def test_two_runs_of_one_name_are_called_by_their_folders(pair: Path) -> None:
    write(pair / "elsewhere" / "old", fakes.losses([1.0, 2.0]))
    comparison = torch_debugger.diff("old", "elsewhere/old").comparison
    assert (comparison.first, comparison.second) == ("runs/old", "elsewhere/old")


def test_logs_of_another_tool_are_compared_by_their_scalars(tmp_path: Path) -> None:
    for name, late in (("a", 0.0), ("b", 0.1)):
        with OtherWriter(str(tmp_path / name)) as writer:
            for step in range(20):
                writer.add_scalar("train/loss", 1 / (1 + step) + (late if step >= 15 else 0.0), step)
                writer.add_scalar("lr", 0.1, step)
                writer.add_scalar("time/epoch", step + late, step)
    report = torch_debugger.diff(tmp_path / "a", tmp_path / "b")
    gap = report.comparison.parting.gap
    assert gap is not None and (gap.step, gap.name) == (15, "train/loss")
    text = " ".join(str(report).split())
    assert text.startswith("The runs part at step 15, first in the loss train/loss (")
    assert text.endswith(
        "a and b are not logs of a watched training (torch-debugger run, or Debugger): their scalars are "
        "compared, by tag; code, settings, optimizer, model, data and environment cannot be."
    )
    assert "Not compared" not in text and "looked at closely" not in text
    assert "run --deep-steps" not in text


def test_ours_against_a_log_of_another_tool(pair: Path) -> None:
    with OtherWriter(str(pair / "foreign")) as writer:
        for step in range(1, 21):
            writer.add_scalar("loss", 5.0, step)
    report = torch_debugger.diff("old", pair / "foreign")
    assert report.comparison.parting.verdict == "parted"
    assert "foreign is not the log of a watched training" in " ".join(str(report).split())


def test_a_torn_log_is_compared_up_to_the_tear(pair: Path) -> None:
    (file,) = (pair / "runs" / "new").glob("*tfevents*")
    file.write_bytes(file.read_bytes()[:-200])
    report = torch_debugger.diff("old", "new")
    assert report.answer.startswith("The runs part at step 5")


def test_an_unreachable_run_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="There is no run nowhere"):
        torch_debugger.diff("nowhere", "nowhere")
