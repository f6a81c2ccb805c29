"""A debugger inside a script that runs under `torch-debugger run`: both see it, one reports."""

from __future__ import annotations

from pathlib import Path

from tests.debugger.conftest import RunScript
from torch_debugger.log.reader_records import read_log
from torch_debugger.records import FlowFact, Scalars

SCRIPT = """
import torch, torch_debugger
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16, 4), torch.randint(2, (16,))

def train(steps):
    for step in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""
# A budget that no machine uses up: what is found does not depend on its pace.
RUN = ("-m", "torch_debugger", "run", "--log-dir", "log", "--budget", "10")


def test_a_with_block_is_left_to_the_report_at_the_end(run_script: RunScript, tmp_path: Path) -> None:
    block = "with torch_debugger.Debugger(model, log_dir='inner', budget=10.0) as d:\n    train(10)\n"
    done = run_script(f"{SCRIPT}\ntrain(5)\n{block}train(5)\nprint([f.name for f in d.findings])\n", *RUN)
    assert (done.returncode, done.stdout) == (0, "['missing-zero-grad']\n")
    assert done.stderr.count("error: missing-zero-grad") == 1
    assert "finished after 20 optimizer steps" in " ".join(done.stderr.split())
    losses = {name: losses_in(tmp_path / name) for name in ("log", "inner")}
    assert sorted(losses["log"]) == list(range(1, 21))
    assert losses["inner"] == {step: losses["log"][step] for step in range(6, 16)}


def losses_in(folder: Path) -> dict[int, float]:
    records = [record for record in read_log(folder) if isinstance(record, Scalars)]
    return {record.step: record.values["loss"] for record in records if "loss" in record.values}


def test_what_run_was_asked_for_is_shown_at_once(run_script: RunScript, tmp_path: Path) -> None:
    done = run_script(f"{SCRIPT}\nd = torch_debugger.Debugger()\nd.run(model(x))\n", *RUN)
    assert done.returncode == 0
    assert done.stderr.count("What model ran") == 1
    assert any(isinstance(record, FlowFact) for record in read_log(tmp_path / "log"))


def test_one_line_watch_reports_once(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\ntorch_debugger.watch(model)\ntrain(10)\n", *RUN)
    assert done.returncode == 0
    assert done.stderr.count("error: missing-zero-grad") == 1


def test_a_crash_is_explained_once(run_script: RunScript) -> None:
    crash = "d = torch_debugger.Debugger()\nd.run(model(torch.randn(16, 5)))\n"
    done = run_script(f"{SCRIPT}\n{crash}", *RUN)
    assert done.returncode == 1
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert done.stderr.count("error: shape-mismatch") == 1
    assert "/torch_debugger/" not in done.stderr
