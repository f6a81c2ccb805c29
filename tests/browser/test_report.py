"""The report as its reader has it: a file on a disk, no network, with JavaScript and without."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import forgiving_page
from tests.browser.recordings import record
from torch_debugger.api import write_report
from torch_debugger.viewer.questions import page_file

HOSTILE = """
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
EVIL = "</script><script>document.title='owned'</script><!-- <img src=x onerror=alert(1)> '\\" \\u202e"
model = nn.Sequential()
model.add_module("<b>" + EVIL.replace(".", ""), nn.Linear(4, 4))
model.add_module("x" * 300, nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
writer = SummaryWriter("board")
for step in range(30):
    x = torch.randn(8, 4)
    loss = nn.functional.cross_entropy(model(x), (x.sum(dim=1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar(EVIL, float("nan") if step == 7 else step, step)
    writer.add_scalar("y" * 400, step, step)
writer.close()
"""


NAMES = ("healthy", "broken", "nan", "board", "hostile")


@pytest.fixture(scope="module")
def reports(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of every recording, and of a run whose names are out for harm."""
    folder = tmp_path_factory.mktemp("reports")
    evil = "<img src=x onerror=alert(1)> '\""
    record(folder, evil, HOSTILE, file="hostile.py")
    for run in recordings.iterdir():
        write_report(run, folder / f"{run.name}.html")
    write_report(recordings.parent / "board", folder / "board.html")
    write_report(folder / "runs" / evil, folder / "hostile.html")
    return folder


def walk(sheet: Any) -> list[str]:
    """Opens every view that the page offers; the keys that were asked for and are not in the file."""
    missing: list[str] = []
    sheet.on("console", lambda said: missing.append(said.text) if "has no answer to" in said.text else None)
    sheet.reload()
    links = sheet.get_by_role("navigation").get_by_role("link")
    links.first.wait_for()
    for place in range(links.count()):
        links.nth(place).click()
        sheet.get_by_role("heading", level=1).first.wait_for()
        while waiting := sheet.locator(".waiting").all():
            waiting[0].wait_for(state="detached")
    return missing


@pytest.fixture
def offline(page: Any) -> Any:
    """No network, and whatever would be fetched all the same is a fault."""
    fetched: list[str] = []
    page.context.set_offline(True)
    page.route(re.compile("^(?!file:|data:)"), lambda route: (fetched.append(route.request.url), route.abort()))
    yield page
    assert fetched == []


@pytest.fixture
def paper(browser: Any) -> Iterator[Any]:
    """A reader without JavaScript."""
    with forgiving_page(browser, java_script_enabled=False) as sheet:
        yield sheet


def test_the_file_is_the_page(offline: Any, reports: Path) -> None:
    if page_file("page.js") is None:
        pytest.skip("the page is not built: npm run build in web/")
    offline.goto((reports / "broken.html").as_uri())
    offline.get_by_role("navigation").wait_for()
    expect(offline.get_by_role("main")).to_contain_text("missing-zero-grad")
    assert offline.locator(".still").count() == 0, "the page has taken the place of the still part"


def test_all_that_the_views_ask_at_first_sight_is_in_the_file_which_is_small(offline: Any, reports: Path) -> None:
    for name in NAMES:
        offline.goto((reports / f"{name}.html").as_uri())
        assert (name, walk(offline)) == (name, [])
        assert offline.get_by_role("alert").count() == 0, name
    sizes = {name: (reports / f"{name}.html").stat().st_size for name in NAMES}
    assert max(sizes.values()) <= 1_000_000, sizes


def test_several_runs_in_one_file_are_compared_at_first_sight(offline: Any, recordings: Path, tmp_path: Path) -> None:
    named = [recordings / name for name in ("healthy", "broken", "nan")]
    write_report(named, tmp_path / "runs.html")
    offline.goto((tmp_path / "runs.html").as_uri())
    assert walk(offline) == []
    offline.get_by_role("link", name="Compare").click()
    expect(offline.get_by_role("heading", level=1)).to_have_text("3 runs compared")
    expect(offline.get_by_role("main")).to_contain_text("Loss of the 3 runs")
    offline.get_by_role("link", name="Runs", exact=True).click()
    expect(offline.get_by_role("main")).to_contain_text(re.compile(r"3 runs, \d with an error"))
    assert offline.get_by_role("alert").count() == 0


def test_what_a_click_asks_for_is_in_the_file_of_a_small_run(reports: Path) -> None:
    kept = re.search(r'id="answers">(.*?)</script>', (reports / "healthy.html").read_text("utf-8"), re.DOTALL)
    assert kept is not None
    names = {key.partition("?")[0] for key in json.loads(kept[1])}
    assert {"layer", "spreads", "model_health", "explain", "samples", "scalars"} <= names


def test_without_javascript_the_verdict_the_curves_and_what_is_not_finite_are_there(paper: Any, reports: Path) -> None:
    paper.goto((reports / "broken.html").as_uri())
    verdict = paper.locator(".still-finding").first
    assert "missing-zero-grad" in verdict.inner_text() and "optimizer.zero_grad()" in verdict.inner_text()
    curve = paper.locator(".still-loss svg .still-line")
    assert curve.bounding_box()["width"] > 300 and curve.bounding_box()["height"] > 50
    assert paper.locator(".still-heat tbody tr").count() > 0
    paper.goto((reports / "nan.html").as_uri())
    assert paper.locator(".still-loss .still-notfinite").bounding_box()["width"] > 100
    assert "values not finite" in paper.locator(".still-loss figcaption").inner_text()
    paper.goto((reports / "healthy.html").as_uri())
    assert "Nothing wrong was found" in paper.locator(".still-lead").inner_text()


def test_hostile_names_do_nothing(offline: Any, reports: Path) -> None:
    said: list[str] = []
    offline.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    offline.goto((reports / "hostile.html").as_uri())
    offline.get_by_role("navigation").wait_for()
    assert said == [] and offline.title() != "owned"
    assert offline.locator("img[src='x']").count() == 0


def test_hostile_names_do_nothing_on_paper_and_it_fits_any_width(paper: Any, reports: Path) -> None:
    for name in ("broken", "hostile"):
        paper.goto((reports / f"{name}.html").as_uri())
        for width in (360, 3840):
            paper.set_viewport_size({"width": width, "height": 800})
            assert paper.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
    assert paper.title() != "owned" and "onerror=alert(1)" in paper.locator("h1").inner_text()
    assert paper.locator("img, iframe, object").count() == 0
