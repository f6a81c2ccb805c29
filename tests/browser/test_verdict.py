from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from torch.utils.tensorboard import SummaryWriter

from tests.browser.accessibility import assert_accessible, assert_fits
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


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("crashed")
    record(folder, "crash", CRASH)
    with serving(folder / "runs") as address:
        yield address


def test_the_first_screen_says_what_is_wrong_where_what_to_change_and_more_on_request(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=broken")
    heading = page.get_by_role("heading", level=1)
    heading.wait_for()
    assert "The gradients of optimizer have not been cleared since step 2" in heading.inner_text()
    assert page.locator(".code-marked code").inner_text() == "    loss.backward()"
    assert page.locator(".diff-added code").inner_text() == "optimizer.zero_grad()"
    assert page.get_by_role("row", name="carried norm").is_visible()
    assert "broken.py:12" in page.locator(".verdict-place").inner_text()
    assert "since step 2" in page.locator(".verdict-place").inner_text()
    page.get_by_text("More about missing-zero-grad").click()
    page.get_by_text("Gradient accumulation is not reported", exact=False).wait_for()


def test_the_loss_beside_it_has_the_step_marked_and_says_what_is_not_finite(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=nan")
    picture = page.get_by_role("img")
    picture.wait_for()
    words = picture.get_attribute("aria-label")
    assert "the finding begins at step 41" in words
    assert "1 +Inf" in words or "NaN" in words
    assert page.get_by_text("40 values are NaN or Inf, the first at step 41.").is_visible()


def test_a_healthy_run_says_so_and_what_was_checked_and_the_address_keeps_an_open_note(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=healthy")
    page.get_by_role("heading", level=1, name="Nothing wrong found.").wait_for()
    page.get_by_role("heading", name="What was checked").wait_for()
    assert page.get_by_role("row", name="Training loop and loss").is_visible()
    assert "every probe stayed on" in page.locator(".verdict-unseen").inner_text()
    page.locator("summary", has_text="bias-before-batchnorm").click()
    page.get_by_role("heading", name="What to change").wait_for()
    assert "finding=bias-before-batchnorm" in page.url
    page.reload()
    page.get_by_role("heading", name="What to change").wait_for()


def test_a_crash_shows_the_frames_with_what_the_variables_held_and_no_secrets(page: Any, crashed: str) -> None:
    page.goto(f"{crashed}#/verdict?run=crash")
    page.get_by_role("heading", name="The crash").wait_for()
    assert "800 features per sample but was built for 100" in page.get_by_role("heading", level=1).inner_text()
    assert page.get_by_role("row", name="flat Tensor [16, 800], float32 on cpu").is_visible()
    assert page.locator(".diff-removed code").inner_text() == "self.head = nn.Linear(100, 10)"
    assert page.get_by_text("crash.py:14 in forward").is_visible()
    assert_accessible(page)
    page.get_by_text("crash.py:20 in <module>").click()
    page.locator(".code", has_text="api_key").first.wait_for()
    assert "AbCdEfGh" not in page.content(), "a secret of the script's"


def test_the_log_of_another_tool_says_that_nothing_watched_it(page: Any, tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "foreign")) as writer:
        for step in range(50):
            writer.add_scalar("train/loss", 1 / (step + 1), step)
    with serving(tmp_path) as address:
        page.goto(f"{address}#/verdict?run=foreign")
        page.get_by_role("heading", level=1, name="Nothing watched this run.").wait_for()
        assert page.get_by_text("Its last step is 49; the loss went from 1 to 0.02.").is_visible()
        assert page.get_by_text("torch-debugger run train.py").is_visible()
        assert "Log of another tool" in page.title()
        page.goto("about:blank")


def test_it_is_accessible_in_light_and_dark_and_fits_any_width(page: Any, served: str) -> None:
    for run in ("nan", "healthy", "broken"):
        page.goto(f"{served}#/verdict?run={run}")
        page.get_by_role("heading", level=1).wait_for()
        page.get_by_text("What was checked").first.wait_for()
        expect(page).to_have_title(re.compile(f"^{run}"))
        assert_accessible(page)
    assert_fits(page, (360, 1400, 3840))
