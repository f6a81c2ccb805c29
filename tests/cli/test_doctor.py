"""torch-debugger doctor: the command, its report, its files and its exit code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DEBUGGER, Done, Write, debugger, run_forked
from tests.cli.terminal import Terminal

pytestmark = pytest.mark.usefixtures("with_torch")

HEALTHY = """
    import sys
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(6, WIDTH), nn.Linear(WIDTH, 3)

        def forward(self, x):
            return self.fc2(self.fc1(x).relu())

    WIDTH = 24
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    inputs = torch.randn(256, 6)
    labels = inputs[:, :3].argmax(1)
    print("begun", *sys.argv[1:])
    log = open("log.txt", "w")
    for step in range(100):
        chosen = torch.randint(0, 256, (64,))
        x, y = inputs[chosen], labels[chosen]
        optimizer.zero_grad()
        x = net(x)
        loss = nn.functional.cross_entropy(x, y)
        log.write(f"{loss.item()}\\n")
        log.flush()
        loss.backward()
        optimizer.step()
    print("ended")
"""


def doctor(*words: str) -> Done:
    return debugger("doctor", *words)


def test_a_healthy_script_whose_minimal_case_cannot_be(write: Write, tmp_path: Path) -> None:
    """Its x is the output by the time of backward(), and its lines write a file: the trials are made."""
    write(HEALTHY)
    done = doctor("--out", "pictures", "--minimal", "minimal.py", "train.py", "--epochs", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "begun --epochs 3\n"  # stopped at its first backward
    said = " ".join(done.stderr.split())
    assert (
        "Tried on copies: net (243 parameters to learn), one batch of float32 [64, 6], SGD, lr 0.2; the loss "
        "is 1." in said
    )
    assert "computed at train.py:27." in said
    assert "12 trials: 12 passed." in said
    assert "The minimal case was not written: taken out of the script, its lines end with" in said
    assert (tmp_path / "pictures" / "train-rates.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "log.txt").read_text().count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"train.py", "log.txt", "pictures"}


def test_on_a_terminal_a_bar_tells_how_far_it_is_and_the_minimal_case_runs(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    write(HEALTHY.replace("x = net(x)", "out = net(x)").replace("entropy(x, y)", "entropy(out, y)"))
    with Terminal([*DEBUGGER, "doctor", "--minimal", "minimal.py", "train.py"], forked=True) as terminal:
        assert terminal.finish() == 0
        assert re.search(rb"  trial \d+ of 12, [a-zGPU /-]+", terminal.raw)
        assert not any(" of 12, " in line for line in terminal.all_lines)  # it is gone at the end
        assert "12 trials: 12 passed." in terminal.all_lines
        assert "The minimal case, with one sample:" in " ".join(terminal.all_lines)
    written = (tmp_path / "minimal.py").read_text()
    assert "class Net(nn.Module):" in written and "out = net(x)" in written and "optimizer" not in written
    again = run_forked([sys.executable, "minimal.py"])
    assert (again.returncode, again.stdout[:28]) == (0, "gradient of net.fc1.weight: "), again.stderr


def test_a_script_that_fails_a_trial(write: Write) -> None:
    write(HEALTHY.replace("nn.Linear(WIDTH, 3)", "nn.Linear(WIDTH, 3); self.unused = nn.Linear(3, 3)"))
    done = doctor("train.py")
    assert done.returncode == 1
    assert "failed     every parameter gets a gradient" in done.stderr
    assert "`net.unused.weight`, `net.unused.bias`. Do: Nothing of the loss" in " ".join(done.stderr.split())
    assert "12 trials: 11 passed, 1 failed." in done.stderr


def test_a_script_that_crashes_before_its_first_step(write: Write) -> None:
    write(HEALTHY.replace("nn.Linear(WIDTH, 3)", "nn.Linear(WIDTH + 1, 3)"))
    done = doctor("train.py")
    assert done.returncode == 1
    assert "shape-mismatch" in done.stderr and "Traceback" in done.stderr
    assert done.stderr.endswith("torch-debugger: nothing was tried: the script ended before its first step.\n")


def test_a_script_that_trains_nothing(write: Write) -> None:
    write("print('no torch at all')\n")
    done = doctor("train.py")
    assert (done.returncode, done.stdout) == (0, "no torch at all\n")
    assert done.stderr == ("torch-debugger: nothing was tried. The script has come to no backward() of a loss.\n")


def test_no_script() -> None:
    done = doctor()
    assert done.returncode == 2
    assert done.stderr == "torch-debugger: No script was given. Use it like this: torch-debugger doctor train.py\n"


TRAINER = """
running = False

def fit(loss_of, optimizer, loader, accumulate):
    global running
    assert not running  # as of most trainers, its fit() cannot be called again meanwhile
    running = True
    for batch in loader:
        loss = loss_of(batch) / accumulate
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""

WITH_A_TRAINER = """
    import sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    sys.path.insert(0, "site-packages")
    import trainer

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(6, 24), nn.Linear(24, 3)

        def forward(self, x, labels=None):
            scores = self.fc2(self.fc1(x).relu())
            loss = None if labels is None else nn.functional.cross_entropy(scores, labels)
            return scores if labels is None else {"scores": scores, "loss": loss}

        def log(self, name, value):
            raise RuntimeError("Only a trainer may log.")

    class Stepping(Net):
        def training_step(self, batch, number):
            loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.log("loss", loss)
            return {"loss": loss}

    torch.manual_seed(0)
    net = KIND()
    inputs = torch.randn(256, 6)
    data = DataLoader(TensorDataset(inputs, inputs[:, :3].argmax(1)), batch_size=64, shuffle=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    if KIND is Stepping:
        Stepping.log, kept = lambda *given: None, Stepping.log
        def step(batch):
            loss = net.training_step(batch, 0)["loss"]
            Stepping.log = kept
            return loss
        trainer.fit(step, optimizer, data, 1)
    else:
        trainer.fit(lambda batch: net(batch[0], labels=batch[1])["loss"], optimizer, data, 4)
"""


@pytest.mark.parametrize(("kind", "said"), [("Net", "12 trials: 10 passed"), ("Stepping", "12 trials: 12 passed")])
def test_a_library_that_trains(kind: str, said: str, write: Write, tmp_path: Path) -> None:
    """No line of the script goes from the model to backward()."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "trainer.py").write_text(TRAINER)
    write(WITH_A_TRAINER.replace("KIND", kind))
    done = doctor("train.py")
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert "passed     overfit one batch" in done.stderr
