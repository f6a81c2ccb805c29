"""torch-debugger diff A B: what differs between two runs, and where they part."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

_FIRST_HELP = "a run: the folder of its log, its name under ./runs, or its result.json; base:runs/a calls it base"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("first", metavar="A", help=_FIRST_HELP)
    add("second", metavar="B", help="the run to compare it with")
    add(
        "--replicates",
        metavar="RUN",
        nargs="+",
        default=[],
        help="runs like A or B with other seeds: is the difference more than seeds make?",
    )
    add("--json", metavar="FILE", help="write the whole comparison there as JSON")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.api import diff
    from torch_debugger.runner.outputs import require_writable

    if arguments.json is not None:
        require_writable(arguments.json)
    report = diff(arguments.first, arguments.second, replicates=arguments.replicates)
    if arguments.json is not None:
        Path(arguments.json).write_text(json.dumps(report.to_json(), indent=1, allow_nan=False) + "\n")
    report.print(Console())
    return 0
