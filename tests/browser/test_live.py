"""A run that goes on: what is written is seen, also across the end of the server and its return."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import preloaded
from tests.browser.chromium import forgiving_page
from tests.browser.recordings import serving

TRAINS = """
import os, sys, time
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(steps):
    for _ in range(steps):
        loss = model(torch.randn(16, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

for number, steps in enumerate((20, 30)):
    train(steps)
    while not os.path.exists(f"go{number}"):
        time.sleep(0.05)
"""


@pytest.fixture
def training(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Trains 20 steps, waits for the file go0, trains 30 more, waits for go1."""
    (tmp_path / "train.py").write_text(TRAINS)
    command = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", "runs/live", "train.py"]
    process = preloaded.Popen(command, cwd=tmp_path)
    yield process
    for number in range(2):
        (tmp_path / f"go{number}").touch()
    process.wait(600)


def head_says(page: Any, text: str) -> None:
    expect(page.locator("header")).to_contain_text(text)


def test_what_a_training_does_is_seen_while_it_does_it(
    browser: Any, training: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir(exist_ok=True)
    with forgiving_page(browser) as page:
        with serving(tmp_path / "runs") as address:
            port = int(address.rstrip("/").rpartition(":")[2])
            page.goto(f"{address}#/verdict?run=live")
            head_says(page, "20 steps")
            head_says(page, "Running")
            (tmp_path / "go0").touch()
            head_says(page, "50 steps")
        expect(page.get_by_text("The server does not answer")).to_be_visible()
        (tmp_path / "go1").touch()
        training.wait(600)
        with serving(tmp_path / "runs", port):
            expect(page.get_by_text("The server does not answer")).to_have_count(0)
            head_says(page, "Finished")
            page.goto("about:blank")


def test_a_page_that_needs_a_token_keeps_it_out_of_sight(page: Any, recordings: Path) -> None:
    with serving(recordings, token="s3cret") as address:
        page.goto(f"{address}?token=s3cret#/verdict?run=broken")
        head_says(page, "broken")
        assert page.url == f"{address}#/verdict?run=broken"
        page.reload()
        head_says(page, "broken")
        page.goto("about:blank")


ENDLESS = """
import os
import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
while not os.path.exists("enough"):
    x = torch.randn(32, 20)
    loss = nn.functional.cross_entropy(model(x), (x.sum(dim=1) > 0).long())
    loss.backward()
    optimizer.step()
    time.sleep(0.02)
"""


def test_a_run_is_followed_from_its_first_step_to_its_end(page: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ENDLESS)
    runs = tmp_path / "runs"
    command = [sys.executable, "-m", "torch_debugger", "run", "--log-dir", str(runs / "live"), "train.py"]
    training = preloaded.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with serving(runs) as address:
            page.goto(address)
            expect(page.locator("header .badge-running")).to_be_visible()
            expect(page.locator(".verdict-kicker")).to_contain_text("so far, at step")
            before = _steps(page)
            expect(page.locator(".frame-state")).not_to_contain_text(f"{before:,} step")
            (tmp_path / "enough").touch()
            expect(page).to_have_title(re.compile("Finished"))
            expect(page.locator(".verdict-kicker")).to_have_text("■ error missing-zero-grad TD101")
            assert _steps(page) > before
            page.goto("about:blank")
    finally:
        (tmp_path / "enough").touch()
        training.wait(600)


def _steps(page: Any) -> int:
    return int(page.locator(".frame-state").inner_text().split(" step")[0].split("\n")[-1].replace(",", ""))
