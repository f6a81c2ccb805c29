"""`torch-debugger rehearse`: would a script's training step run on a GPU, and would it fit?"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from typing import TYPE_CHECKING

from torch_debugger.runner.options import OF_TRIALS, add_script_options, read_program
from torch_debugger.settings import Settings
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.system.program import say

if TYPE_CHECKING:
    from torch_debugger.records import StepRehearsal
    from torch_debugger.report.result import RunResult


_STDERR = 2
_FAILED = 1
_PARTS = ("tensors of two devices", "memory of two training steps", "the largest batch that fits")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_script_options(parser, "rehearse")
    parser.epilog = (
        "The script runs up to the end of its first training step. Exit code: 0 if the step fits and has no "
        "device bug, 1 if not; where the script came to no step, its own if that is not 0, else 1."
    )


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.checks.judge import RanksJudge
    from torch_debugger.runner.child_process import interrupts_left_to_child
    from torch_debugger.runner.outputs import exit_code_of, open_log_folder
    from torch_debugger.runner.parent import run_in_child
    from torch_debugger.runner.status import TrialBar, TrialLines

    program = read_program(arguments.program, arguments.module, "rehearse")
    settings = Settings.read(arguments, step_rehearsal=True, **OF_TRIALS)
    _require_gpu(settings.rehearsed_gpu)
    with open_log_folder(None, program.target, keep=False) as folder, interrupts_left_to_child():
        display = (TrialBar if os.isatty(_STDERR) else TrialLines)(_STDERR, _PARTS, "rehearsal")
        result, status = run_in_child(program, settings, RanksJudge(), folder, display)
        code = exit_code_of(status)
    return _conclude(result, code, settings.json_file)


def _require_gpu(text: str) -> None:
    """That it is understood: better now than after the script's first step."""
    if not text:
        return
    from torch_debugger.records.units import gpu_bytes

    try:
        gpu_bytes(text)
    except ValueError as error:
        raise UsageError(f"--gpu-memory: {error}") from None


def _conclude(result: RunResult, code: int, json_file: str | None) -> int:
    """The script's own exit code where it did not come as far as a step."""
    if result.rehearsal is None:
        say(f"nothing was rehearsed{_reason(result, code)}")
        return code or _FAILED
    from rich.console import Console

    from torch_debugger.report.preflight import render_rehearsal
    from torch_debugger.runner.status import fresh_line, write

    rehearsal = _judged(result.rehearsal)
    write(_STDERR, f"{fresh_line(_STDERR)}\n")
    console = Console(stderr=True)
    render_rehearsal(rehearsal, console, result.folder)
    for notice in result.notices:
        console.print(notice.text, style="dim", highlight=False, soft_wrap=True, markup=False)
    if json_file:
        _write(rehearsal, json_file)
    return 0 if rehearsal.passed else _FAILED


def _reason(result: RunResult, code: int) -> str:
    reasons = [*(notice.text for notice in result.notices), *(fault.error for fault in result.faults)]
    if reasons:
        return f". {' '.join(reasons)}"
    if code:
        return ": the script ended before its first training step."
    return ". The script has come to no training step: a backward() of a loss and a step of an optimizer."


def _judged(rehearsal: StepRehearsal) -> StepRehearsal:
    from torch_debugger.checks.setup.tensor_on_wrong_device import TensorOnWrongDevice

    forward = rehearsal.forward
    if forward is None or forward.outcome != "mismatch":
        return rehearsal
    return dataclasses.replace(rehearsal, device_bugs=(TensorOnWrongDevice().judge(forward),))


def _write(rehearsal: StepRehearsal, path: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rehearsal.to_dict(), file, indent=1)
    except OSError as error:
        raise DebuggerError(f"The result cannot be written to {path}: {error.strerror}.") from error
