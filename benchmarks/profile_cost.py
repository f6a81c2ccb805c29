"""The always-on split of steps beside torch's profiler, and what split, stacks and a windowed profile cost.

    python -m benchmarks.profile_cost [--device cpu|cuda] [--model mlp cnn gpt] [--rounds 5]

Three tables. **Agreement**: the same steps, told by our split and by torch's profiler with the parts named by
hand (`record_function`): the parts' sum over the step, and for each part its share by the profiler and how far
ours is from it, in percent of the step. What our own hooks take is in the profiler's parts and is told apart in
ours. **Cost**: runs with the split and the sampled stacks against runs without, interleaved. **Window**: what a
windowed profile says it cost, and what it did.
"""

from __future__ import annotations

import argparse
import statistics
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.autograd import DeviceType
from torch.nn import functional
from torch.profiler import ProfilerActivity, record_function
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.memory_models import ResNet50
from benchmarks.step_cost import MODELS, SmallGpt, make_cnn, run_steps
from torch_debugger.records import ProfileFact, Record, Scalars
from torch_debugger.runner.plumbing import Plumbing, connect
from torch_debugger.settings import Settings

PARTS = ("data_wait", "forward", "backward", "optimizer")
SKIPPED, TOLD = 12, 40  # steps


class Kept:
    """A sink that keeps what it hears."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, record: Record) -> None:
        self.records.append(record)


def batches(name: str, device: str) -> tuple[nn.Module, Iterator[Any]]:
    """A model (on a GPU large enough to keep it busy) and an endless loader for it."""
    big, many = device == "cuda", 4
    if name == "gpt":
        model: nn.Module = SmallGpt(width=1024, depth=8) if big else SmallGpt()
        data = TensorDataset(*torch.randint(0, 512, (2, (64 if big else 8) * many, 64)))
    elif name == "cnn":
        model, count, side = (ResNet50(), 96 * many, 192) if big else (make_cnn("cpu")[0], 32 * many, 32)
        data = TensorDataset(torch.randn(count, 3, side, side), torch.randint(0, 10, (count,)))
    else:
        wide, count = (4096, 1024 * many) if big else (256, 64 * many)
        model = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 10))
        data = TensorDataset(torch.randn(count, wide), torch.randint(0, 10, (count,)))
    loader = DataLoader(data, batch_size=len(data) // many)
    return model.to(device), (batch for _ in iter(int, 1) for batch in loader)


def train(name: str, device: str, steps: int, after_step: Callable[[int], None]) -> None:
    """The loop that people write, its parts named."""
    model, loader = batches(name, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(steps):
        with record_function("part data_wait"):
            inputs, targets = next(loader)
        inputs, targets = inputs.to(device), targets.to(device)
        with record_function("part forward"):
            scores = model(inputs)
            loss = functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))
        with record_function("part backward"):
            loss.backward()
        with record_function("part optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        after_step(step + 1)


def watched(kept: Kept, settings: Settings | None = None) -> Plumbing:
    return connect(settings or Settings(), [kept], None)


def agreement(name: str, device: str) -> None:
    kept = Kept()
    plumbing = watched(kept)
    plumbing.watch.governor.rests = True  # no looks: they would be in the profiler's parts
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    profiler = torch.profiler.profile(activities=activities, acc_events=True)
    began = ended = 0.0

    def after(step: int) -> None:
        nonlocal began, ended
        if step == SKIPPED:
            profiler.start()
            began = time.perf_counter()
        if step == SKIPPED + TOLD:
            if device == "cuda":
                torch.cuda.synchronize()
            ended = time.perf_counter()
            profiler.stop()

    train(name, device, SKIPPED + TOLD + 8, after)
    plumbing.disconnect([kept], "finished")
    ours, theirs = split_of(kept), parts_of(profiler, device)
    step_s = (ended - began) / TOLD
    apart = [(part, (ours.get(part, 0.0) - theirs.get(part, 0.0)) / step_s) for part in PARTS]
    told = "  ".join(f"{part} {100 * theirs.get(part, 0.0) / step_s:.0f} % {100 * off:+.1f}" for part, off in apart)
    whole, own = sum(ours.values()) / step_s, ours.get("torch_debugger", 0.0) / step_s
    print(f"  {name:4} {step_s * 1e3:7.2f} ms a step   sum/step {whole:.3f}   own {100 * own:.1f} %   {told}")


def split_of(kept: Kept) -> dict[str, float]:
    """Seconds a step by part, over the steps that the profiler saw."""
    sums: dict[str, float] = {}
    steps, last = 0, SKIPPED
    for record in kept.records:
        if isinstance(record, Scalars) and "split/backward_s" in record.values and record.step > SKIPPED:
            since = record.step - last
            if record.step > SKIPPED + TOLD or since <= 0:
                break
            last, steps = record.step, steps + since
            for tag, value in record.values.items():
                if tag.startswith("split/"):
                    sums[tag[6:-2]] = sums.get(tag[6:-2], 0.0) + value * since
    return {part: seconds / max(steps, 1) for part, seconds in sums.items()}


def parts_of(profiler: torch.profiler.profile, device: str) -> dict[str, float]:
    """Of the host on the CPU; on a GPU the kernels launched in each part, and the host's wait for data."""
    events = profiler.events() or ()
    parts = [event for event in events if event.name.startswith("part ") and event.device_type == DeviceType.CPU]
    found: dict[str, float] = {}
    for part in parts:
        name = part.name.removeprefix("part ")
        if device == "cpu" or name == "data_wait":
            found[name] = found.get(name, 0.0) + part.time_range.elapsed_us() / 1e6 / TOLD
    if device == "cuda":
        starts = [part.time_range.start for part in parts]
        order = sorted(range(len(parts)), key=lambda place: starts[place])
        begun = [starts[place] for place in order]
        for event in events:
            if event.kernels and not event.name.startswith("part "):
                part = parts[order[max(0, bisect_right(begun, event.time_range.start) - 1)]]
                name = part.name.removeprefix("part ")
                if event.time_range.start <= part.time_range.end and name != "data_wait":
                    found[name] = found.get(name, 0.0) + sum(kernel.duration for kernel in event.kernels) / 1e6 / TOLD
    return found


def cost(name: str, device: str, rounds: int) -> None:
    _, step = MODELS[name](device)
    run_steps(step, 20, device)
    count = max(60, int(1.5 / (run_steps(step, 40, device) / 40)))

    def run(without: tuple[str, ...]) -> float:
        kept = Kept()
        plumbing = watched(kept)
        plumbing.watch.governor.rests = True
        plumbing.watch.guard.removed.update(without)
        took_s = run_steps(step, count, device)
        plumbing.disconnect([kept], "finished")
        return took_s

    both = ("phases", "stacks")
    ratios: dict[str, list[float]] = {"split": [], "stacks": [], "A/A": []}
    for _ in range(rounds):
        without = run(both)
        ratios["split"].append(run(("stacks",)) / without)
        ratios["stacks"].append(run(("phases",)) / run(both))
        ratios["A/A"].append(run(both) / run(both))
    told = "  ".join(f"{what} {statistics.median(found):.4f}x" for what, found in ratios.items())
    print(f"  {name:4} {count} steps   {told}")


def window(name: str, device: str) -> None:
    kept = Kept()
    settings = Settings(profile_steps=5)
    plumbing = watched(kept, settings)
    times_s = [time.perf_counter()]

    def after(step: int) -> None:
        if device == "cuda":
            torch.cuda.synchronize()
        times_s.append(time.perf_counter())

    train(name, device, 40, after)
    plumbing.disconnect([kept], "finished")
    fact = next(record for record in kept.records if isinstance(record, ProfileFact))
    took_s = [b - a for a, b in pairwise(times_s)]
    inside = slice(fact.first_step - 1, fact.first_step - 1 + fact.steps)
    plain_s = statistics.median(took_s[: fact.first_step - 2][-6:] + took_s[fact.first_step + fact.steps :])
    # The step after the last one also has the reading of what was recorded, the one before it the start.
    measured_s = sum(took_s[inside.start - 1 : inside.stop + 1]) - plain_s * (fact.steps + 2)
    stated_s = fact.wall_s - fact.plain_s * fact.steps + fact.cost_s
    print(f"  {name:4} {fact.steps} steps   states {stated_s:7.3f} s   measured {measured_s:7.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"torch {torch.__version__} on {arguments.device}, one thread")
    print("agreement: our split over torch.profiler's parts")
    for name in arguments.model:
        agreement(name, arguments.device)
    print("cost: with over without, medians of interleaved runs")
    for name in arguments.model:
        cost(name, arguments.device, arguments.rounds)
    print("window: what a profile of a few steps says it cost, and what it cost")
    for name in arguments.model:
        window(name, arguments.device)


if __name__ == "__main__":
    main()
