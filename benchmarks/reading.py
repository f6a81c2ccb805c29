"""How long it takes to read scalars back: python -m benchmarks.reading [SCALARS] [ROUNDS]

Three logs: of torch's SummaryWriter (4 tags), of the same with new-style tensors, and ours (50 tags an event).
Interleaved, in this order, each reader in a process of its own that is not timed while it starts:

* ours: every point in numpy arrays, every checksum verified.
* rust: the data server of TensorBoard as `tensorboard --load_fast=true` starts it (1,000 points a tag kept, no
  checksums), timed by its own "Finished load cycle"; and told to keep all points (rust, all).
* python: TensorBoard's EventAccumulator with size_guidance 0, which keeps all points.

The ratios are of medians: how many times longer than ours.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = """
import sys, time
from torch_debugger.log.run import Run
started = time.perf_counter()
run = Run(sys.argv[1])
points = sum(len(run.scalars(tag)) for tag in run.tags["scalars"])
print(time.perf_counter() - started, points)
"""
PYTHON = """
import sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
started = time.perf_counter()
run = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0}).Reload()
points = sum(len(run.Scalars(tag)) for tag in run.Tags()["scalars"])
points += sum(len(run.Tensors(tag)) for tag in run.Tags()["tensors"])
print(time.perf_counter() - started, points)
"""
_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


def write_torch(folder: Path, scalars: int, *, new_style: bool) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for step in range(scalars // 4):
            for tag in ("loss/train", "accuracy", "lr", "grad_norm"):
                writer.add_scalar(tag, step / 7, step, new_style=new_style)


def write_ours(folder: Path, scalars: int) -> None:
    from torch_debugger.log.writer import LogWriter
    from torch_debugger.records import Scalars

    log = LogWriter(folder, on_fault=print)
    for step in range(scalars // 50):
        log.add(Scalars(step, time.time(), {f"layer{number}/norm": step / 7 for number in range(50)}))
        if step % 1000 == 0:
            log.flush()
    log.close()


def read_in_process(code: str, folder: Path, scalars: int) -> float:
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    seconds, points = done.stdout.split()
    assert int(points) == scalars, f"{points} of {scalars} points were read"
    return float(seconds)


def read_by_server(folder: Path, *options: str) -> float:
    """By its own clock, from the start of its only load cycle to the end, when it can serve the data."""
    import tensorboard_data_server

    command = [
        tensorboard_data_server.server_binary(),
        f"--logdir={folder}",
        "--port=0",
        "--reload=once",
        "--verbose",
    ]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        for line in server.stderr:
            if found := re.search(r"Finished load cycle \(([\d.]+)(s|ms|µs)\)", line):
                server.kill()
                return float(found[1]) * _UNITS[found[2]]
    raise RuntimeError("the data server ended before it had loaded the log")


def measure(folder: Path, scalars: int, rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {}
    for number in range(rounds):
        seconds.setdefault("ours", []).append(read_in_process(OURS, folder, scalars))
        seconds.setdefault("rust", []).append(read_by_server(folder))
        seconds.setdefault("rust, all", []).append(read_by_server(folder, "--samples-per-plugin=scalars=all"))
        if number < 2:  # a minute each
            seconds.setdefault("python", []).append(read_in_process(PYTHON, folder, scalars))
    return seconds


def main() -> None:
    scalars = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_torch(root / "torch", scalars, new_style=False)
        write_torch(root / "torch, new style", scalars, new_style=True)
        write_ours(root / "ours", scalars)
        for folder in sorted(root.iterdir()):
            size_mb = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            medians = {who: statistics.median(all_s) for who, all_s in measure(folder, scalars, rounds).items()}
            times = ", ".join(f"{who} {each:.3f} s ({each / medians['ours']:.1f}x)" for who, each in medians.items())
            print(f"{folder.name} ({scalars:,} scalars, {size_mb:.0f} MB): {times}", flush=True)


if __name__ == "__main__":
    main()
