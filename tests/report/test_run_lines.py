"""Runs as lines of a table in a terminal."""

from __future__ import annotations

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console

from torch_debugger.report.tables import RunLine, differing_hparams, render_runs


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = ["x" * 300, "short", "a/b c"]
    now = time.time()
    lines = [
        RunLine(
            name,
            "finished",
            "missing-zero-grad",
            "error",
            10**9,
            float("nan"),
            [1.0] * 9,
            1e6,
            now,
            {"lr": name},
        )
        for name in names
    ]
    console = Console(file=io.StringIO(), width=width)

    render_runs(lines, console)

    assert max(map(len, console.file.getvalue().splitlines())) <= width  # type: ignore[attr-defined]


def test_names_are_cut_where_a_sweep_is_the_same_so_that_what_differs_has_room() -> None:
    console = Console(file=io.StringIO(), width=80)
    lines = [
        RunLine(f"sweep-20261116-112233-a-long-name-{number:04}", "finished", "nothing found", "", 480, 0.002599)
        for number in (1, 2)
    ]
    rates = [replace(line, hparams={"lr": rate}) for line, rate in zip(lines, (0.1, 3.333e-5), strict=True)]

    render_runs(rates, console)

    head, *rows = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert head.endswith("lr")
    assert [(row.split()[0][-4:], row.split()[-1]) for row in rows] == [("0001", "0.1"), ("0002", "3.333e-05")]
    assert all("..." in row for row in rows)


def test_only_what_differs_is_shown() -> None:
    assert differing_hparams([{"lr": 1, "seed": 1}, {"lr": 1, "seed": 2}, {"lr": 1, "seed": 1, "new": 0}]) == [
        "seed",
        "new",
    ]
    assert differing_hparams([{"lr": 1, "adam.lr": 1, "sgd.lr": 3}, {"lr": 2, "adam.lr": 2, "sgd.lr": 4}]) == [
        "lr",
        "sgd.lr",
    ]
    assert differing_hparams([{"lr": 1}]) == [] == differing_hparams([])
