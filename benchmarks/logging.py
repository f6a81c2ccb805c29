"""What logging costs, beside the loggers people use: same run, interleaved, medians and ratios.

    python benchmarks/logging.py [--rounds 5] [--scalars 20000] [--peers torch tensorboardX wandb ...]

Printed for each logger: what one scalar costs the thread that logs it, in a loop of training steps (ten tags a
step, a pause of a millisecond between steps); what it costs from the first call to the end of close() in a
tight loop; and the bytes it leaves, with one tag a step and with ten. Then histograms of a million elements,
and a [64 x 8] row of layer statistics. Loggers that are not installed are named and left out.
"""

# ruff: noqa: E402 (the next lines must run before anything imports the standard library's `logging`)
from __future__ import annotations

import sys

# A script's own folder comes first on sys.path, and this file is called like a module of the standard library.
sys.path[:] = [folder for folder in sys.path if not folder.endswith("benchmarks")]
if __name__ == "logging":  # another benchmark asked for the standard library's and found this one: hand it over
    del sys.modules["logging"]
    import logging  # noqa: F401

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

OURS, TORCH = "torch_debugger", "torch"
TEN_TAGS = [f"train/loss{number}" for number in range(10)]
PACED_STEPS = 200
PAUSE_S = 0.001

Log = Callable[[dict[str, float], int], None]  # what one step logs
Histogram = Callable[[Any, int], None]


class Logger:
    """One logger, writing into a folder of its own."""

    def __init__(self, log: Log, close: Callable[[], None], histogram: Histogram | None = None) -> None:
        self.log, self.close, self.histogram = log, close, histogram


def _of_summary_writer(writer: Any) -> Logger:
    add_scalar = writer.add_scalar

    def log(values: dict[str, float], step: int) -> None:
        for tag, value in values.items():
            add_scalar(tag, value, step)

    def histogram(values: Any, step: int) -> None:
        writer.add_histogram("weights", values, step)

    return Logger(log, writer.close, histogram if hasattr(writer, "add_histogram") else None)


def open_ours(folder: str) -> Logger:
    import torch_debugger

    return _of_summary_writer(torch_debugger.SummaryWriter(folder))


def open_torch(folder: str) -> Logger:
    from torch.utils.tensorboard import SummaryWriter

    return _of_summary_writer(SummaryWriter(folder))


def open_tensorboardx(folder: str) -> Logger:
    from tensorboardX import SummaryWriter

    return _of_summary_writer(SummaryWriter(folder))


def open_wandb(folder: str) -> Logger:
    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
    run = wandb.init(project="speed", mode="offline", dir=folder, settings=settings)

    def histogram(values: Any, step: int) -> None:
        run.log({"weights": wandb.Histogram(values.numpy())}, step=step)

    return Logger(lambda values, step: run.log(values, step=step), run.finish, histogram)


def open_mlflow(folder: str) -> Logger:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.start_run()
    return Logger(lambda values, step: mlflow.log_metrics(values, step=step), mlflow.end_run)


def open_trackio(folder: str) -> Logger:
    os.environ["TRACKIO_DIR"] = folder
    import trackio

    trackio.init(project="speed")
    return Logger(lambda values, step: trackio.log(values, step=step), trackio.finish)


def open_aim(folder: str) -> Logger:
    import aim

    run = aim.Run(repo=folder)

    def log(values: dict[str, float], step: int) -> None:
        for tag, value in values.items():
            run.track(value, name=tag, step=step)

    return Logger(log, run.close)


PEERS: dict[str, Callable[[str], Logger]] = {
    OURS: open_ours,
    TORCH: open_torch,
    "tensorboardX": open_tensorboardx,
    "wandb": open_wandb,
    "mlflow": open_mlflow,
    "trackio": open_trackio,
    "aim": open_aim,
}
SLOW = {"mlflow": 100, "trackio": 20, "aim": 20}  # scalars are divided by this; costs are per scalar anyway


def measure_calls(logger: Logger) -> float:
    """Seconds a scalar costs the calling thread, with pauses in which a writer's thread can work: the median
    of the steps, for the machine may be busy."""
    spent_s = []
    for step in range(PACED_STEPS):
        values = dict.fromkeys(TEN_TAGS, float(step))
        start_s = time.perf_counter()
        logger.log(values, step)
        spent_s.append(time.perf_counter() - start_s)
        time.sleep(PAUSE_S)
    logger.close()
    return statistics.median(spent_s) / len(TEN_TAGS)


def measure_whole(logger: Logger, tags: list[str], scalars: int) -> float:
    """Seconds a scalar costs from the first call until all of them are written."""
    steps = max(1, scalars // len(tags))
    start_s = time.perf_counter()
    for step in range(steps):
        logger.log(dict.fromkeys(tags, float(step)), step)
    logger.close()
    return (time.perf_counter() - start_s) / (steps * len(tags))


def measure_histograms(logger: Logger, values: Any, count: int = 3) -> float:
    assert logger.histogram is not None
    start_s = time.perf_counter()
    for step in range(count):
        logger.histogram(values, step)
    logger.close()
    return (time.perf_counter() - start_s) / count


def size_of(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


class Bench:
    def __init__(self, scalars: int) -> None:
        self._scalars = scalars
        self.figures: dict[tuple[str, str], list[float]] = defaultdict(list)

    def round(self, names: list[str], values: Any) -> None:
        for name in names:
            scalars = self._scalars // SLOW.get(name, 1)
            self._take(name, "call", measure_calls)
            self._take(name, "ten", lambda logger, n=scalars: measure_whole(logger, TEN_TAGS, n))
            self._take(name, "one", lambda logger, n=scalars: measure_whole(logger, TEN_TAGS[:1], n))
            self._take(name, "histogram", lambda logger: measure_histograms(logger, values), needs_histogram=True)

    def _take(self, name: str, figure: str, measure: Callable[[Logger], float], needs_histogram: bool = False) -> None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            logger = PEERS[name](folder)
            if needs_histogram and logger.histogram is None:
                logger.close()
                return
            empty = size_of(folder)
            self.figures[name, figure].append(1e6 * measure(logger))
            if figure in ("one", "ten"):
                count = self._scalars // SLOW.get(name, 1)
                self.figures[name, f"{figure} bytes"].append((size_of(folder) - empty) / count)

    def median(self, name: str, figure: str) -> float:
        return statistics.median(self.figures[name, figure] or [float("nan")])


def measure_row() -> tuple[float, float]:
    """A [64 x 8] row: microseconds on the calling thread, and bytes a value."""
    import numpy as np

    from torch_debugger.log.writer import LogWriter
    from torch_debugger.records import Table, TensorRows

    table = Table("activation", "net", tuple(f"net.block{i}.fc.weight" for i in range(64)), tuple("abcdefgh"))
    rows = [TensorRows(step, table, np.zeros((64, 8), np.float32)) for step in range(1000)]
    with tempfile.TemporaryDirectory() as folder:
        log = LogWriter(folder, on_fault=print)
        start_s = time.perf_counter()
        for row in rows:
            log.add(row)
        call_us = 1e6 * (time.perf_counter() - start_s) / len(rows)
        log.close()
        return call_us, size_of(folder) / (len(rows) * 64 * 8)


def print_table(bench: Bench, names: list[str]) -> None:
    print(f"\n{'':14}{'a call':>10}{'':>9}{'end to end':>12}{'':>9}{'scalars/s':>11}{'bytes a scalar':>18}{'':>2}")
    print(f"{'':14}{'us':>10}{'ours is':>9}{'us':>12}{'ours is':>9}{'':>11}{'10 tags':>10}{'1 tag':>10}")
    for name in names:
        call, whole = bench.median(name, "call"), bench.median(name, "ten")
        ratios = [bench.median(name, figure) / bench.median(OURS, figure) for figure in ("call", "ten")]
        ten, one = bench.median(name, "ten bytes"), bench.median(name, "one bytes")
        print(
            f"{name:14}{call:10.2f}{ratios[0]:8.1f}x{whole:12.2f}{ratios[1]:8.1f}x{1e6 / whole:11,.0f}"
            f"{ten:10.1f}{one:10.1f}"
        )
    print("\nA histogram of 1,000,000 elements, milliseconds each, close() included:")
    for name in names:
        if bench.figures[name, "histogram"]:
            ratio = bench.median(name, "histogram") / bench.median(OURS, "histogram")
            print(f"{name:14}{bench.median(name, 'histogram') / 1e3:10.1f}{ratio:8.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scalars", type=int, default=20_000)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    options = parser.parse_args()
    import torch

    names = [name for name in PEERS if name in {OURS, *options.peers} and _is_here(name)]
    bench, values = Bench(options.scalars), torch.randn(1_000_000)
    Bench(options.scalars).round(names, values)  # the first of everything is slower
    for _ in range(options.rounds):
        bench.round(names, values)
    print_table(bench, names)
    print(
        "\nA [64 x 8] row of layer statistics: {:.1f} us on the calling thread, {:.2f} bytes a value".format(
            *measure_row()
        )
    )


def _is_here(name: str) -> bool:
    import importlib.util

    here = importlib.util.find_spec(name) is not None
    if not here:
        print(f"{name} is not installed and left out.")
    return here


if __name__ == "__main__":
    main()
