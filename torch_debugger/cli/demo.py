"""torch-debugger demo: a broken training script, found out and fixed bug by bug."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console
from rich.status import Status

from torch_debugger.demo.playing import Played, play
from torch_debugger.demo.showing import Stage
from torch_debugger.demo.story import BEFORE, SCRIPT, VERSIONS, Version
from torch_debugger.errors import DebuggerError, UsageError

NAME = "demo"
HELP = "watch a broken training script being debugged, in under a minute"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        default="torch-debugger-demo",
        help="where the script, its pictures and its logs go (default: torch-debugger-demo)",
    )


def run(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    stage = Stage(Console())
    folder = _prepare(Path(arguments.output))
    stage.opening(folder)
    played = [_play(number, stage, folder) for number in range(1, len(VERSIONS) + 1)]
    by_version = {each.version: each for each in played}
    stage.curves(by_version[BEFORE], played[-1])
    stage.closing(folder, played[-1], time.monotonic() - started)
    return 0


def _prepare(folder: Path) -> Path:
    script = folder / SCRIPT
    if script.exists() and script.read_text(encoding="utf-8") not in {each.text for each in VERSIONS}:
        raise UsageError(
            f"{script} is not the demo's own and would be overwritten; name another --output folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DebuggerError(f"The demo cannot make its folder {folder}: {error.strerror}.") from error
    return folder


def _play(number: int, stage: Stage, folder: Path) -> Played:
    version = VERSIONS[number - 1]
    stage.heading(number, version)
    played = _run_visibly(version, stage, folder)
    stage.finding(played)
    _compare(played)
    if number < len(VERSIONS):
        stage.change(version, VERSIONS[number])
    return played


def _run_visibly(version: Version, stage: Stage, folder: Path) -> Played:
    doing = f"torch-debugger run {SCRIPT}"

    def show(step: int, loss: float) -> None:
        status.update(f"{doing}: step {step}, loss {loss:.4g}")

    status: Status = stage.console.status(doing)
    with status:
        return play(version, folder, show)


def _compare(played: Played) -> None:
    """The demo tells a story; where this machine tells another, say so instead of going on."""
    found = played.verdict["name"] if played.verdict else None
    if found != played.version.verdict:
        raise DebuggerError(
            f"This version should give {played.version.verdict or 'no verdict'}, not {found or 'none'}. "
            f"The log is in {played.log}; please report it."
        )
