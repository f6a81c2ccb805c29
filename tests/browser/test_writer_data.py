"""What a SummaryWriter has logged, in a real browser: charts of several curves, precision, recall, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.util.tensor_util import make_tensor_proto
from torch.utils.tensorboard import SummaryWriter

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.recordings import serving


def strange_summary(tag: str) -> Summary:
    """Of a plugin that nobody knows."""
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="strange"))
    return Summary(value=[Summary.Value(tag=tag, tensor=make_tensor_proto([1.0, 2.0]), metadata=metadata)])


def record(folder: Path, lr: float) -> None:
    draw = np.random.default_rng(0)
    with SummaryWriter(str(folder)) as writer:
        for step in range(20):
            loss = float(np.exp(-lr * step))
            writer.add_scalar("loss", loss, step)
            writer.add_scalar("band/low", loss - 0.1, step)
            writer.add_scalar("band/high", loss + 0.1, step)
            writer.add_scalars("split", {"train": loss, "val": loss + 0.2}, step)
            if step % 5 == 4:
                labels = draw.integers(0, 2, 200)
                scores = np.clip(labels * lr + draw.uniform(0, 0.6, 200), 0, 1)
                writer.add_pr_curve("cat", labels, scores, step)
        writer.add_custom_scalars(
            {
                "Mine": {
                    "some": ["Multiline", ["loss", "band/.*"]],
                    "band": ["Margin", ["loss", "band/low", "band/high"]],
                },
                "Other": {"none": ["Multiline", ["missing"]]},
            }
        )
        writer._get_file_writer().add_summary(strange_summary("odd"))
        writer.add_hparams({"lr": lr, "width": 8}, {"hparam/accuracy": 1 - lr / 10, "hparam/error": lr / 10})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("written")
    for number, lr in enumerate((0.1, 0.2, 0.4)):
        record(folder / f"run{number}", lr)
    with serving(folder) as address:
        yield address


def test_add_scalars_is_one_chart_and_no_run(page: Any, written: str) -> None:
    page.goto(f"{written}#/curves?run=run1&q=split")
    card = page.get_by_role("article", name="split", exact=True)
    expect(card.get_by_role("img", name="split")).to_be_visible()
    legend = card.locator(".legend, .chart").first
    expect(legend).to_contain_text("train")
    expect(legend).to_contain_text("val")
    expect(page.get_by_role("article")).to_have_count(1)
    card.get_by_role("button", name="Larger").click()
    expect(page.get_by_role("heading", name="Curves of split")).to_be_attached()
    expect(page.get_by_role("img", name="split")).to_be_visible()


def test_a_layout_is_honoured_before_all_else(page: Any, written: str) -> None:
    page.goto(f"{written}#/curves?run=run1")
    sections = page.locator(".curves-group h2")
    expect(sections.first).to_contain_text("Mine")
    assert [text.split()[0] for text in sections.all_inner_texts()][:2] == ["Mine", "Other"]
    card = page.get_by_role("article", name="Mine: some")
    expect(card.get_by_role("img")).to_be_visible()
    for tag in ("loss", "band/low", "band/high"):
        expect(card).to_contain_text(tag)
    expect(page.get_by_role("article", name="Mine: band").get_by_text("±")).to_be_visible()
    expect(page.get_by_text("No tag of this run fits missing.")).to_be_visible()
    page.get_by_role("button", name="Mine 2").click()
    expect(card).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Mine 2")).to_have_attribute("aria-expanded", "false")


def test_precision_over_recall_of_several_runs_at_a_step(page: Any, written: str) -> None:
    page.goto(f"{written}#/pr?run=run0&runs=run2")
    table = page.get_by_role("table", name="cat")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table.get_by_role("row", name="run2")).to_contain_text("19")
    before = table.get_by_role("row", name="run0").inner_text()
    page.get_by_label("All at step").press("Home")
    expect(table.get_by_role("row", name="run0")).not_to_have_text(before)
    expect(table.get_by_role("row", name="run2").get_by_role("cell").first).to_have_text("4")
    assert_accessible(page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert_fits(page)
    page.set_viewport_size({"width": 1400, "height": 900})


def test_metrics_stand_in_the_table_and_on_the_axes(page: Any, written: str) -> None:
    page.goto(f"{written}#/runs")
    table = page.get_by_role("table", name="Runs, with their verdicts")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(table.get_by_role("columnheader", name="accuracy")).to_be_visible()
    expect(table.get_by_role("row", name="run2")).to_contain_text("0.96")
    axes = page.get_by_role("img", name="3 runs over lr, error, last loss, accuracy")
    expect(axes).to_be_visible()
    page.get_by_label("Colour by").select_option("error")
    expect(page.get_by_role("img", name="3 runs over lr, accuracy, last loss, error")).to_be_visible()


def test_what_the_page_cannot_show_is_said(page: Any, written: str) -> None:
    for view in ("verdict", "pictures"):
        page.goto(f"{written}#/{view}?run=run0")
        expect(page.get_by_text("not shown by this page: 1 tag of the plugin strange (odd)")).to_be_visible()
