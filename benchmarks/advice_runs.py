"""One script of the zoo watched by torch-debugger, and what its steps took, by kinds of time and bytes."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # which every optimizer imports when it is first made

import torch_debugger.runner.plumbing  # noqa: F401  once for all forks
from tests.zoo.runner import FRESH
from tests.zoo.scripts import needs, options, settings_of, source_of, switches, write
from torch_debugger.checks.step_time import device_s, idle_s
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.records import Compilation, CostFact, MemoryFact, ProfileFact, Record, Scalars
from torch_debugger.report.json_and_markdown import to_json
from torch_debugger.runner.in_process import run_in_process
from torch_debugger.settings import PROFILED_FROM, Settings

ROOT = Path(__file__).parents[1]
LIMIT_S = 90
OWN = "torch_debugger"


@dataclass
class Ran:
    findings: list[dict[str, Any]] = field(default_factory=list)
    outcome: str = "no result"
    steps: int = 0
    kinds: dict[str, float] = field(default_factory=dict)  # seconds of a step, or bytes

    def found(self, check: str) -> dict[str, Any] | None:
        return next((each for each in self.findings if each["name"] == check), None)


def run(script: Path) -> Ran:
    """In a fork of this process, which has imported torch and has touched no device: starting Python and torch
    for each script would take longer than most of them."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as written:
        result = Path(folder) / "result.json"
        file = write(script, Path(written))
        if FRESH in source_of(script) or (needs(script) and not forks_reach_a_gpu()):
            _by_the_command(script, file, folder)
        else:
            _in_a_fork(lambda: _be_the_script(script, file, Path(folder)))
        if not result.exists():
            return Ran()
        told = json.loads(result.read_text())
        return measured(_records(Path(folder) / "log"), Ran(told["findings"], told["outcome"], told["steps"]))


@functools.cache
def forks_reach_a_gpu() -> bool:
    """Asked in a fork as well: a process that has asked could use no device in its forks."""
    return _in_a_fork(lambda: torch.cuda.init()) == 0  # type: ignore[no-untyped-call]


def has_gpu() -> bool:
    asked = [sys.executable, "-c", "import torch; torch.cuda.init()"]
    return forks_reach_a_gpu() or subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _in_a_fork(act: Callable[[], None]) -> int:
    pid = os.fork()
    if not pid:
        try:
            act()
            os._exit(0)
        except BaseException as error:  # the fork must never return into the caller
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _be_the_script(script: Path, file: Path, folder: Path) -> None:
    output = os.open(folder / "out.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    if not needs(script):
        torch.set_num_threads(1)  # as the zoo's tests run them
    chosen: dict[str, Any] = settings_of(options(script))
    result, _ = run_in_process(str(file), (), Settings(log_dir=str(folder / "log"), **chosen))
    (folder / "result.json").write_text(json.dumps(to_json(result)))


def _by_the_command(script: Path, file: Path, folder: str) -> None:
    command = [
        sys.executable,
        "-m",
        "torch_debugger",
        "run",
        "--quiet",
        "--log-dir",
        "log",
        "--json",
        "result.json",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [*command, *switches(script), str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )


def _records(log: Path) -> list[Record]:
    follower = LogFollower(str(log))
    try:
        return list(follower.poll())
    finally:
        follower.close()


def measured(records: list[Record], ran: Ran) -> Ran:
    profile = next((record for record in records if isinstance(record, ProfileFact)), None)
    ran.kinds = _split(records, profile)
    ran.kinds["step"] = sum(ran.kinds.values())
    if profile is not None:
        ran.kinds |= _of_profile(profile, ran.kinds["step"])
    for record in records:
        if isinstance(record, MemoryFact):
            ran.kinds["peak bytes"] = max(ran.kinds.get("peak bytes", 0.0), float(_peak_bytes(record)))
        elif isinstance(record, Compilation):
            ran.kinds["compiling"] = ran.kinds.get("compiling", 0.0) + record.seconds
        elif isinstance(record, CostFact):
            ran.kinds["run"] = record.elapsed_s - record.spent_s
    ran.kinds["all steps"] = ran.steps * ran.kinds["step"]
    return ran


def _peak_bytes(record: MemoryFact) -> int:
    return record.device_peak_bytes or record.peak_bytes


def _split(records: list[Record], profile: ProfileFact | None) -> dict[str, float]:
    """Seconds of a step by part, over the steps that nobody profiled and that come after the first."""
    window = range(profile.first_step, profile.first_step + profile.steps + 1) if profile is not None else range(0)
    sums: dict[str, float] = {}
    first: dict[str, float] = {}  # those of a run that has no others
    weight, first_weight, before = 0, 0, 0
    for record in records:
        parts = _parts(record)
        if not parts or not isinstance(record, Scalars):
            continue
        since, before = max(1, record.step - before), record.step
        early = record.step - since < PROFILED_FROM
        if any(step in window for step in range(record.step - since + 1, record.step + 1)):
            continue
        into = first if early else sums
        for part, seconds in parts.items():
            into[part] = into.get(part, 0.0) + since * seconds
        weight, first_weight = weight + since * (not early), first_weight + since * early
    total, steps = (sums, weight) if weight else (first, first_weight)
    return {part: seconds / max(1, steps) for part, seconds in total.items() if part != OWN}


def _parts(record: Record) -> dict[str, float]:
    values = record.values if isinstance(record, Scalars) else {}
    return {tag[6:-2]: value for tag, value in values.items() if tag.startswith("split/")}


def _of_profile(profile: ProfileFact, step_s: float) -> dict[str, float]:
    copies = [copy for copy in profile.copies if copy.way == "host to device"]
    busy_s = profile.device_busy_s / profile.steps
    return {
        "device busy": busy_s,
        "device idle": max(0.0, step_s - busy_s) or idle_s(profile) / profile.steps,
        "products": device_s(profile.products) / profile.steps,
        "copies to the device": sum(copy.device_s for copy in copies) / profile.steps,
        "kernels": profile.kernels / profile.steps,
    }
