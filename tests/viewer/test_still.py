"""What a report shows without a script. WRITE_GOLDEN=1 writes the texts anew; then read the difference."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests import fakes
from tests.report.results import SCRIPT, all_results, write_script
from tests.viewer.reading_html import read_html
from torch_debugger.log.curves import Curve
from torch_debugger.log.run import Run
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Scalars, Surroundings, Table, TensorRows
from torch_debugger.report.json_and_markdown import to_json
from torch_debugger.viewer.report_figures import curve_figure
from torch_debugger.viewer.report_page import still_page

GOLDEN = Path(__file__).parent / "golden"
NAN = float("nan")


def write_run(folder: Path, name: str) -> Run:
    """A log as `torch-debugger run` leaves it."""
    write_script(folder)
    result = all_results(folder)[name]
    writer = LogWriter(folder / name, on_fault=print)
    writer.add(fakes.run(folder=str(folder), started=0.0))
    writer.add(Surroundings(("train.py",), str(folder / "train.py"), "", SCRIPT))
    for step in range(1, 1201):
        values = {"loss": 2.0 / step if step < 1000 else NAN, "lr": 1e-3}
        writer.add(Scalars(step, float(step), values))
    table = Table("parameter", "net", ("net.0.weight", "net.2.weight"), ("grad_norm", "weight_norm"))
    for step in (1, 600, 1200):
        grad = np.array([[0.5 / step, 1.0], [NAN if step == 1200 else 0.0, 1.0]], np.float32)
        writer.add(TensorRows(step, table, grad))
    writer.add(fakes.end(steps=1200))
    writer.close()
    (folder / name / "result.json").write_text(json.dumps(to_json(result)))
    return Run(folder / name)


@pytest.mark.parametrize("name", ["verdict", "healthy", "hostile"])
def test_the_words_of_the_page(tmp_path: Path, name: str) -> None:
    text = read_html(still_page(write_run(tmp_path, name))).text
    text = "\n".join(line for line in text.split("\n") if not line.startswith(" started"))
    path = GOLDEN / f"still_{name}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_nothing_from_a_run_is_more_than_text(tmp_path: Path) -> None:
    page = read_html(still_page(write_run(tmp_path, "hostile")))
    assert not {"script", "img", "iframe", "style", "b2"} & {tag for tag, _ in page.elements}
    assert not [attributes for _, attributes in page.elements if any(name.startswith("on") for name in attributes)]
    assert "\x1b" not in page.text and "\u202e" not in page.text


def points(*values: float) -> Curve:
    count = len(values)
    return Curve(np.arange(1, count + 1), np.array(values), np.arange(count, dtype=np.float64))


def paths(markup: str) -> dict[str | None, str]:
    found = [attributes for tag, attributes in read_html(markup).elements if tag == "path"]
    return {each["class"]: each["d"] or "" for each in found}


def test_what_is_not_finite_is_marked_and_breaks_the_line() -> None:
    drawn = paths(curve_figure("loss", points(1.0, 2.0, NAN, float("inf"), 3.0, 1.0)))
    assert drawn["still-line"].count("M") == 2
    assert drawn["still-notfinite"].count("m-3 0") == 2


def test_a_spike_between_a_million_points_is_drawn() -> None:
    values = np.zeros(1_000_000)
    values[123_456] = 7.0
    markup = curve_figure("loss", Curve(np.arange(1_000_000), values, values))
    assert " 16.0" in paths(markup)["still-line"], "the top of the drawing is reached"
    assert len(markup) < 12_000


@pytest.mark.parametrize("values", [(NAN,), (1.0,), (2.0, 2.0), (NAN, NAN), (-1.0, float("-inf")), (1e-30, 1e30)])
def test_odd_curves_are_drawn(values: tuple[float, ...]) -> None:
    markup = curve_figure("odd", points(*values))
    assert "nan" not in " ".join(paths(markup).values())


def test_a_finding_is_pointed_at_where_it_begins() -> None:
    drawn = paths(curve_figure("loss", points(1.0, 2.0, 3.0), marked=[2, 99]))
    assert drawn["still-mark"] == "M280.0 16V200"


def test_a_log_of_another_tool_is_not_called_healthy(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "theirs", on_fault=print)
    writer.add(Scalars(1, 0.0, {"accuracy": 0.5}))
    writer.close()
    text = read_html(still_page(Run(tmp_path / "theirs"))).text
    assert "torch-debugger did not watch this run" in text and "Nothing wrong" not in text


def test_the_code_is_that_of_the_log_whatever_the_disk_says(tmp_path: Path) -> None:
    run = write_run(tmp_path, "verdict")
    script = tmp_path / "train.py"
    script.write_text(script.read_text().replace("loss.backward()", "something_else()"))
    assert "something_else" not in still_page(run) and "loss.backward()" in still_page(run)
