"""Runs a script by the real command in an interpreter of its own, also one of several ranks: with a limit, and
without leaving a process behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.zoo.scripts import launch_of, switches

GRACE_S = 5.0  # in which processes may still be on their way out


def command_of(script: Path, file: Path) -> list[str]:
    """`python -m torch_debugger run` on the file of a script, or torchrun with so many ranks of it."""
    ours = ["run", "--quiet", "--no-log", "--json", "out.json", *switches(script), str(file)]
    way, _, ranks = launch_of(script).partition(" ")
    if way != "torchrun":
        return [sys.executable, "-m", "torch_debugger", *ours]
    # Standalone: each has a port of its own, so that several may run side by side.
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    return [sys.executable, "-m", *torchrun, "-m", "torch_debugger", *ours]


def run_to_its_end(command: list[str], limit_s: float, **options: object) -> int:
    """The exit code; whatever still runs at the limit, or after the end, is killed and complained about."""
    process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        code: int = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        _kill([*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)])
        process.wait()
        raise
    left = _left_in(str(options.get("cwd") or os.getcwd()))
    _kill(left)
    assert not left, f"still running after the end: {left}"
    return code


def _left_in(folder: str) -> list[psutil.Process]:
    """What still runs there, when it has had the time to end."""
    deadline = time.monotonic() + GRACE_S
    while (left := _working_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _working_in(folder: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and os.path.realpath(process.cwd()) == os.path.realpath(folder):
                found.append(process)
        except psutil.Error:  # another's, or gone meanwhile
            continue
    return found


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
