"""A training in two processes, recorded by both, in a real browser."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import preloaded
from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.recordings import serving

# Averages gradients by hand, so that the training can be broken at a step: from PARTED on rank 1 keeps its own.
SCRIPT = """
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch_debugger import Debugger

dist.init_process_group("gloo")
rank, parted = dist.get_rank(), int(sys.argv[2])
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(rank)
debugger = Debugger(model, log_dir=sys.argv[1], budget=1.0)
for step in range(1, 31):
    x = torch.randn(32, 20)
    y = (x.sum(dim=1) > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        average = parameter.grad.clone()
        dist.all_reduce(average)
        if step < parted or rank == 0:
            parameter.grad.copy_(average / 2)
    optimizer.step()
debugger.close()
dist.destroy_process_group()
"""
NEVER = 1000


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "train.py").write_text(SCRIPT)
    train(folder, "together", NEVER)
    train(folder, "parted", 11)
    with serving(folder / "runs") as address:
        yield address


def train(folder: Path, name: str, parted: int) -> None:
    """As torchrun does: one process a rank, told by its environment which one it is."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "train.py", f"runs/{name}", str(parted)]
    ranks = [
        preloaded.Popen(command, env={**common, "RANK": rank}, cwd=folder, stderr=subprocess.PIPE)
        for rank in ("0", "1")
    ]
    for process in ranks:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said.decode()


def test_each_rank_has_its_row_and_they_train_one_model(page: Any, ranked: str) -> None:
    page.goto(f"{ranked}#/ranks?run=together")
    table = page.get_by_role("table", name="Ranks side by side")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(page.get_by_text("All ranks have the same weights")).to_be_visible()
    heads = table.get_by_role("columnheader").all_inner_texts()
    place = next(at for at, head in enumerate(heads) if head.startswith("Norm of weights"))
    cells = [row.locator("th, td").all_inner_texts() for row in table.get_by_role("row").all()[1:]]
    assert cells[0][place] == cells[1][place]
    assert cells[0][heads.index("Last loss")] != cells[1][heads.index("Last loss")], "other data, other losses"
    assert [row[heads.index("Last step")] for row in cells] == ["30", "30"]


def test_ranks_that_part_are_said_with_their_step(page: Any, ranked: str) -> None:
    page.goto(f"{ranked}#/ranks?run=parted")
    said = page.locator(".ranks-apart")
    # Not every step is measured on both, and a norm shows a difference later than it begins.
    expect(said).to_contain_text(re.compile(r"The ranks parted (at step|between steps \d+ and) \d+:"))
    steps = [int(step) for step in re.findall(r"\d+", said.inner_text().partition(":")[0])]
    assert 11 <= steps[-1] <= 30


def test_the_curves_of_a_rank_are_opened_in_place(page: Any, ranked: str) -> None:
    page.goto(f"{ranked}#/ranks?run=together")
    page.get_by_role("link", name="Curves of rank 1").click()
    expect(page.get_by_role("heading", name="Curves of rank 1")).to_be_visible()
    expect(page.get_by_role("img", name="loss of rank 1", exact=False).first).to_be_visible()
    assert "rank=1" in page.url


def test_the_view_is_offered_for_several_ranks_only(page: Any, ranked: str, swept: str) -> None:
    views = page.get_by_role("navigation", name="Views")
    page.goto(f"{ranked}#/verdict?run=together")
    expect(views.get_by_role("link", name="Ranks")).to_be_visible()
    page.goto(f"{swept}#/ranks?run=slow")
    expect(page.get_by_text("This run was made by one process.")).to_be_visible()


def test_it_is_accessible_in_light_and_dark_and_fits_any_width(page: Any, ranked: str) -> None:
    page.goto(f"{ranked}#/ranks?run=together&rank=1")
    page.get_by_role("heading", name="Curves of rank 1").wait_for()
    assert_accessible(page)
    assert_fits(page)
