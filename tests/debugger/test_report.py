"""`d.report()`: text, page, JSON, and what it says while the watch goes on."""

from __future__ import annotations

import builtins
import html
import io
import json
import re

import pytest
import torch
from rich.console import Console
from torch import nn

from tests.debugger.models import Net, train
from torch_debugger import Debugger
from torch_debugger.records import FlowFact, FlowStep, MemoryFact
from torch_debugger.records.units import bytes_text
from torch_debugger.report.sentences import memory_sentence
from torch_debugger.report.terminal import outer_rows


def broken() -> Debugger:
    model = Net()
    debugger = Debugger(model)
    train(model, zero=False)
    debugger.close()
    return debugger


def test_its_text() -> None:
    text = str(broken().report())
    assert text.startswith("What model ran")
    assert "error: missing-zero-grad  TD101" in text
    assert "optimizer.zero_grad()" in text
    assert "12 optimizer steps watched, loss" in text
    assert "\x1b" not in text
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())


def test_its_page() -> None:
    report = broken().report()
    page = report._repr_html_()
    assert page.startswith("<pre")
    assert "style=" in page
    plain = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert plain.strip() == str(report).strip()


def test_a_debugger_shows_itself_as_its_report() -> None:
    debugger = broken()
    assert "missing-zero-grad" in debugger._repr_html_()


def test_a_notebook_displays_nothing_while_the_page_is_made(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a notebook rich displays what a console is told to write, unless it is told not to."""
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    report = broken().report()
    assert "missing-zero-grad" in report._repr_html_()
    assert "missing-zero-grad" in str(report)
    assert capfd.readouterr() == ("", "")


def test_its_json() -> None:
    report = broken().report()
    told = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert told["format"] == 1
    assert (told["outcome"], told["steps"], told["verdict"]) == ("finished", 12, 0)
    assert [finding["name"] for finding in told["findings"]] == ["missing-zero-grad"]
    assert [finding.name for finding in report.findings] == ["missing-zero-grad"]


def test_while_the_watch_goes_on() -> None:
    model = Net()
    debugger = Debugger(model)
    assert "Nothing wrong found: no model ran" not in str(debugger.report())
    model(torch.randn(2, 8))
    assert "Nothing wrong found: no training step was watched" in str(debugger.report())
    train(model, steps=1)
    assert "Nothing wrong found: 1 optimizer step watched, loss" in str(debugger.report())
    train(model, steps=4)
    text = str(debugger.report())
    debugger.close()
    assert "Nothing wrong found: 5 optimizer steps watched, loss" in text
    assert "finished" not in text


def test_no_cost_is_told_where_no_step_was() -> None:
    model = Net()
    debugger = Debugger()
    model(torch.randn(2, 8))
    debugger.close()
    assert "cost" not in str(debugger.report())
    with debugger:
        train(model)
    assert "cost" in str(debugger.report())


def test_its_repr() -> None:
    model = Net()
    debugger = Debugger(model)
    train(model, steps=3)
    assert repr(debugger) == "<Debugger watching, 3 steps, 0 findings>"
    debugger.close()
    assert repr(debugger) == "<Debugger closed, 3 steps, 0 findings>"


def test_names_of_users_are_shown_as_they_are() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("[red]a[/red]", nn.Linear(8, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return next(iter(self.children()))(x)

    model = Odd()
    with Debugger() as d:
        model(torch.randn(2, 8))
    assert "[red]a[/red]" in str(d.report())


def step(path: str, depth: int, made_bytes: int = 0) -> FlowStep:
    return FlowStep(path, "Linear", (), (), depth=depth, made_bytes=made_bytes)


def test_outer_levels_first() -> None:
    tree = [step("m", 0)]
    for block in range(30):
        tree += [step(f"m.{block}", 1), *(step(f"m.{block}.{part}", 2) for part in range(3))]
    assert [each.depth for each in outer_rows(tuple(tree))] == [0] + 30 * [1]
    assert outer_rows(tuple(tree[:20])) == tree[:20]
    flat = (step("m", 0), *(step(f"m.{number}", 1) for number in range(500)))
    assert len(outer_rows(flat)) == 60
    assert outer_rows(()) == []


def test_an_output_handed_up_the_tree_is_counted_once() -> None:
    steps = (step("m", 0, 100), step("m.a", 1, 40), step("m.b", 1, 100), step("m.b.c", 2, 60))
    told = memory_sentence([FlowFact("m", steps, 1)], None)
    assert told == "outputs of this forward pass 100 B"


def test_memory_in_words() -> None:
    memory = MemoryFact(256_000_000, 1_204_000_000, 0, 0, 1)
    assert memory_sentence([], memory) == "process 256 MB now, 1.2 GB at most"
    memory = MemoryFact(256_000_000, 256_000_000, 2_000_000, 3_000_000_000, 1)
    assert memory_sentence([], memory).endswith("; accelerator 2 MB now, 3 GB at most")
    assert memory_sentence([], None) == ""


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1536, "1.54 kB"), (999_499, "999 kB"), (999_999, "1 MB"),
     (256_000_000, "256 MB"), (5_000_000_000_000, "5 TB"), (7 * 10**15, "7e+03 TB")],
)  # fmt: skip
def test_bytes_in_words(size: int, text: str) -> None:
    assert bytes_text(size) == text


def test_narrow_terminals_leave_out_the_inputs_and_keep_the_numbers() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
    with Debugger() as d:
        model(torch.randn(2, 12, 64))
    for width, names in [(60, 0), (80, 0), (120, 1)]:
        console = Console(file=io.StringIO(), width=width)
        d.report().print(console)
        assert isinstance(console.file, io.StringIO)
        table = console.file.getvalue().partition("\n\n")[0].splitlines()
        assert table[1].split().count("in") == names
        assert all(len(line) <= width and line.endswith(" ms") for line in table[2:])
        assert any("66,944" in line for line in table)
