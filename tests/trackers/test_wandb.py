"""W&B's own offline mode, and what its file says afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy
import pytest
from PIL import Image

import torch_debugger
from tests import preloaded
from tests.trackers.runs import LOSSES, ending, write_log
from tests.trackers.wandb_file import WandbRun, offline_runs
from torch_debugger.integrations import delivery as shipping
from torch_debugger.integrations.delivery import TrackerProcess as CourierProcess
from torch_debugger.integrations.delivery import conclude
from torch_debugger.integrations.import_runs import adopt, find_foreign_runs
from torch_debugger.integrations.import_wandb import read_wandb_run
from torch_debugger.integrations.tracker import Tracker

Carried = tuple[Path, WandbRun, list[str]]
LIMIT_S = 300  # only a hang takes this long


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go_offline(monkeypatch, tmp_path)


def go_offline(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(shipping, "WAIT_S", 300.0)  # a busy machine is not what is tested here
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """The folder above the log of a run that was carried beside one of the script's own, the run, and what was
    said."""
    above = tmp_path_factory.mktemp("carried")
    with pytest.MonkeyPatch.context() as patch:
        go_offline(patch, above)
        patch.setenv("WANDB_RUN_ID", "of-the-script")
        patch.setenv("WANDB_NAME", "theirs")
        return above, *carry(above / "log")


def carry(folder: Path) -> tuple[WandbRun, list[str]]:
    said: list[str] = []
    write_log(folder)
    courier = CourierProcess(Tracker("wandb", "vision"), str(folder), str(folder), "train", said.append)
    conclude([courier], ending(), said.append)
    (run,) = offline_runs(folder)
    return run, [sentence for sentence in said if not sentence.startswith("waiting for")]


def test_a_run_arrives_whole(carried: Carried) -> None:
    above, run, said = carried
    folder = above / "log"
    assert said[0].startswith("W&B has the run: offline; this sends it: wandb sync log/wandb/offline-run-")
    assert (run.name, run.project, run.exit_code) == ("train", "vision", 0)
    assert run.id != "of-the-script"
    steps, losses = zip(*run.series("loss"), strict=True)
    assert steps == (1, 2, 3, 4, 5)
    numpy.testing.assert_array_equal(losses, LOSSES)
    assert run.series("update_ratio/net.fc1.weight") == [(2, pytest.approx(0.001))]
    assert run.rows[0]["_timestamp"] == 1_700_000_000.1
    assert run.config["lr"] == 0.1 and run.config["name"] == "resnet" and run.config["net/parameters"] == 32
    assert run.summary["verdict"].startswith("missing-zero-grad: Gradients are never cleared")
    assert (run.summary["outcome"], run.summary["errors"]) == ("finished", 1)
    (table,) = folder.rglob("files/media/table/findings*.json")
    assert "missing-zero-grad" in table.read_text() and "optimizer.zero_grad()" in table.read_text()
    (picture,) = folder.rglob("files/media/images/digits*.png")
    assert Image.open(picture).getpixel((0, 0)) == (255, 0, 0)
    (row,) = [row for row in run.rows if "weights/_type" in row]
    assert (row["step"], row["weights/_type"], sum(row["weights/values"])) == (4, "histogram", 1000)
    assert "torch-debugger-report.md" in run.files
    (report,) = folder.rglob("files/torch-debugger-report.md")
    assert "missing-zero-grad" in report.read_text()


def test_an_offline_run_can_be_taken_in_again_and_torn_it_is_read_up_to_there(carried: Carried, tmp_path: Path) -> None:
    above, _, _ = carried
    (run,) = find_foreign_runs(above / "log" / "wandb", print)
    assert run.name == "train" and (run.hparams["lr"], run.hparams["name"]) == (0.1, "resnet")
    folder = adopt(run, tmp_path / "runs", print)
    adopted = torch_debugger.runs(tmp_path / "runs")[folder.name]
    numpy.testing.assert_array_equal(adopted.scalars("loss").values, LOSSES)
    assert adopted.scalars("loss").times[0] == 1_700_000_000.1
    assert adopted.hparams["name"] == "resnet"
    assert adopted.status == "finished"
    (path,) = (above / "log").rglob("*.wandb")
    whole, torn = path.read_bytes(), tmp_path / "torn.wandb"
    for size in range(0, len(whole), 97):
        torn.write_bytes(whole[:size])
        part = read_wandb_run(torn.parent, torn)
        assert [repr(point) for point in part.points] == [repr(point) for point in run.points[: len(part.points)]]


def test_it_keeps_its_files_together_and_no_secret_among_them(
    carried: Carried,
) -> None:
    above, _, _ = carried
    files = [path.relative_to(above) for path in above.rglob("*") if path.is_file()]
    assert [str(path) for path in files if path.parts[0] != "log"] == []
    sent = [path.read_bytes() for path in (above / "log" / "wandb").rglob("*") if path.is_file()]
    assert sent and not any(b"hush-hush" in content for content in sent)


def run_program(source: str, exit_code: int = 0) -> str:
    Path("train.py").write_text(source, encoding="utf-8")
    done = preloaded.run([sys.executable, "train.py"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == exit_code, done.stderr
    return done.stderr


TRAINING = """
import sys, torch, torch_debugger
from torch_debugger.integrations import delivery as shipping
shipping.WAIT_S = 300
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

def train(steps, after=lambda step, loss: None):
    for step in range(steps):
        optimizer.zero_grad()
        loss = net(torch.ones(8, 4)).square().mean()
        loss.backward()
        optimizer.step()
        after(step, loss.item())
"""


def test_a_debugger_fills_a_run_of_its_own_and_leaves_the_program_alone(tmp_path: Path) -> None:
    said = run_program(
        TRAINING
        + """
import os, random, threading
def state():
    threads = sorted(thread.name for thread in threading.enumerate())
    return dict(os.environ), sys.excepthook, sys.exit, random.getstate(), threads

torch_debugger.Debugger  # to import us is not the question here: rich draws a number then
before = state()
debugger = torch_debugger.Debugger(sinks=["wandb"])
train(12)
debugger.close()
assert [a == b for a, b in zip(before, state())] == [True] * 5
assert "wandb" not in sys.modules
"""
    )
    (run,) = offline_runs(tmp_path / "wandb")
    assert [step for step, _ in run.series("loss")] == list(range(1, 13))
    assert (run.project, run.name, run.exit_code) == ("torch-debugger", "train (torch-debugger)", 0)
    assert run.config["net/parameters"] == 5 and "train.py" in run.config["run/command"]
    assert run.summary["steps"] == 12
    assert "W&B has the run: offline; this sends it: wandb sync wandb/offline-run-" in said


def test_a_run_that_is_open_already_is_added_to_and_keeps_its_own_count(tmp_path: Path) -> None:
    run_program(
        TRAINING
        + """
import time, wandb
run = wandb.init(project="mine", settings=wandb.Settings(silent=True, x_disable_stats=True, disable_git=True))
debugger = torch_debugger.Debugger(sinks=["wandb"])

def log(step, loss):
    wandb.log({"loss": loss}, step=step * 10)
    time.sleep(0.1)

train(12, log)
debugger.close()
assert wandb.run is run
run.log({"last": 1})

class Sink(list):
    add = list.append

sink = Sink()
with torch_debugger.Debugger(sinks=[run, sink]):
    train(3)
run.finish()
assert sum("loss" in record.values for record in sink if "Scalars" in str(type(record))) == 3
"""
    )
    (run,) = offline_runs(tmp_path / "wandb")
    assert run.project == "mine"
    assert [step for step, _ in run.series("loss", "_step")] == [10 * step for step in range(12)]
    *ours, (last, _) = run.series("debugger/loss", "debugger/step")
    assert last <= 3  # of the second debugger
    theirs = [loss for _, loss in run.series("loss", "_step")]
    assert ours and all(loss == pytest.approx(theirs[step - 1]) for step, loss in ours)
    assert (run.summary["debugger/outcome"], run.summary["debugger/steps"]) == ("finished", 3)
    assert any(key.startswith("debugger/findings") for row in run.rows for key in row)
    assert run.config.get("debugger/net/parameters") == 5, str(run.config)


def test_a_program_that_is_watched_to_its_end_and_crashes_has_a_failed_run(tmp_path: Path) -> None:
    said = run_program(
        TRAINING
        + """
torch_debugger.watch(sinks=["wandb:mine"])
train(3)
net(torch.ones(8, 5))
""",
        exit_code=1,
    )
    (run,) = offline_runs(tmp_path / "wandb")
    assert (run.project, run.exit_code, run.summary["outcome"]) == ("mine", 1, "crashed")
    assert [step for step, _ in run.series("loss")] == [1, 2, 3]
    assert said.count("W&B has the run") == 1 and said.count("Traceback") == 1
