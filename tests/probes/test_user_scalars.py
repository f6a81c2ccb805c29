"""Numbers the script logs itself: SummaryWriter, tensorboardX, wandb, each kept as user/<tag>."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

from tests.probes.watching import watched
from torch_debugger.records import Scalars

# As wandb behaves: log raises until init() sets it anew, to the log of its run.
WANDB = """
class Run:
    def __init__(self):
        self.logged = []
    def log(self, data, step=None, commit=None):
        self.logged.append(data)

def log(data, step=None, commit=None):
    raise RuntimeError("You must call wandb.init() before wandb.log()")

def init():
    global log, run
    run = Run()
    log = run.log
    return run
"""


@pytest.fixture
def fake_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "wandb.py").write_text(WANDB)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    importlib.invalidate_caches()
    yield
    sys.modules.pop("wandb", None)


def step(net: nn.Module) -> None:
    net(torch.ones(2, 3)).mean().backward()


@pytest.mark.parametrize("home", ["torch.utils.tensorboard", "tensorboardX", "torch_debugger"])
def test_a_summary_writer(home: str, tmp_path: Path) -> None:
    writers = importlib.import_module(home)
    with watched() as seen:
        net, writer = nn.Linear(3, 1), writers.SummaryWriter(str(tmp_path))
        for number in range(3):
            step(net)
            writer.add_scalar("val/loss", 0.5 * number, number)
            writer.add_scalar(tag="acc", scalar_value=torch.tensor(0.25), global_step=number)
        writer.close()
    assert seen.scalars("user/val/loss") == {1: 0.0, 2: 0.5, 3: 1.0}
    assert seen.scalars("user/acc") == {1: 0.25, 2: 0.25, 3: 0.25}
    assert list(tmp_path.iterdir())


def test_what_is_logged_after_the_last_step_is_kept(tmp_path: Path) -> None:
    with watched() as seen, SummaryWriter(str(tmp_path)) as writer:
        step(nn.Linear(3, 1))
        writer.add_scalar("final", 7.0)
    assert seen.scalars("user/final") == {1: 7.0}


@pytest.mark.parametrize("deep", [True, False], ids=["deep", "light"])
@pytest.mark.parametrize("loads", [True, False], ids=["from a loader", "from a list"])
@pytest.mark.parametrize("when", ["before the backward pass", "before the step", "after the step"])
def test_a_loss_is_logged_at_the_step_it_is_of(when: str, loads: bool, deep: bool, tmp_path: Path) -> None:
    net = nn.Linear(3, 1)
    data: Any = DataLoader(TensorDataset(torch.randn(12, 3)), batch_size=2)
    data = data if loads else list(data)
    with watched(deep=deep) as seen, SummaryWriter(str(tmp_path)) as writer:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(2):
            for number, (batch,) in enumerate(data):
                loss = net(batch).square().mean()
                moments = {"before the backward pass": loss.backward, "before the step": optimizer.step}
                for moment, go_on in moments.items():
                    if when == moment:
                        writer.add_scalar("loss", loss, 6 * epoch + number)
                    go_on()
                optimizer.zero_grad()
                if when == "after the step":
                    writer.add_scalar("loss", loss, 6 * epoch + number)
            with torch.no_grad():
                held_out = sum(float(net(batch).square().mean()) for (batch,) in data)
            writer.add_scalar("val/loss", held_out, epoch)
    assert seen.scalars("user/loss") == pytest.approx(seen.scalars("loss"))
    assert list(seen.scalars("user/loss")) == list(range(1, 13))
    assert list(seen.scalars("user/val/loss")) == [6, 12]


def test_what_is_logged_between_accumulated_passes_is_of_the_step_under_way(tmp_path: Path) -> None:
    net = nn.Linear(3, 1)
    with watched() as seen, SummaryWriter(str(tmp_path)) as writer:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for number in range(4):
            step(net)
            writer.add_scalar("part", number, number)
            if number % 2:
                optimizer.step()
    assert [record.values["user/part"] for record in seen.of(Scalars) if "user/part" in record.values] == [1, 3]
    assert seen.scalars("user/part") == {1: 1.0, 2: 3.0}


@pytest.mark.usefixtures("fake_wandb")
def test_wandb_imported_under_watch() -> None:
    with watched() as seen:
        wandb: Any = importlib.import_module("wandb")
        run = wandb.init()
        wandb.log({"loss": 1.5, "image": object()})
        run.log({"acc": 0.5}, step=3)
        step(nn.Linear(3, 1))
    assert seen.scalars("user/loss") == {1: 1.5}
    assert seen.scalars("user/acc") == {1: 0.5}
    assert [set(data) for data in run.logged] == [{"loss", "image"}, {"acc"}]


@pytest.mark.usefixtures("fake_wandb")
def test_wandb_set_up_before_the_watch() -> None:
    wandb: Any = importlib.import_module("wandb")
    run = wandb.init()
    with watched() as seen:
        wandb.log({"loss": 1.5})
        run.log({"acc": 0.5})
    assert seen.scalars("user/loss") == {1: 1.5}
    assert seen.scalars("user/acc") == {1: 0.5}
    assert len(run.logged) == 2


@pytest.mark.usefixtures("fake_wandb")
def test_wandb_is_left_as_it_was() -> None:
    wandb: Any = importlib.import_module("wandb")
    before = wandb.log, wandb.Run.log
    with watched():
        assert (wandb.log, wandb.Run.log) != before
    assert (wandb.log, wandb.Run.log) == before


@pytest.mark.usefixtures("fake_wandb")
def test_what_wandb_raises_is_the_users() -> None:
    wandb: Any = importlib.import_module("wandb")
    with watched(), pytest.raises(RuntimeError, match="You must call"):
        wandb.log({"loss": 1.5})


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0), (0.5, 0.5), (True, 1.0), (numpy.float32(2.0), 2.0), (numpy.array([4.0]), 4.0),
        (torch.tensor(5.0), 5.0), (torch.tensor([[6]]), 6.0), (torch.tensor(1.0, requires_grad=True), 1.0),
        (torch.ones(2), None), (numpy.ones(2), None), (torch.empty(1, device="meta"), None), ("7", None),
        (None, None),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.usefixtures("fake_wandb")
def test_what_is_a_number(value: object, number: float | None) -> None:
    wandb: Any = importlib.import_module("wandb")
    with watched() as seen:
        wandb.init().log({"tag": value})
    assert seen.scalars("user/tag") == ({} if number is None else {1: number})
