"""What the page asks of logs of a SummaryWriter: charts of several curves, precision and recall, metrics, and
what it cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from torch.utils.tensorboard import SummaryWriter

from tests.browser.test_writer_data import strange_summary
from tests.viewer.serving import Client, serving
from torch_debugger.log.run import Run
from torch_debugger.viewer.about import not_shown
from torch_debugger.viewer.report_file import OneShownRun as SingleShelf
from torch_debugger.viewer.report_file import WrittenAnswers
from torch_debugger.viewer.report_questions import first_questions


def record(folder: Path, lr: float) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step in range(4):
            writer.add_scalar("loss", lr * step, step)
            writer.add_scalar("low", lr * step - 1, step)
            writer.add_scalar("high", lr * step + 1, step)
            writer.add_scalars("split/loss", {"train": step, "val": -step}, step)
            if step % 2:
                labels = np.array([0, 1, 0, 1])
                writer.add_pr_curve("cat", labels, np.clip(labels * lr, 0, 1), step)
        writer.add_custom_scalars(
            {"Mine": {"lines": ["Multiline", ["split/.*"]], "band": ["Margin", ["loss", "low", "high"]]}}
        )
        writer.add_hparams({"lr": lr}, {"hparam/accuracy": 1 - lr})


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    record(tmp_path / "a", 0.25)
    record(tmp_path / "b", 0.5)
    with serving(tmp_path) as page:
        yield page


def ask(client: Client, question: str, **given: Any) -> Any:
    return client.get(f"/ask/{question}?{urlencode(given)}").json


def test_only_the_two_runs_are_listed_with_their_metrics(client: Client) -> None:
    told = ask(client, "run_details", names="a,b")["runs"]
    assert sorted(ask(client, "names")["runs"]) == ["a", "b"]
    assert told["a"]["hparams"] == {"lr": 0.25} and told["a"]["hparam_metrics"] == {"hparam/accuracy": 0.75}


def test_the_charts_of_several_curves(client: Client) -> None:
    series = [{"name": name, "tag": f"split/loss/{name}"} for name in ("train", "val")]
    for given in ({"run": "a"}, {"runs": "a,b"}):
        told = ask(client, "scalar_charts", **given)
        assert told["series"] == [{"tag": "split/loss", "lines": series}]
        (category,) = told["categories"]
        lines, band = category["charts"]
        assert [line["tag"] for line in lines["lines"]] == ["split/loss/train", "split/loss/val"]
        assert band["lines"] == [{"name": "loss", "tag": "loss", "lower": "low", "upper": "high"}]
    curves = ask(client, "scalars", run="a", tags="split/loss/val")["curves"]
    assert [curve["points"] for curve in curves] == [4]


def test_pr_curves_of_several_runs_at_a_step(client: Client) -> None:
    assert ask(client, "pr_curves", run="a")["tags"] == [{"tag": "cat", "steps": [1, 3]}]
    told = ask(client, "pr_curves", runs="a,b", tag="cat", step=2)
    assert [(curve["run"], curve["step"]) for curve in told["curves"]] == [("a", 1), ("b", 1)]
    assert told["curves"][0]["average_precision"] == 1.0
    assert ask(client, "pr_curves", runs="a,gone", tag="cat", step=9)["missing"] == ["gone"]
    assert ask(client, "pr_curves", run="a", tag="none", step=9)["curves"] == []


def test_a_report_holds_the_charts_and_the_curves(tmp_path: Path) -> None:
    record(tmp_path / "a", 0.25)
    run = Run(tmp_path / "a")
    answers = WrittenAnswers(SingleShelf(run), 1_000_000)
    answers.add_first(first_questions(run, answers.ask))
    assert {"scalar_charts?run=a", "pr_curves?run=a", "pr_curves?run=a&step=3&tag=cat"} <= set(answers.texts)


def test_what_no_view_shows_is_counted(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer._get_file_writer().add_summary(strange_summary("odd"))
        writer.add_embedding(torch.rand(3, 2), tag="points")  # shown in the projector
        writer.add_scalar("loss", 1.0, 1)

    told = {each["kind"]: (each["count"], each["tags"]) for each in not_shown(Run(tmp_path))}

    assert told == {"tag of the plugin strange": (1, ["odd"])}


def test_a_log_of_which_all_is_shown_says_nothing(tmp_path: Path) -> None:
    record(tmp_path / "a", 0.25)
    assert not_shown(Run(tmp_path / "a")) == []
