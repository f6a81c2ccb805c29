"""The report as a file: what is in it, what it may do, how large it is, and what it is written over."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.reading_html import read_html
from tests.viewer.test_still import write_run
from torch_debugger.api import write_report
from torch_debugger.cli import main
from torch_debugger.log.run import Run
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import RunFact, Scalars
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer import report_file as one_file
from torch_debugger.viewer import report_file as written_answers
from torch_debugger.viewer.questions import File
from torch_debugger.viewer.report_file import MARK, WrittenAnswers, make_one_file
from torch_debugger.viewer.report_file import OneShownRun as SingleShelf
from torch_debugger.viewer.report_questions import Question

HOSTILE = "</script><script>alert(1)</script><!-- '\" \u202e\u2028 &amp; ]]>"
SCRIPT = "const end = '</script>', comment = '<!--';\nexport const render = () => {};\n"
STYLE = "body { margin: 0 }\n"


@pytest.fixture(autouse=True)
def bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on every machine, with the page built or not."""
    files = {"page.js": File(SCRIPT.encode(), "text/javascript"), "page.css": File(STYLE.encode(), "text/css")}
    monkeypatch.setattr(one_file, "page_file", files.get)


@pytest.fixture
def hostile(tmp_path: Path) -> Run:
    writer = LogWriter(tmp_path / "<!--'\"", on_fault=print)
    writer.add(RunFact(HOSTILE, (), "", 1, 0.0, HOSTILE, "2", HOSTILE, "0", 0.02, False))
    writer.add(Scalars(1, 0.0, {HOSTILE: 1.0, "loss": 1.0}))
    writer.close()
    return Run(tmp_path / "<!--'\"")


def answers_in(html: str) -> dict[str, Any]:
    kept = re.search(r'<script type="application/json" id="answers">(.*?)</script>', html, re.DOTALL)
    assert kept is not None
    answers: dict[str, Any] = json.loads(kept[1])
    return answers


def test_hostile_names_end_no_element(hostile: Run) -> None:
    html = make_one_file(hostile).html
    elements = [tag for tag, _ in read_html(html).elements]
    assert elements.count("script") == 2 and elements.count("title") == 1
    assert html.count("<!--") == 1 and html.count("<!--") == html.count(MARK)
    assert "\u202e" not in html and "\u2028" not in html
    assert answers_in(html)["about?" + "run=%3C%21--%27%22"]["run"] == hostile.name


def test_the_policy_allows_what_is_inside_and_nothing_else(hostile: Run) -> None:
    html = make_one_file(hostile).html
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None and "default-src 'none'" in policy[1]
    inside = re.findall(r"<(?:style|script type=\"module\")>(.*?)</(?:style|script)>", html, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inside]
    assert len(hashes) == 3 and sorted(re.findall(r"sha256-([^']*)", policy[1])) == sorted(hashes)
    assert "unsafe" not in policy[1] and "http" not in policy[1]


def test_keys_are_those_of_the_page() -> None:
    """As URLSearchParams writes them."""
    asked = Question("scalars", {"tag": "a b/c~*-._é&=+", "run": "x", "none": ""})
    assert asked.key == "scalars?run=x&tag=a+b%2Fc%7E*-._%C3%A9%26%3D%2B"
    assert Question("session").key == "session"


def test_the_largest_answers_are_left_out_first(hostile: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: Mapping[str, int] = {"small": 10, "large": 5000, "middle": 500}
    monkeypatch.setattr(written_answers, "find_answer", lambda name: lambda query: "x" * sizes[name])
    questions = [Question(name) for name in sizes]
    everything, some = (WrittenAnswers(SingleShelf(hostile), room) for room in (10_000, 1000))
    everything.add_first(questions)
    assert list(everything.texts) == list(sizes) and everything.left_out == {}
    some.add_first(questions)
    assert list(some.texts) == ["small", "middle"] and some.left_out == {"large": 1}


def test_what_comes_later_takes_only_room_that_is_left(hostile: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        written_answers, "find_answer", lambda name: lambda query: "x" * int(query.text("width", "100"))
    )
    answers = WrittenAnswers(SingleShelf(hostile), 1000)
    answers.add_first([Question("curve")])
    answers.add_further([Question("large", {"width": "2000"}), Question("small")])
    answers.add_further([Question("curve", {}, {"width": "300"})])
    assert list(answers.texts) == ["curve", "small"] and answers.left_out == {"large": 1}
    assert len(answers.texts["curve"]) == 302, "the finer answer has taken the place of the coarser one"


def test_a_picture_is_an_address_in_the_file(hostile: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_answers, "find_answer", lambda name: lambda query: File(b"abc", "image/png"))
    written = WrittenAnswers(SingleShelf(hostile), 1000)
    written.add_first([Question("picture")])
    assert json.loads(written.to_json()) == {"picture": "data:image/png;base64,YWJj"}


def test_without_the_page_the_file_has_the_part_that_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(one_file, "page_file", lambda name: None)
    run = write_run(tmp_path, "verdict")
    assert main(["report", run.folder, "-o", str(tmp_path / "out.html")]) == 0
    assert "page was not built" in capsys.readouterr().out
    html = (tmp_path / "out.html").read_text("utf-8")
    assert "missing-zero-grad" in html and "<script" not in html


def test_the_verb_names_the_file_and_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    write_run(tmp_path / "runs", "verdict")
    assert main(["report"]) == 0, "the run that was written last"
    assert main(["report", "verdict"]) == 0, "a name under ./runs; a report of ours is written over"
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"verdict\.html: \d+ kB", said[0]) and said[0] == said[1]
    assert read_html((tmp_path / "verdict.html").read_text("utf-8")).elements
    assert sorted(os.listdir(tmp_path)) == ["runs", "verdict.html"], "nothing half written is left"


def test_what_is_no_report_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path, "healthy")
    target = tmp_path / "thesis.html"
    target.write_text("years of work")
    assert main(["report", run.folder, "-o", str(target)]) == 2
    assert "no report of torch-debugger" in capsys.readouterr().err and target.read_text() == "years of work"
    assert main(["report", run.folder, "-o", str(target), "--force"]) == 0
    assert MARK in target.read_text("utf-8")


@pytest.mark.parametrize("place", [".", "missing/report.html"])
def test_a_place_that_cannot_be_is_said(tmp_path: Path, place: str) -> None:
    run = write_run(tmp_path, "healthy")
    with pytest.raises(UsageError):
        write_report(run, tmp_path / place)


def test_where_there_is_no_run_is_said(tmp_path: Path) -> None:
    assert main(["report", str(tmp_path / "none")]) == 2
