"""What every test costs: seconds of wall clock and of processor, its child processes included.

A plugin of the suite (tests/conftest.py). `make test-times` prints what the last runs of the suite and of the
zoo have left: a row a test file and a row a zoo script, the slowest first.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TEST_TIMES = Path(__file__).parents[1] / ".pytest_cache" / "times.json"
ZOO_TIMES = TEST_TIMES.with_name("zoo_times.json")
SLOWEST = 10


class Times:
    """Workers measure, and send what they measured with their reports; the controller sums and keeps it."""

    def __init__(self) -> None:
        self.of_tests: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.processor_before_s = processor_s()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[Any]:
        report = yield
        now_s = processor_s()
        report.processor_s = now_s - self.processor_before_s
        self.processor_before_s = now_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cost = self.of_tests[report.nodeid]
        cost[0] += report.duration
        cost[1] += getattr(report, "processor_s", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.of_tests:
            return
        TEST_TIMES.parent.mkdir(exist_ok=True)
        TEST_TIMES.write_text(json.dumps(self.of_tests))
        terminalreporter.section(f"slowest {SLOWEST} tests (wall s, processor s)")
        for row in slowest(self.of_tests, SLOWEST):
            terminalreporter.write_line(row)


def processor_s() -> float:
    """Of this process and the children it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def slowest(costs: dict[str, list[float]], most: int) -> list[str]:
    ordered = sorted(costs.items(), key=lambda item: -item[1][0])[:most]
    return [f"{wall_s:8.2f} {used_s:8.2f}  {name}" for name, (wall_s, used_s) in ordered]


def by_file(costs: dict[str, list[float]]) -> dict[str, list[float]]:
    files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, cost in costs.items():
        file = files[name.partition("::")[0]]
        file[0] += cost[0]
        file[1] += cost[1]
    return files


def main(most: int) -> None:
    for title, kept, make in (("test files", TEST_TIMES, "make test"), ("zoo scripts", ZOO_TIMES, "make zoo")):
        if not kept.exists():
            print(f"{title}: nothing measured yet, run `{make}`")
            continue
        costs = by_file(json.loads(kept.read_text()))
        wall_s, used_s = (sum(column) for column in zip(*costs.values(), strict=True))
        print(f"{len(costs)} {title}, {wall_s:.0f} s of wall clock, {used_s:.0f} s of processor")
        print(*slowest(costs, most), sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else sys.maxsize)
