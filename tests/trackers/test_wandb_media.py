"""Images, histograms and tables that the real client wrote offline, taken in as what they are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from PIL import Image

from torch_debugger.integrations.import_runs import adopt, find_foreign_runs
from torch_debugger.log.run import Run
from torch_debugger.records import HistogramSummary, PictureSummary, TextSummary

SCRIPT = """
import numpy, wandb
run = wandb.init(project="media", config={"lr": 0.1})
for step in range(2):
    run.log({
        "loss": 1.0 / (step + 1),
        "sample": wandb.Image(numpy.full((4, 6, 3), 40 * (step + 1), numpy.uint8), caption="one"),
        "several": [wandb.Image(numpy.zeros((4, 4, 3), numpy.uint8)) for _ in range(2)],
        "weights": wandb.Histogram(numpy.arange(100.0), num_bins=10),
        "answers": wandb.Table(columns=["word", "score"], data=[["a|b", 1], ["c", 2.5]]),
    })
run.finish()
"""


def test_they_are_kept_as_what_they_are(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    quiet = {**plain, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "HOME": str(tmp_path / "home")}
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, env=quiet, check=True, timeout=300)
    said: list[str] = []
    (run,) = find_foreign_runs(tmp_path / "wandb", said.append)
    assert not said
    assert {(type(each).__name__, each.tag) for each in run.summaries} == {
        ("PictureSummary", "sample"), ("PictureSummary", "several/0"), ("PictureSummary", "several/1"),
        ("HistogramSummary", "weights"), ("TextSummary", "answers"),
    }  # fmt: skip
    first, second = [each for each in run.summaries if isinstance(each, PictureSummary) and each.tag == "sample"]
    assert (first.step, second.step) == (0, 1) and first.frames.shape == (1, 4, 6, 3)
    assert (first.frames[0, 0, 0, 0], second.frames[0, 0, 0, 0]) == (40, 80)
    bins = next(each for each in run.summaries if isinstance(each, HistogramSummary))
    assert (bins.minimum, bins.maximum, bins.count) == (0.0, 99.0, 100.0) and numpy.allclose(bins.counts, 10)
    table = next(each for each in run.summaries if isinstance(each, TextSummary))
    assert table.text.splitlines() == ["| word | score |", "| --- | --- |", "| a\\|b | 1 |", "| c | 2.5 |"]
    folder = adopt(run, tmp_path / "runs", said.append)
    assert not said
    log = Run(folder)
    assert [each.step for each in log.pictures("sample")] == [0, 1]
    shown = [Image.open(io.BytesIO(each.data)) for each in log.pictures("sample")]
    assert [each.getpixel((5, 3)) for each in shown] == [(40, 40, 40), (80, 80, 80)]
    assert log.pictures("several/1")[0].width == 4
    kept = log.histograms("weights")[1]
    assert kept.counts.tolist() == [10.0] * 10 and (kept.lefts[0], kept.rights[-1]) == (0.0, 99.0)
    assert log.texts("answers")[1].text == table.text
