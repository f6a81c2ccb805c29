"""What watching costs: whole training runs with and without us, interleaved, as ratios.

    python benchmarks/step_cost.py [--device cpu|cuda] [--seconds 8] [--rounds 5] [--model mlp cnn gpt]

For each model, rounds of A/B/A/B: the same number of steps plainly and watched (a fresh session
with a log each time, as under `torch-debugger run`). Printed: the median ratio of the run times;
the share of a run that the added work takes by our own clock inside the step (what to believe
when ratios within 0.05 of 1 are noise); and what other ways of looking cost on the same steps.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from torch_debugger.log.writer import LogWriter
from torch_debugger.runner.plumbing import connect
from torch_debugger.settings import Settings

Step = Callable[[], None]


class SmallGpt(nn.Module):
    def __init__(self, words: int = 512, width: int = 192, depth: int = 4, length: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.head = nn.Linear(width, words)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.words(tokens) + self.places
        for block in self.blocks:
            hidden = block(hidden, src_mask=self.mask, is_causal=True)
        return self.head(hidden)


def make_mlp(device: str) -> tuple[nn.Module, Step]:
    """About 1 ms a step on one CPU core."""
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    inputs, labels = torch.randn(64, 256, device=device), torch.randint(0, 10, (64,), device=device)
    return model, make_step(model, lambda: functional.cross_entropy(model(inputs), labels))


def make_cnn(device: str) -> tuple[nn.Module, Step]:
    layers: list[nn.Module] = []
    for given, made in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(given, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10)).to(device)
    inputs, labels = torch.randn(32, 3, 32, 32, device=device), torch.randint(0, 10, (32,), device=device)
    return model, make_step(model, lambda: functional.cross_entropy(model(inputs), labels))


def make_gpt(device: str) -> tuple[nn.Module, Step]:
    model = SmallGpt().to(device)
    tokens = torch.randint(0, 512, (8, 65), device=device)

    def loss() -> torch.Tensor:
        scores = model(tokens[:, :-1])
        return functional.cross_entropy(scores.reshape(-1, 512), tokens[:, 1:].reshape(-1))

    return model, make_step(model, loss)


MODELS = {"mlp": make_mlp, "cnn": make_cnn, "gpt": make_gpt}
GOALS = {"mlp": 1.05, "cnn": 1.02, "gpt": 1.02}


def make_step(model: nn.Module, compute_loss: Callable[[], torch.Tensor]) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss = compute_loss()
        loss.backward()
        optimizer.step()

    return step


def run_steps(step: Step, count: int, device: str) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def run_watched(step: Step, count: int, device: str) -> tuple[float, float, int]:
    """Seconds, the share of our own work by our clock, deep steps."""
    with tempfile.TemporaryDirectory() as folder:
        writer = LogWriter(folder, on_fault=print)
        start = time.perf_counter()
        plumbing = connect(Settings(), [writer], None)
        run_steps(step, count, device)
        governor = plumbing.watch.governor
        share = governor.spent_s / governor.elapsed_s
        plumbing.disconnect([writer], "finished")
        seconds = time.perf_counter() - start
        writer.close()
        return seconds, share, governor.deep_steps


def with_anomaly_mode(model: nn.Module, step: Step) -> Step:
    def watched() -> None:
        with torch.autograd.detect_anomaly(check_nan=True):
            step()

    return watched


def with_item_hooks(model: nn.Module, step: Step) -> Step:
    """What tutorials do: a forward hook on every layer that prints or keeps a mean."""
    means: dict[str, float] = {}

    def watched() -> None:
        hooks = [
            module.register_forward_hook(
                lambda module, given, made, name=name: (
                    means.__setitem__(name, made.mean().item()) if isinstance(made, torch.Tensor) else None
                )
            )
            for name, module in model.named_modules()
        ]
        step()
        for hook in hooks:
            hook.remove()

    return watched


def with_histograms(model: nn.Module, step: Step) -> Step:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(tempfile.mkdtemp())
    count = 0

    def watched() -> None:
        nonlocal count
        step()
        count += 1
        if count % 10 == 0:
            for name, parameter in model.named_parameters():
                writer.add_histogram(f"weights/{name}", parameter, count)
                writer.add_histogram(f"grads/{name}", parameter.grad, count)

    return watched


PEERS = {
    "detect_anomaly": with_anomaly_mode,
    "hooks with .item()": with_item_hooks,
    "add_histogram every 10 steps": with_histograms,
}


def ratio(step: Step, other: Step, device: str, count: int, rounds: int = 5) -> float:
    """The median of interleaved A/B rounds."""
    found = []
    for _ in range(rounds):
        plain = run_steps(step, count, device)
        found.append(run_steps(other, count, device) / plain)
    return statistics.median(found)


def measure(name: str, device: str, seconds: float, rounds: int) -> None:
    model, step = MODELS[name](device)
    run_steps(step, 20, device)
    one = run_steps(step, 50, device) / 50
    count = max(100, int(seconds / one))
    ratios, shares, deep = [], [], 0
    for _ in range(rounds):
        plain = run_steps(step, count, device)
        watched, share, deep = run_watched(step, count, device)
        ratios.append(watched / plain)
        shares.append(share)
    again = ratio(step, step, device, max(20, count // 10))
    found, share = statistics.median(ratios), statistics.median(shares)
    print(f"{name}: {one * 1e3:.2f} ms a step, {rounds} runs of {count} steps on {device}")
    print(f"  watched, whole run        {found:6.3f}x   goal {GOALS[name]}x   (A/A: {again:.3f}x)")
    print(f"  our own work in the step  {share * 100:5.2f} %   {deep} deep steps a run")
    for title, wrap in PEERS.items():
        peer = ratio(step, wrap(model, step), device, max(20, count // 20))
        print(f"  {title:25} {peer:6.3f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, one thread; ratios of interleaved runs, medians")
    for name in arguments.model:
        measure(name, arguments.device, arguments.seconds, arguments.rounds)


if __name__ == "__main__":
    main()
