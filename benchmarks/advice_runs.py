"""One script of the zoo run under torch-debugger, and what its steps took, by kinds of time and bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.zoo.expectations import needs
from tests.zoo.runner import switches
from torch_debugger.checks.profiled_steps import device_s, idle_s
from torch_debugger.records import Compilation, CostFact, MemoryFact, ProfileFact, Record, Scalars
from torch_debugger.runlog.reader import LogFollower
from torch_debugger.settings import PROFILED_FROM

ROOT = Path(__file__).parents[1]
LIMIT_S = 150
OWN = "torch_debugger"


@dataclass
class Ran:
    findings: list[dict[str, Any]] = field(default_factory=list)
    outcome: str = "no result"
    steps: int = 0
    run_s: float = 0.0  # of training, all steps
    kinds: dict[str, float] = field(default_factory=dict)  # seconds of a step, or bytes

    def found(self, check: str) -> dict[str, Any] | None:
        return next((each for each in self.findings if each["name"] == check), None)


def run(script: Path) -> Ran:
    with tempfile.TemporaryDirectory() as folder:
        log, result = Path(folder) / "log", Path(folder) / "result.json"
        command = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", str(log), "--json"]
        threads = {} if needs(script) else {"OMP_NUM_THREADS": "1"}  # as the zoo's tests run them
        environment = os.environ | threads | {"PYTHONPATH": str(ROOT)}
        try:
            subprocess.run(
                [*command, str(result), *switches(script), str(script)],
                cwd=folder, env=environment, capture_output=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Ran(outcome=f"no end after {LIMIT_S} s")
        if not result.exists():
            return Ran()
        told = json.loads(result.read_text())
        return measured(_records(log), Ran(told["findings"], told["outcome"], told["steps"]))


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
            ran.run_s = record.elapsed_s - record.spent_s
    return ran


def _peak_bytes(record: MemoryFact) -> int:
    return record.device_peak_bytes or record.peak_bytes


def _split(records: list[Record], profile: ProfileFact | None) -> dict[str, float]:
    """Seconds of a step by part, over the steps that nobody profiled and that come after the first."""
    window = (
        range(profile.first_step, profile.first_step + profile.steps + 1) if profile is not None else range(0)
    )
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
