"""What watching costs each rank of several: runs of torchrun with and without us, in turns, as ratios.

    python -m benchmarks.ranks [--rounds 3] [--seconds 8] [--step-ms 5 20 100] [--ranks 2]

Each run is a process group of its own (gloo, DistributedDataParallel, one thread a rank) that trains on the CPU
for some seconds. The script takes the time of each step itself, and its rank 0 prints the median, the mean and
the processor time of its process over its steps: the median is what a plain step costs, the mean has our close
looks in it, and processor time counts our threads too, but nobody else's load. Each round is plain, watched,
plain again: the ratios are watched over the mean of both plain runs, and A/A is the second plain run over the
first, which is what the machine alone does to such a ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

SKIPPED = 16  # steps: the first are slow for everybody, and we look closely at them
FIGURES = {"median_s": "median step", "mean_s": "mean step", "cpu_s": "processor time"}
Pair = tuple[float, float]
PLAIN: tuple[str, ...] = ()
WATCHED = ("-m", "torch_debugger", "run")


def mlp() -> nn.Module:
    layers: list[nn.Module] = [nn.Flatten(), nn.Linear(3 * 32 * 32, 32), nn.ReLU()]
    for _ in range(3):
        layers += [nn.Linear(32, 32), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(32, 10))


def cnn() -> nn.Module:
    layers: list[nn.Module] = []
    for given, made in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(given, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))


# By milliseconds that a step takes, about, on one slow core: a model, and how many samples it is given.
TRAININGS = {5: (mlp, 16), 20: (cnn, 6), 100: (cnn, 48)}


def train(step_ms: int, seconds: float, steps: int) -> None:
    """What a user's script does; `steps` ends it earlier, and 0 does not."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo")
    make, size = TRAININGS[step_ms]
    model = DistributedDataParallel(make())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.manual_seed(1 + distributed.get_rank())
    count = max(SKIPPED + 1, steps or max(60, int(1000 * seconds / step_ms)))
    took_s: list[float] = []
    losses: list[float] = []
    cpu_s = 0.0
    for number in range(count):
        if number == SKIPPED:
            cpu_s = time.process_time()
        began = time.perf_counter()
        images, labels = torch.randn(size, 3, 32, 32), torch.randint(0, 10, (size,))
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        distributed.all_reduce(told := loss.detach().clone())  # as scripts do that log the mean of all ranks
        losses.append(told.item() / distributed.get_world_size())
        took_s.append(time.perf_counter() - began)
    if distributed.get_rank() == 0:
        kept = took_s[SKIPPED:]
        told_of = {"median_s": statistics.median(kept), "mean_s": statistics.mean(kept), "steps": count}
        print(json.dumps({**told_of, "cpu_s": (time.process_time() - cpu_s) / len(kept)}))
    distributed.destroy_process_group()


def launch(how: tuple[str, ...], ranks: int, folder: Path, *arguments: str) -> dict[str, float]:
    """What the script's rank 0 printed of its steps."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    script = os.path.abspath(__file__)
    done = subprocess.run(
        [*command, *how, script, "--train", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith('{"median_s"')]
    if done.returncode or not told:
        raise SystemExit(f"the training ended with code {done.returncode}:\n{done.stdout}\n{done.stderr}")
    found: dict[str, float] = json.loads(told[0])
    return found


def measure(step_ms: int, ranks: int, seconds: float) -> dict[str, Pair]:
    """By figure: watched over plain, and plain over plain."""
    arguments = ("--step-ms", str(step_ms), "--seconds", str(seconds))
    with tempfile.TemporaryDirectory() as folder:
        plain, watched, again = (launch(how, ranks, Path(folder), *arguments) for how in (PLAIN, WATCHED, PLAIN))
    found = {
        figure: (2 * watched[figure] / (plain[figure] + again[figure]), again[figure] / plain[figure])
        for figure in FIGURES
    }
    model, size = TRAININGS[step_ms]
    told = "   ".join(f"{FIGURES[figure]} {ratio:.3f}x (A/A {same:.3f}x)" for figure, (ratio, same) in found.items())
    times = f"{plain['median_s'] * 1e3:.1f} ms a step, {plain['cpu_s'] * 1e3:.1f} of the processor"
    print(f"  {model.__name__}, {size} samples, {plain['steps']} steps, {times}:   {told}", flush=True)
    return found


def summarize(step_ms: int, rounds: list[dict[str, Pair]]) -> None:
    for figure, words in FIGURES.items():
        ratios, same = zip(*(found[figure] for found in rounds), strict=True)
        found = f"{statistics.median(ratios):.3f}x ({min(ratios):.3f} to {max(ratios):.3f})"
        print(f"  {step_ms:3} ms   {words:17} {found}   A/A {min(same):.3f} to {max(same):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step-ms", type=int, nargs="+", choices=TRAININGS, default=list(TRAININGS))
    parser.add_argument("--seconds", type=float, default=8.0, help="length of one run, about")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--train", action="store_true", help="be one rank, started by torchrun")
    parser.add_argument("--steps", type=int, default=0, help="of such a rank, instead of seconds")
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.step_ms[0], arguments.seconds, arguments.steps)
        return
    print(f"torch {torch.__version__}, {arguments.ranks} ranks of one thread on {os.cpu_count()} cores, gloo, DDP")
    rounds = [
        {step_ms: measure(step_ms, arguments.ranks, arguments.seconds) for step_ms in arguments.step_ms}
        for _ in range(arguments.rounds)
    ]
    print(f"medians of {arguments.rounds} rounds, and the span of all")
    for step_ms in arguments.step_ms:
        summarize(step_ms, [found[step_ms] for found in rounds])


if __name__ == "__main__":
    main()
