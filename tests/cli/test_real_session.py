"""The whole river once, with torch: everything else in this folder does without, to be quick."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import STAND, Write, run_plain, run_watched

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


@pytest.fixture(autouse=True)
def real_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPYCACHEPREFIX")  # torch is compiled already, where it is installed
    others = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path != str(STAND)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(others))


@pytest.mark.parametrize("how", [[], ["--in-process"]], ids=["child", "in-process"])
def test_a_faulty_script_is_stopped_judged_and_otherwise_unchanged(how: list[str], write: Write) -> None:
    source = FORGETS_ZERO_GRAD if not how else FORGETS_ZERO_GRAD.replace('{"torch", "numpy", "rich"}', "set()")
    write(source)
    words = ["--no-log", "--json", "out.json", "--max-steps", "40", "--fail-on", "error"]
    watched = run_watched(*how, *words, "train.py", "1000")
    found = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert watched.returncode == 3
    assert (found["outcome"], found["steps"], found["torch_seen"]) == ("stopped", 40, True)
    assert found["findings"][found["verdict"]]["name"] == "missing-zero-grad"
    plain = run_plain("train.py", "40")
    assert plain.stdout.startswith(watched.stdout)
    assert len(plain.stdout.splitlines()) - len(watched.stdout.splitlines()) == 1  # stopped inside step 40
