"""The whole river once, with torch: everything else in this folder does without, to be quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DEBUGGER, Write, run_forked, run_really

pytestmark = pytest.mark.usefixtures("with_torch")

FORGETS_ZERO_GRAD = """
    import os, sys
    assert not {"torch", "numpy", "rich"} & set(sys.modules), "the script decides when torch is imported"
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    print(torch.get_num_threads())
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    x, y = torch.randn(64, 10), torch.randn(64, 1)
    for step in range(int(sys.argv[1])):
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


@pytest.mark.parametrize("how", [[], ["--in-process"]], ids=["child", "in-process"])
def test_a_faulty_script_is_stopped_judged_and_otherwise_unchanged(how: list[str], write: Write) -> None:
    """In a child of its own by the real command, which does not import torch before the script does."""
    without_imports = FORGETS_ZERO_GRAD.replace('{"torch", "numpy", "rich"}', "set()")
    words = ["--no-log", "--json", "out.json", "--max-steps", "40", "--fail-on", "error"]
    write(without_imports if how else FORGETS_ZERO_GRAD)
    watched = (run_forked if how else run_really)([*DEBUGGER, "run", *how, *words, "train.py", "1000"])
    found = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert watched.returncode == 3
    assert (found["outcome"], found["steps"], found["torch_seen"]) == ("stopped", 40, True)
    assert found["findings"][found["verdict"]]["name"] == "missing-zero-grad"
    write(without_imports)
    plain = run_forked([sys.executable, "train.py", "40"])
    assert plain.stdout.startswith(watched.stdout)
    assert len(plain.stdout.splitlines()) - len(watched.stdout.splitlines()) == 1  # stopped inside step 40
