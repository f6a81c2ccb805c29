"""Whether a run of a week holds its memory and its log: python -m benchmarks.long_run [--steps N] [--trained N]

* simulated: what a real training told of its last steps is told again, with later steps and the times of a
  week, until there are ten million steps, as fast as it goes; but for what is told ever more rarely as a run
  goes on (samples, stacks, memory, what watching costs). One process writes the log as the watched one
  does, with its limit; another follows and judges it as the parent does.
* trained: 200,000 steps of a small training under `torch-debugger run`.

Printed are the memory of both processes as the run goes on, the size of the log beside its limit, and how long
the report and the page's first answer take afterwards.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import psutil

MARKS = (0.01, 0.1, 0.5, 1.0)  # of the run
WEEK_S = 7 * 24 * 3600
FLUSH_EVERY = 1000  # steps: in a week they would not come faster than they are written
RECORDED, REPEATED = 300, 100

SCRIPT = """
import os, sys, torch
torch.manual_seed(0)
torch.set_num_threads(1)
steps, marks = int(sys.argv[1]), {int(mark) for mark in sys.argv[2:]}
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(32, 8), torch.randn(32, 1)
for step in range(1, steps + 1):
    loss = (net(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in marks:
        print(step, os.getpid(), os.getppid(), flush=True)
"""


def at_marks(steps: int) -> list[int]:
    return [int(part * steps) for part in MARKS]


def rss_mb(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss / 1e6)


def watched(folder: Path, script: Path, steps: int, marks: list[int], *options: str) -> subprocess.Popen[str]:
    ours = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", str(folder), *options]
    return subprocess.Popen([*ours, str(script), str(steps), *map(str, marks)], stdout=subprocess.PIPE, text=True)


# The two processes of the simulated run. Each waits at a mark until it is told to go on.


def write(recorded: str, folder: str, steps: int, limit_bytes: int) -> None:
    from torch_debugger.log.process_channels import Board
    from torch_debugger.log.reader_records import read_log
    from torch_debugger.log.writer import LogWriter
    from torch_debugger.records import BatchSample, CostFact, EndFact, MemoryFact, MemoryLook, SampledStacks, Scalars

    told = [record for record in read_log(recorded) if not isinstance(record, EndFact)]
    last = max(record.step for record in told if isinstance(record, Scalars))
    again = (record for record in told if getattr(record, "step", 0) > last - REPEATED)
    rarer = (BatchSample, CostFact, MemoryFact, MemoryLook, SampledStacks)
    tail = [record for record in again if not isinstance(record, rarer)]
    log = LogWriter(folder, limit_bytes=limit_bytes * 9 // 10, on_fault=lambda said: print(said, file=sys.stderr))
    board, began, marks = Board.create(), time.time(), at_marks(steps)
    for record in told:
        log.add(record)
    for first in range(last, steps, REPEATED):
        for record in tail:
            if isinstance(record, Scalars):
                step = first + record.step - (last - REPEATED)
                now = began + WEEK_S * step / steps
                log.add(dataclasses.replace(record, step=step, time=now))
                board.note(step, now, record.values.get("loss", 0.0))
            elif hasattr(record, "step"):
                log.add(dataclasses.replace(record, step=first + record.step - (last - REPEATED)))
        if first % FLUSH_EVERY < REPEATED:
            log.flush()
        while marks and marks[0] <= first + REPEATED:
            log.flush()
            print(marks.pop(0), flush=True)
            sys.stdin.readline()
    log.add(EndFact("finished", steps, "optimizer steps"))
    log.close()


def judge(folder: str) -> None:
    """Reads on until nothing more is there, at every line that it is given; at the end of them it reports."""
    from torch_debugger.checks.judge import RanksJudge
    from torch_debugger.log.reader_records import LogFollower
    from torch_debugger.report.result import RanksDigest
    from torch_debugger.runner.outputs import write_reports

    log, checks, digest = LogFollower(folder), RanksJudge(), RanksDigest("train.py")
    for _ in sys.stdin:
        for rank, record in log.read_ranks_on():
            digest.see(record, rank)
            checks.see(record, rank)
        print(digest.step, flush=True)
    checks.finish()
    write_reports(digest.result(checks.findings, exit_code=0), json_file=None, log_dir=folder)


def part(name: str, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.long_run", "--part", name, *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen[str]) -> None:
    tell(process.stdin)
    assert process.stdout is not None
    process.stdout.readline()


def tell(stream: IO[str] | None) -> None:
    assert stream is not None
    stream.write("\n")
    stream.flush()


def simulate(recorded: Path, folder: Path, steps: int, limit_bytes: int) -> None:
    folder.mkdir()
    writer, follower = part("write", recorded, folder, steps, limit_bytes), part("judge", folder)
    assert writer.stdout is not None
    for mark in writer.stdout:
        ask(follower)
        writes, judges = rss_mb(writer.pid), rss_mb(follower.pid)
        print(f"  step {int(mark):>12,}: writes {writes:6.0f} MB, judges {judges:6.0f} MB", flush=True)
        tell(writer.stdin)
    writer.wait()
    follower.communicate()


def train(script: Path, folder: Path, steps: int, limit: str) -> None:
    run = watched(folder, script, steps, at_marks(steps), "--log-limit", limit)
    assert run.stdout is not None
    for line in run.stdout:
        step, child, parent = map(int, line.split())
        print(f"  step {step:>12,}: trains {rss_mb(child):6.0f} MB, judges {rss_mb(parent):6.0f} MB", flush=True)
    run.wait()


def print_afterwards(folder: Path, limit_bytes: int) -> None:
    from benchmarks.viewer_server import page

    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"  log {size / 1e6:.1f} MB of {limit_bytes / 1e6:.0f} MB")
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    report = [sys.executable, "-m", "torch_debugger", "report", str(folder), "-o", str(folder) + ".html"]
    subprocess.run(report, check=True, stdout=subprocess.DEVNULL)
    took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(f"  torch-debugger report {took:.1f} s, {cpu:.1f} s of them computing")
    with page(folder.parent) as shown:
        took = shown.timed(f"about?run={folder.name}")
        cpu = sum(psutil.Process(shown.process.pid).cpu_times()[:2])
        print(f"  the page's first answer {took:.1f} s; {cpu:.1f} s of computing with its start", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="memory and log of a run of a week")
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--trained", type=int, default=200_000)
    parser.add_argument("--limit", default="200MB")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        name, *words = arguments.part
        judge(*words) if name == "judge" else write(words[0], words[1], int(words[2]), int(words[3]))
        return
    from torch_debugger.settings import parse_size

    limit_bytes = parse_size("--limit", arguments.limit)
    with tempfile.TemporaryDirectory() as root:
        script = Path(root, "train.py")
        script.write_text(SCRIPT)
        recorded = Path(root, "recorded")
        watched(recorded, script, RECORDED, []).communicate()
        print(f"simulated, {arguments.steps:,} steps")
        Path(root, "simulated").mkdir()
        simulate(recorded, Path(root, "simulated", "run"), arguments.steps, limit_bytes)
        print_afterwards(Path(root, "simulated", "run"), limit_bytes)
        print(f"trained, {arguments.trained:,} steps", flush=True)
        Path(root, "trained").mkdir()
        train(script, Path(root, "trained", "run"), arguments.trained, arguments.limit)
        print_afterwards(Path(root, "trained", "run"), limit_bytes)


if __name__ == "__main__":
    main()
