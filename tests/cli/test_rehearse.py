"""torch-debugger rehearse: the command, its report, its file and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Write, debugger

pytestmark = pytest.mark.usefixtures("with_torch")

SCRIPT = """
    import torch
    from torch import nn

    device = "cuda" if torch.cuda.is_available() else "cpu"

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(100, 2048), nn.Linear(2048, 10)

        def forward(self, x):
            mask = torch.ones(x.shape[0], 100WHERE)
            return self.fc2(self.fc1(x * mask).relu())

    net = Net().to(device)
    data = torch.utils.data.TensorDataset(torch.randn(512, 100), torch.zeros(512, dtype=torch.long))
    optimizer = torch.optim.AdamW(net.parameters())

    def train_step(x, y):
        loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device)) / 2
        loss.backward()
        print("backward")

    for number, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_size=64)):
        train_step(x, y)
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
            print("stepped")
"""


def rehearse(*words: str) -> Done:
    return debugger("rehearse", *words)


def test_a_script_is_rehearsed_up_to_its_first_step(write: Write, tmp_path: Path) -> None:
    write(SCRIPT.replace("WHERE", ", device=x.device"))
    done = rehearse("--gpu-memory", "2GB", "--json", "found.json", "train.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "backward\nbackward\n"  # the step itself is not made
    said = " ".join(done.stderr.split())
    assert "A step of net (227,338 parameters), batch of 64, AdamW, 2 backwards a step, rehearsed" in said
    assert "It fits into 2GB. The largest batch that fits is" in said
    assert "The forward pass meets tensors of one device only." in said
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["fits"] is True
    assert found["by_category"]["optimizer state"] == 2 * found["by_category"]["parameters"]
    assert found["peak_bytes"] == sum(found["by_category"].values())


def test_a_device_bug_and_too_little_memory_give_exit_code_1(write: Write) -> None:
    write(SCRIPT.replace("WHERE", ""))
    done = rehearse("--gpu-memory", "505MB", "--batch", "4096", "train.py")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "device bug: train.py:14 in `net` mixes cuda and cpu: `mask` is made on the CPU" in said
    assert "fix: At train.py:13 write `mask = torch.ones(x.shape[0], 100, device=x.device)`." in said
    assert "batch of 4,096" in said
    assert "It does not fit into 505MB" in said


ENDING = """
    import atexit, os
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def save(name):
        open(name, "w").close()

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    net = DistributedDataParallel(torch.compile(nn.Linear(10, 1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    atexit.register(save, "at_exit.pt")
    try:
        for x in torch.randn(50, 8, 10):
            try:
                loss = net(x).square().mean()
                torch.distributed.all_reduce(loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            except:
                print("skipped a bad batch")
    finally:
        save("final.pt")
"""


def test_the_scripts_own_end_does_not_run_and_a_process_group_is_not_waited_for(write: Write, tmp_path: Path) -> None:
    write(ENDING)
    done = rehearse("train.py")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "A step of net (11 parameters), batch of 8, SGD, rehearsed without a GPU." in done.stderr
    assert not [*tmp_path.glob("*.pt")]  # untrained, it would take the place of what was trained


def test_a_script_without_a_step_is_told(write: Write) -> None:
    write("import torch\nprint('done')")
    done = rehearse("train.py")
    assert (done.returncode, done.stdout) == (1, "done\n")
    assert "nothing was rehearsed. The script has come to no training step: a backward() of a loss and" in done.stderr


def test_a_gpu_that_is_not_known_is_refused_before_the_script_runs(write: Write) -> None:
    write("print('ran')")
    done = rehearse("--gpu-memory", "huge", "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--gpu-memory: A GPU's memory is a size such as 24GB or 80GiB, or one of t4" in done.stderr
