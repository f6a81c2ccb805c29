from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import assert_accessible
from tests.browser.recordings import record, serving

CRASH = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.head = nn.Linear(100, 10)

    def forward(self, x):
        flat = torch.relu(self.conv(x)).flatten(1)
        return self.head(flat)


api_key = "sk-AbCdEfGh0123456789IjKl"
model = Net()
images = torch.randn(16, 1, 12, 12)
loss = model(images).sum()
"""

FOREIGN = """
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/foreign")
for step in range(50):
    writer.add_scalar("train/loss", 1 / (step + 1), step)
writer.close()
"""


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("crashed")
    (folder / "crash.py").write_text(CRASH)
    record(folder / "crash.py", folder / "runs" / "crash")
    with serving(folder / "runs") as address:
        yield address


def test_the_first_screen_says_what_is_wrong_where_and_what_to_change(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=broken")

    heading = page.get_by_role("heading", level=1)
    heading.wait_for()
    assert "The gradients of optimizer have not been cleared since step 2" in heading.inner_text()
    assert page.locator(".code-marked code").inner_text() == "    loss.backward()"
    assert page.locator(".diff-added code").inner_text() == "optimizer.zero_grad()"
    assert page.get_by_role("row", name="carried norm").is_visible()
    assert "broken.py:12" in page.locator(".verdict-place").inner_text()
    assert "since step 2" in page.locator(".verdict-place").inner_text()


def test_the_loss_beside_it_has_the_step_marked_and_says_what_is_not_finite(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=nan")

    picture = page.get_by_role("img")
    picture.wait_for()
    words = picture.get_attribute("aria-label")
    assert "the finding begins at step 41" in words
    assert "1 +Inf" in words or "NaN" in words
    assert page.get_by_text("40 values are NaN or Inf, the first at step 41.").is_visible()


def test_a_healthy_run_says_so_and_what_was_checked(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=healthy")

    page.get_by_role("heading", level=1, name="Nothing wrong found.").wait_for()
    page.get_by_role("heading", name="What was checked").wait_for()
    assert page.get_by_role("row", name="Training loop and loss").is_visible()
    assert "every probe stayed on" in page.locator(".verdict-unseen").inner_text()


def test_more_about_a_check_is_the_text_of_explain(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=broken")

    page.get_by_text("More about missing-zero-grad").click()

    page.get_by_text("Gradient accumulation is not reported", exact=False).wait_for()


def test_a_note_opens_in_place_and_the_address_keeps_it(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=healthy")
    page.locator("summary", has_text="bias-before-batchnorm").click()
    page.get_by_role("heading", name="What to change").wait_for()
    assert "finding=bias-before-batchnorm" in page.url

    page.reload()

    page.get_by_role("heading", name="What to change").wait_for()


def test_a_crash_shows_the_frames_with_what_the_variables_held(page: Any, crashed: str) -> None:
    page.goto(f"{crashed}#/verdict?run=crash")

    page.get_by_role("heading", name="The crash").wait_for()
    assert "800 features per sample but was built for 100" in page.get_by_role("heading", level=1).inner_text()
    assert page.get_by_role("row", name="flat Tensor [16, 800], float32 on cpu").is_visible()
    assert page.locator(".diff-removed code").inner_text() == "self.head = nn.Linear(100, 10)"
    assert page.get_by_text("crash.py:14 in forward").is_visible()
    assert_accessible(page)


def test_the_log_of_another_tool_says_that_nothing_watched_it(page: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FOREIGN)
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True)
    with serving(tmp_path / "runs") as address:
        page.goto(f"{address}#/verdict?run=foreign")

        page.get_by_role("heading", level=1, name="Nothing watched this run.").wait_for()
        assert page.get_by_text("Its last step is 49; the loss went from 1 to 0.02.").is_visible()
        assert page.get_by_text("torch-debugger run train.py").is_visible()
        assert "Log of another tool" in page.title()
        page.goto("about:blank")


def test_what_the_page_shows_of_the_script_has_no_secrets(page: Any, crashed: str) -> None:
    page.goto(f"{crashed}#/verdict?run=crash")
    page.get_by_text("crash.py:20 in <module>").click()

    shown = page.locator(".code", has_text="api_key").first
    shown.wait_for()
    assert "AbCdEfGh" not in page.content()


@pytest.mark.parametrize("run", ["broken", "nan", "healthy"])
def test_it_is_accessible_in_light_and_dark(page: Any, served: str, run: str) -> None:
    page.goto(f"{served}#/verdict?run={run}")
    page.get_by_role("heading", level=1).wait_for()
    page.get_by_text("What was checked").first.wait_for()

    assert_accessible(page)


@pytest.mark.parametrize("width", [360, 1400, 3840])
def test_the_page_never_scrolls_sideways(page: Any, served: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{served}#/verdict?run=broken")
    page.get_by_role("heading", level=1).wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") == width
