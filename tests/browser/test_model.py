"""The model's view on trained runs: a residual net, a transformer, and two models that go NaN."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible
from tests.browser.polling import wait_until
from tests.browser.recordings import record, serving

RESIDUAL = """
import torch
from torch import nn

class Residual(nn.Module):
    def __init__(self, inner, outer, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1)
        self.bn1 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1)
        self.short = nn.Conv2d(inner, outer, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.conv2(self.relu(self.bn1(self.conv1(x)))) + self.short(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.blocks = nn.Sequential(Residual(8, 8), Residual(8, 16, 2))
        self.head = nn.Linear(16, 4)

    def forward(self, images):
        return self.head(self.blocks(self.stem(images)).mean((2, 3)))

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(12):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 3, 12, 12)), torch.randint(0, 4, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TRANSFORMER = """
import torch
from torch import nn

torch.manual_seed(0)
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)))

model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(8):
    tokens = torch.randint(0, 50, (4, 10))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten() % 5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TWO = """
import torch
from torch import nn

torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
netD = nn.Sequential(nn.Linear(16, 8), nn.LeakyReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD([*netG.parameters(), *netD.parameters()], lr=0.01)
for step in range(40):
    loss = netD(netG(torch.randn(16, 8))).pow(2).mean()
    if step >= 20:
        loss = (loss - loss) / (loss - loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SCRIPTS = {"residual": RESIDUAL, "transformer": TRANSFORMER, "two": TWO}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    for name, script in SCRIPTS.items():
        record(folder, name, script)
    with serving(folder / "runs") as address:
        yield address


def box(page: Any, path: str) -> Any:
    return page.get_by_role("button", name=re.compile(rf"^{re.escape(path)}, "))


def test_the_drawing_opens_and_closes_by_click_and_key(page: Any, models: str) -> None:
    page.goto(f"{models}#/model?run=residual")
    page.get_by_role("heading", name="model Net").wait_for()
    block = box(page, "model.blocks.0")
    block.wait_for()
    assert block.get_attribute("aria-expanded") == "true"
    assert box(page, "model.blocks.0.conv1").count() == 1
    assert page.get_by_role("button", name=re.compile("^add")).count() == 2, "the shortcuts of the residual blocks"
    assert page.locator(".model-line").count() >= 14
    block.click()
    wait_until(page, "() => location.hash.includes('open=')")
    expect(box(page, "model.blocks.0")).to_have_attribute("aria-expanded", "false")
    expect(box(page, "model.blocks.0.conv1")).to_have_count(0)
    box(page, "model.blocks.0").focus()
    page.keyboard.press("Enter")
    box(page, "model.blocks.0.conv1").wait_for()
    facts = page.get_by_role("complementary", name="Chosen module")
    assert "Residual" in facts.inner_text()
    assert "[8, 8, 12, 12]" in facts.inner_text()


def test_alike_layers_are_folded_and_the_search_opens_the_way(page: Any, models: str) -> None:
    page.goto(f"{models}#/model?run=transformer")
    page.get_by_role("button", name=re.compile("^11 more like")).wait_for()
    assert box(page, "model.encoder.layers.7.linear1").count() == 0
    page.keyboard.press("/")
    page.keyboard.type("layers.7.linear1")
    page.keyboard.press("Enter")
    found = box(page, "model.encoder.layers.7.linear1")
    found.wait_for()
    sheet = page.locator(".model-sheet").bounding_box()
    wait_until(
        page,
        """() => { const box = document.querySelector('.model-chosen').getBoundingClientRect();
             const sheet = document.querySelector('.model-sheet').getBoundingClientRect();
             return box.top > sheet.top && box.bottom < sheet.bottom; }""",
    )
    assert sheet is not None
    assert "module=model.encoder.layers.7.linear1" in page.url
    assert page.get_by_role("link", name="Its numbers over time").get_attribute("href").startswith("#/layers?")


def test_one_of_several_models_is_chosen_its_colours_follow_the_step_and_nan_has_its_own(
    page: Any, models: str
) -> None:
    page.goto(f"{models}#/model?run=two")
    page.get_by_role("heading", name="netG Sequential").wait_for()
    page.get_by_role("combobox", name="Model").select_option("netD")
    page.get_by_role("heading", name="netD Sequential").wait_for()
    page.goto(f"{models}#/model?run=two&root=netD&colour=parameter.gradient")
    first = box(page, "netD.0")
    first.wait_for()
    page.get_by_text("NaN or Inf").wait_for()
    expect(first).to_have_attribute("aria-label", re.compile("NaN"))
    expect(first.locator(".model-face")).to_have_attribute("style", re.compile("notfinite"))
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("Home")
    wait_until(page, "() => location.hash.includes('step=1')")
    expect(box(page, "netD.0").locator(".model-face")).to_have_attribute("style", re.compile("rgb"))
    assert "NaN" not in box(page, "netD.0").get_attribute("aria-label")


def test_nothing_grave_for_those_who_cannot_see_it(page: Any, models: str) -> None:
    page.goto(f"{models}#/model?run=transformer&colour=activation.std")
    box(page, "model.embed").wait_for()
    assert_accessible(page)
    page.goto(f"{models}#/model?run=two&look=table&colour=parameter.gradient&module=netG.0")
    page.get_by_role("treegrid").wait_for()
    assert_accessible(page)


def test_the_table_tells_the_same_without_the_drawing(page: Any, models: str) -> None:
    page.goto(f"{models}#/model?run=residual&look=table&colour=parameters")
    row = page.get_by_role("row", name=re.compile("^▾? ?model Net"))
    row.wait_for()
    row.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator("tr[aria-selected=true]").wait_for()
    assert page.locator("tr[aria-selected=true]").get_attribute("data-path") == "model.blocks"
    page.locator("tr[data-path='model.blocks.1']").wait_for()


def test_zoom_by_buttons_keys_and_wheel(page: Any, models: str) -> None:
    page.goto(f"{models}#/model?run=residual")
    box(page, "model.stem").wait_for()

    def scale() -> str:
        moved = page.locator(".model-sheet svg > g").get_attribute("transform")
        return re.search(r"scale\(([\d.]+)\)", moved)[1]  # type: ignore[index]

    start = scale()
    page.get_by_role("button", name="Closer").click()
    assert float(scale()) > float(start)
    page.locator(".model-sheet").focus()
    page.keyboard.press("-")
    wait_until(page, f"() => document.querySelector('.model-sheet g').outerHTML.includes('scale({start})')")
    page.locator(".model-sheet").hover()
    page.mouse.wheel(0, 200)
    wait_until(page, "scrollY > 0")  # the page scrolls past the drawing
    assert scale() == start
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    wait_until(page, f"() => !document.querySelector('.model-sheet g').outerHTML.includes('scale({start})')")
    assert float(scale()) > float(start)
    page.keyboard.press("0")


def test_a_box_that_gets_the_focus_comes_into_sight(page: Any, models: str) -> None:
    page.goto(f"{models}#/model?run=residual")
    box(page, "model.stem").wait_for()
    for _ in range(6):
        page.get_by_role("button", name="Closer").click()
    page.locator(".model-sheet").focus()
    for _ in range(4):
        page.keyboard.press("Tab")
    wait_until(
        page,
        """() => { const box = document.activeElement.getBoundingClientRect();
             const sheet = document.querySelector('.model-sheet').getBoundingClientRect();
             return document.activeElement.dataset.key && box.top >= sheet.top && box.left >= sheet.left
                 && box.top < sheet.bottom && box.left < sheet.right; }""",
    )


def test_a_narrow_screen_gets_the_table_and_nothing_overflows(page: Any, models: str) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(f"{models}#/model?run=transformer&colour=activation.std&module=model.head")
    page.get_by_role("treegrid").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
