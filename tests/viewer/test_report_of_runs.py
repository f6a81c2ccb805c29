"""Several runs as one file: a table, curves over one another, and the answers that the page compares by."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import fakes
from tests.viewer.reading_html import read_html
from tests.viewer.test_one_file import SCRIPT, STYLE, answers_in
from torch_debugger.api import write_report
from torch_debugger.cli import main
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import HparamsFact, Scalars
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer import report_file as one_file
from torch_debugger.viewer.questions import File


@pytest.fixture(autouse=True)
def bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"page.js": File(SCRIPT.encode(), "text/javascript"), "page.css": File(STYLE.encode(), "text/css")}
    monkeypatch.setattr(one_file, "page_file", files.get)


def write(folder: Path, lr: float, steps: int = 40) -> Path:
    writer = LogWriter(folder, on_fault=print)
    writer.add(fakes.run(folder=str(folder)))
    writer.add(HparamsFact({"lr": lr, "batch": 32}, "args", 0))
    for step in range(1, steps + 1):
        writer.add(Scalars(step, float(step), {"loss": 1 / (1 + lr * step), "accuracy": lr * step}))
    writer.add(fakes.end(steps=steps))
    writer.close()
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, lr in [("a", 0.1), ("b,&<b>", 0.2), ("c", 0.3)]:
        write(tmp_path / "runs" / name, lr)
    return tmp_path / "runs"


def test_a_folder_of_runs_is_one_file(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.html"
    assert main(["report", str(runs), "-o", str(out)]) == 0
    assert re.search(r"out\.html: \d+ kB", capsys.readouterr().out)
    html = out.read_text("utf-8")
    page = read_html(html)
    assert "3 runs compared" in page.text and "b,&<b>" in page.text
    assert "lr" in page.text and "batch" not in page.text, "of the hyperparameters those that differ"
    drawings = re.findall(r'aria-label="(\w+) of 3 runs"', html)
    assert drawings == ["loss", "accuracy"]
    assert html.count('class="still-line still-run-1"') == 3, "a line in each, and its colour in the table"


def test_it_holds_what_the_page_compares_by(runs: Path, tmp_path: Path) -> None:
    write_report([runs / "c", runs / "a", runs / "b,&<b>"], tmp_path / "out.html")
    answers: dict[str, Any] = answers_in((tmp_path / "out.html").read_text("utf-8"))
    assert answers["names"] == {"runs": ["c", "a", "b,&<b>"], "all": 3}
    assert {row["name"]: row["status"] is not None for row in answers["runs"]["rows"]} == dict.fromkeys(
        ["a", "b,&<b>", "c"], True
    )
    details = answers["run_details"]
    assert details["pending"] == [] and details["runs"]["b,&<b>"]["hparams"]["lr"] == 0.2
    assert len(answers["losses"]["runs"]["c"]["steps"]) == 40
    pairs = [key for key in answers if key.startswith("compare?")]
    assert len(pairs) == 6 and pairs[0] == "compare?runs=c%2Ca"
    assert "compare?runs=a%2Cb%252C%2526%253Cb%253E" in pairs, "as URLSearchParams writes escaped names"
    assert answers[pairs[0]]["runs"] == ["c", "a"]
    assert all(answers[f"verdict?run={name}"] for name in "ac")
    assert answers["about?run=a"]["runs"] == 3


def test_many_runs_stay_within_bounds(tmp_path: Path) -> None:
    for number in range(51):
        write(tmp_path / "runs" / f"run{number}", 0.1 + number / 100, steps=3)
    with pytest.raises(UsageError, match="up to 50 runs, and these are 51"):
        write_report(tmp_path / "runs", tmp_path / "out.html")
    written = write_report([tmp_path / "runs" / f"run{number}" for number in range(20)], tmp_path / "out.html")
    assert written.size_bytes < 4_500_000
    answers = answers_in((tmp_path / "out.html").read_text("utf-8"))
    assert len(answers["runs"]["rows"]) == 20 and len(json.dumps(answers["losses"])) > 100


def test_one_run_named_twice_is_one_and_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first, second = write(tmp_path / "x" / "run", 0.1), write(tmp_path / "y" / "run", 0.2)
    write_report([first, first], tmp_path / "one.html")
    assert "runs compared" not in (tmp_path / "one.html").read_text("utf-8")
    write_report([first, second], tmp_path / "two.html")
    assert answers_in((tmp_path / "two.html").read_text("utf-8"))["names"]["runs"] == ["x/run", "y/run"]
