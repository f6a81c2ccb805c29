"""How long explaining takes after a crash: python benchmarks/explain_time.py [SCRIPT...]

Every crash script of the zoo (or those named) runs under the debugger in a fork of its own; timed is
what lies between its exception and the finished explanation: frames, replay, evidence and judging.
The goal is below 1 s for each.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch._dynamo  # noqa: F401  which every optimizer imports when it is first made: once for all forks

from torch_debugger.runner.in_process import run_in_process
from torch_debugger.runner.plumbing import Plumbing
from torch_debugger.settings import Settings

CRASHES = Path(__file__).parents[1] / "zoo" / "crashes"

LIMIT_S = 60  # for scripts that cannot end in a fork


def explaining_s(script: Path) -> float | None:
    """None for a script that did not crash while it was watched."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run(script, writer)
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="ascii") as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return float(text) if text else None


def _run(script: Path, writer: int) -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(silence, fd)
    signal.alarm(LIMIT_S)
    explain = Plumbing.crash

    def timed(self: Plumbing, *arguments: Any, **keywords: Any) -> None:
        started = time.perf_counter()
        explain(self, *arguments, **keywords)
        os.write(writer, f"{time.perf_counter() - started:.4f}".encode())

    Plumbing.crash = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_in_process(str(script), (), Settings())
        os.chdir("/")


def main() -> None:
    scripts = [Path(name).resolve() for name in sys.argv[1:]] or sorted(CRASHES.glob("*/broken*.py"))
    taken = {script: explaining_s(script) for script in scripts}
    times = {script: seconds for script, seconds in taken.items() if seconds is not None}
    for script, seconds in sorted(times.items(), key=lambda pair: -pair[1])[:15]:
        print(f"{seconds:7.3f} s  {script.parent.name}/{script.name}")
    slow = sum(seconds >= 1 for seconds in times.values())
    middle = statistics.median(times.values())
    longest = max(times.values())
    print(f"{len(times)} crashes: median {middle:.3f} s, longest {longest:.3f} s, {slow} took over 1 s")


if __name__ == "__main__":
    main()
