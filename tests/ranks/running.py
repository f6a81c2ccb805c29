"""Runs the scripts of this folder, plainly or watched, until nothing of them is left.

All processes, torchrun and the ranks included, are forks of one that has torch imported (tests/preloaded.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from tests import preloaded
from torch_debugger.log.run import Run

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).parents[2]
LIMIT_S = 240.0
_GRACE_S = 20.0  # workers of loaders ask every five seconds whether their parent, which was killed, still lives


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text())
        return found

    @property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["findings"][self.result["verdict"]]
        return found

    @property
    def logs(self) -> list[str]:
        """What is in the one folder of the run."""
        (run,) = (self.folder / "runs").iterdir()
        return sorted(path.name for path in run.iterdir())

    @property
    def log_folder(self) -> Path:
        (run,) = (self.folder / "runs").iterdir()
        return run

    def weights(self) -> list[Any]:
        return [torch.load(path, weights_only=False) for path in sorted(self.folder.glob("weights*.pt"))]


def torchrun(ranks: int) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]


def watched(script: str, *arguments: str) -> list[str]:
    return ["-m", "torch_debugger", "run", "--json", "out.json", str(SCRIPTS / script), *arguments]


def run(folder: Path, command: list[str]) -> Done:
    with running(folder, command) as process:
        process.wait(LIMIT_S)
    return done(folder, process)


@contextmanager
def running(folder: Path, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """At the end nothing of it may run any more; what does is killed all the same."""
    folder.mkdir(exist_ok=True)
    around = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = preloaded.Popen(command, cwd=folder, env=around, stdout=out, stderr=err)
    try:
        yield process
    finally:
        left = _left_in(folder)
        words = [each.as_dict(["pid", "ppid", "status", "cmdline"]) for each in left]
        for each in left:
            each.kill()
        process.wait()
        assert not left, words


def done(folder: Path, process: subprocess.Popen[bytes]) -> Done:
    texts = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
    return Done(process.returncode, *texts, folder)


def processes_in(folder: Path) -> list[psutil.Process]:
    """Those whose working folder it is: also such as lost their parents."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.path.realpath(process.cwd()) == os.path.realpath(folder):
                found.append(process)
        except psutil.Error:  # another's, or gone meanwhile
            continue
    return found


def _left_in(folder: Path) -> list[psutil.Process]:
    deadline = time.monotonic() + _GRACE_S
    while (left := processes_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def logs_are_whole(ended: Done) -> None:
    assert Run(ended.log_folder).damage == []
    assert {"result.json", "report.md"} < set(ended.logs)


def same(one: Any, other: Any) -> bool:
    """To the last bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
