"""A small run as its records, its log, and how it ended."""

from __future__ import annotations

import math
from pathlib import Path

import numpy

from tests import fakes
from torch_debugger.integrations.delivery import Ending, ending_of
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import HistogramSummary, HparamsFact, PictureSummary, Record, Surroundings
from torch_debugger.report.result import RunDigest

LOSSES = (2.0, 1.5, math.nan, math.inf, 0.5)


def records() -> list[Record]:
    begun: list[Record] = [
        fakes.run(arguments=("--api-key", "hush-hush")),
        Surroundings(("python", "train.py", "--api-key", "***"), "train.py", "abc123", "print('hush-hush')"),
        HparamsFact({"lr": 0.1, "name": "resnet", "amp": True}, "args", 0),
        fakes.model({"net": "Net"}, {"net.fc1.weight": (4, 8)}),
    ]
    rows = [fakes.rows(2, "update", ("ratio", "change"), {"net.fc1.weight": [0.001, 7.0]})]
    points = [fakes.scalars(step, {"loss": loss, "lr/0": 0.1}) for step, loss in enumerate(LOSSES, 1)]
    return [*begun, *points, *rows, fakes.end(steps=5)]


def write_log(folder: Path) -> None:
    writer = LogWriter(folder, on_fault=print)
    for record in [*records(), *media()]:
        writer.add(record)
    writer.close()


def media() -> list[Record]:
    """A picture and a histogram with more bins than trackers take."""
    red = numpy.zeros((1, 4, 6, 3), numpy.uint8)
    red[..., 0] = 255
    limits, counts = numpy.arange(1.0, 1001.0), numpy.ones(1000)
    return [
        PictureSummary(4, 1_700_000_000.4, "digits", red),
        HistogramSummary(4, 1_700_000_000.4, "weights", 0.0, 1000.0, 1000.0, 0.0, 0.0, limits, counts),
    ]


def ending(exit_code: int = 0, outcome: str = "finished") -> Ending:
    digest = RunDigest("train.py")
    for record in records():
        digest.see(record)
    return ending_of(digest.result([fakes.finding()], exit_code=exit_code, outcome=outcome, checks=1))
