"""One version of the demo's script, run by the real `torch-debugger run` in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_debugger.demo.story import SCRIPT, Version
from torch_debugger.errors import DebuggerError
from torch_debugger.records import Scalars
from torch_debugger.runlog.reader import LogFollower

_POLL_S = 0.2


@dataclass(frozen=True)
class Played:
    """What came of one version."""

    version: Version
    result: dict[str, Any]  # as `--json` writes it
    losses: tuple[float, ...]
    log: Path

    @property
    def verdict(self) -> dict[str, Any] | None:
        index = self.result["verdict"]
        return None if index is None else self.result["findings"][index]


def play(version: Version, folder: Path, on_step: Callable[[int, float], None]) -> Played:
    """Write the script, run it, and follow its log while it runs."""
    stem = version.file.removesuffix(".py")
    log, result = folder / "runs" / stem, folder / "runs" / f"{stem}.json"
    log.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    shutil.rmtree(log, ignore_errors=True)  # of an earlier demo: its losses are not this run's
    (folder / SCRIPT).write_text(version.text, encoding="utf-8")
    output = folder / "runs" / f"{stem}.txt"
    losses = _run(_command(log, result), folder, output, log, on_step)
    if not result.exists():
        raise DebuggerError(f"The run of {version.file} left no result; its output is in {output}.")
    return Played(version, json.loads(result.read_text(encoding="utf-8")), losses, log)


def _command(log: Path, result: Path) -> list[str]:
    # The story tells of verdicts that must not depend on how many looks a busy machine can afford.
    options = ["--deep-steps", "20", "--log-dir", str(log.resolve()), "--json", str(result.resolve())]
    return [sys.executable, "-m", "torch_debugger", "run", *options, SCRIPT]


def _run(
    command: list[str], folder: Path, output: Path, log: Path, on_step: Callable[[int, float], None]
) -> tuple[float, ...]:
    # One thread: layers this small train no faster with more, and much slower on a busy machine.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    follower = LogFollower(log)
    losses: list[float] = []
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
        try:
            while process.poll() is None:
                _wait(process)
                losses += _new_losses(follower, on_step)
        finally:
            process.terminate()
            process.wait()
    losses += _new_losses(follower, on_step)
    follower.close()
    return tuple(losses)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return


def _new_losses(follower: LogFollower, on_step: Callable[[int, float], None]) -> list[float]:
    records = [record for record in follower.poll() if isinstance(record, Scalars) and "loss" in record.values]
    if records:
        on_step(records[-1].step, records[-1].values["loss"])
    return [record.values["loss"] for record in records]
