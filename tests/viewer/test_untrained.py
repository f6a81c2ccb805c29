"""A script that called a model and trained nothing: the page and the still part say what the report says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests import fakes
from tests.viewer.reading_html import read_html
from torch_debugger.log.run import Run
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Notice, Place, Record, UntrainedModel
from torch_debugger.viewer.report_page import still_page
from torch_debugger.viewer.verdict import verdict


def logged(folder: Path, records: Sequence[Record], steps: int = 0, counted: str = "optimizer steps") -> Run:
    writer = LogWriter(folder / "look", on_fault=print)
    for record in [fakes.run(script="look.py", folder=str(folder)), *records]:
        writer.add(record)
    writer.add(fakes.end(steps=steps, counted=counted))
    writer.close()
    return Run(folder / "look")


def test_what_was_seen_and_what_can_be_done(tmp_path: Path) -> None:
    run = logged(tmp_path, [UntrainedModel("net", "Net", 20, 20, Place("look.py", 3))])
    told = verdict(run)["without_a_step"]
    assert told["seen"] == (
        "look.py finished: `net` (Net) was called 20 times; no backward() and no optimizer step was seen."
    )
    assert told["next"].startswith("No NaN in 20 outputs looked at. torch_debugger.activations(net, x)")
    text = " ".join(read_html(still_page(run)).text.split())
    assert "look.py finished: net (Net) was called 20 times" in text
    assert "No NaN in 20 outputs looked at." in text and "no training step was seen" not in text


def test_torch_that_was_imported_and_torch_that_was_not(tmp_path: Path) -> None:
    told = verdict(logged(tmp_path / "imported", [Notice("x", "A notice.")]))["without_a_step"]
    assert told["seen"] == ("look.py finished; it imported torch, but no model was called and nothing was trained.")
    made = verdict(logged(tmp_path / "made", [fakes.model({"net": "Net"}, {"net.w": (4,)})]))["without_a_step"]
    assert made["seen"] == "look.py finished; no training step was seen."
    assert "no training could be judged" in made["next"]


def test_a_run_with_steps_says_nothing_of_the_kind_and_knows_its_unit(tmp_path: Path) -> None:
    told = verdict(logged(tmp_path, [fakes.scalars(1, loss=1.0)], steps=1, counted="backward passes"))
    assert told["without_a_step"] is None
    assert (told["counted"], told["counted_one"]) == ("backward passes", "backward pass")
