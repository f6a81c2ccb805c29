"""`torch-debugger doctor`: a script's model, batch, loss and optimizer tried at its first step."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from torch_debugger.runner.options import OF_TRIALS, add_script_options, read_program
from torch_debugger.settings import Settings
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.program import say

if TYPE_CHECKING:
    from torch_debugger.report.result import RunResult


_STDERR = 2
_FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    picture = "where the picture of learning rates goes (default: here)"
    parser.add_argument("--out", metavar="FOLDER", default=".", help=picture)
    add_script_options(parser, "doctor")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.checks.judge import RanksJudge
    from torch_debugger.runner.child_process import interrupts_left_to_child
    from torch_debugger.runner.outputs import exit_code_of, open_log_folder
    from torch_debugger.runner.parent import run_in_child
    from torch_debugger.runner.status import TrialBar, TrialLines

    program = read_program(arguments.program, arguments.module, "doctor")
    settings = Settings.read(arguments, preflight=True, **OF_TRIALS)
    out = _folder(arguments.out)
    with open_log_folder(None, program.target, keep=False) as folder, interrupts_left_to_child():
        display = TrialBar(_STDERR) if os.isatty(_STDERR) else TrialLines(_STDERR)
        result, status = run_in_child(program, settings, RanksJudge(), folder, display)
        code = exit_code_of(status)
    return _conclude(result, code, out)


def _folder(chosen: str) -> Path:
    folder = Path(chosen).absolute()  # the script may change folders
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DebuggerError(f"The folder {chosen} cannot be made: {error.strerror}.") from error
    return folder


def _conclude(result: RunResult, code: int, out: Path) -> int:
    """The script's own exit code where it did not come as far as its first backward."""
    if not result.trials:
        reasons = [*(notice.text for notice in result.notices), *(fault.error for fault in result.faults)]
        why = " ".join(reasons) or "The script has come to no backward() of a loss."
        say(f"nothing was tried. {why}" if code == 0 else "nothing was tried: the script ended before its first step.")
        return code
    from rich.console import Console

    from torch_debugger.report.preflight import render_checkup
    from torch_debugger.runner.status import fresh_line, write

    write(_STDERR, f"{fresh_line(_STDERR)}\n")
    picture = _draw(result, out)
    console = Console(stderr=True)
    render_checkup(result.case, result.trials, console, folder=result.folder or "", picture=picture)
    for notice in result.notices:
        console.print(notice.text, style="dim", highlight=False, soft_wrap=True, markup=False)
    return _FAILED if any(trial.outcome == "failed" for trial in result.trials) else 0


def _draw(result: RunResult, out: Path) -> str:
    """The path of the learning rates' picture; empty where there is nothing to draw."""
    drawn = next((trial for trial in result.trials if trial.rates), None)
    if drawn is None:
        return ""
    from torch_debugger.report.preflight import draw_rates

    path = out / f"{Path(result.script).stem}-rates.png"
    try:
        draw_rates(drawn, path)
    except OSError as error:
        say(f"the picture of learning rates could not be written to {path}: {error.strerror}.")
        return ""
    return os.path.relpath(path)
