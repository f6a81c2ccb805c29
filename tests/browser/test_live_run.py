from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests import preloaded
from tests.browser.recordings import serving

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
