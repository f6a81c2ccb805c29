"""What judging costs: the time of every check for one record, in the process that watches the log.

    python benchmarks/check_cost.py [--rounds 5] [SCRIPT ...]

The scripts (without any: a few of zoo/healthy) run once under `torch-debugger run`; their logs are then
judged several times from the start. Printed for each check: the mean time for a record it reads, the quickest
round counting, and the share of a 5 us goal. Beside it stands what a call that does nothing measures.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from numerics import show

from torch_debugger.checks.judge import Judge
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.records import Record

GOAL_US = 5.0
SHOWN = 15
HEALTHY = Path(__file__).parents[1] / "zoo" / "healthy"
DEFAULT = ("cnn", "transformer", "gan", "lstm", "gradient_accumulation", "early_stopping")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("scripts", nargs="*", type=Path)
    chosen = parser.parse_args()
    scripts = chosen.scripts or [HEALTHY / f"{name}.py" for name in DEFAULT]
    runs = [records_of(script) for script in scripts]
    rounds = [judged(runs) for _ in range(chosen.rounds)]
    means = {name: mean_of_quickest([each[name] for each in rounds]) for name in rounds[0]}
    ordered = sorted(means.items(), key=lambda pair: -pair[1])
    rows = [("check", "us a record", f"of {GOAL_US:g} us")]
    rows += [(name, f"{us:.2f}", f"{us / GOAL_US:.0%}") for name, us in ordered[:SHOWN]]
    show(rows)
    print(
        f"\n{len(ordered)} checks, {sum(map(len, runs)):,} records of {len(runs)} runs: median "
        f"{statistics.median(means.values()):.2f} us, {sum(us > GOAL_US for us in means.values())} above "
        f"{GOAL_US:g} us; an empty call measures {empty_call():.2f} us."
    )


def records_of(script: Path) -> list[Record]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "torch_debugger",
            "run",
            "--quiet",
            "--log-dir",
            folder,
            str(script.resolve()),
        ]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        log = LogFollower(folder)
        try:
            return list(log.poll())
        finally:
            log.close()


def judged(runs: list[list[Record]]) -> dict[str, list[int]]:
    """The nanoseconds that each check took for each record it reads, in their order."""
    spent: dict[str, list[int]] = defaultdict(list)
    for records in runs:
        judge = Judge()
        for record in records:
            judge.state.see(record)
            for check in judge.checks:
                if type(record) in check.reads:
                    began = time.perf_counter_ns()
                    list(check.see(record, judge.state))
                    spent[check.name].append(time.perf_counter_ns() - began)
    return spent


def mean_of_quickest(rounds: list[list[int]]) -> float:
    """In microseconds; the quickest of the rounds record by record, which leaves other processes out."""
    return statistics.mean(map(min, zip(*rounds, strict=True))) / 1000


def empty_call() -> float:
    """The clock itself and a call, as above."""
    times = []
    for _ in range(10_000):
        began = time.perf_counter_ns()
        list(iter(()))
        times.append(time.perf_counter_ns() - began)
    return statistics.mean(times) / 1000


if __name__ == "__main__":
    main()
