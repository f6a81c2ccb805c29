"""How well the memory of a training step is predicted, and told apart: a ResNet-50, a GPT-2 and a U-Net.

    python -m benchmarks.memory [--model resnet gpt u-net] [--only peak categories]

With CUDA, each step is predicted first, without the GPU, and then made there: printed is predicted over
measured (`torch.cuda.max_memory_allocated`), in float32 and under bfloat16 autocast, with SGD, AdamW and fused
AdamW. The goal is 0.97 to 1.03. Without CUDA the predictions are printed, and next to them, for a small batch,
the bytes of the same step made for real on the CPU under the same tape: those must be equal.

Then the categories that a watched run of the same step tells (parameters, gradients, optimizer state,
activations and so on), before backward and after the update: their sum over what torch's allocator counts, on
the CPU over the live storages in a ledger of every operation, in float32 alone. The goal is 0.95 to 1.05.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import gc
import time
from collections.abc import Callable, Iterable

import torch
from torch import nn

from benchmarks.memory_categories import compare
from benchmarks.memory_models import Case, cases
from torch_debugger.model.cuda_memory import CUBLAS_BYTES, cublas_bytes
from torch_debugger.model.step_memory import MemoryPeak
from torch_debugger.trials.step_rehearsal import DTYPES, perform_apart
from torch_debugger.trials.step_to_rehearse import step_of

MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
OPTIMIZERS: dict[str, MakeOptimizer] = {
    "SGD": functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "AdamW": functools.partial(torch.optim.AdamW, foreach=True),
    "fused AdamW": functools.partial(torch.optim.AdamW, fused=True),
}
SMALL = 2  # samples in a step made for real on the CPU


def predict(case: Case, dtype: str, make: MakeOptimizer, small: bool = False, real: bool = False) -> MemoryPeak:
    inputs, targets = (tensor[:SMALL] if small else tensor for tensor in case.batch())
    net = case.make()
    step, _ = step_of("net", net, (inputs,), case.loss, targets, make(net.parameters()))
    step = dataclasses.replace(step, dtype=DTYPES[dtype])
    taken = cublas_bytes() if torch.cuda.is_available() else CUBLAS_BYTES
    return perform_apart(step, len(inputs), real=real, cublas_bytes=taken)


def measure(case: Case, dtype: str, make: MakeOptimizer) -> int:
    gc.collect()
    torch.cuda.empty_cache()
    torch._C._cuda_clearCublasWorkspaces()
    assert torch.cuda.memory_allocated() == 0, "something of the step before is still there"
    torch.cuda.reset_peak_memory_stats()
    net = case.make().cuda()
    inputs, targets = (tensor.cuda() for tensor in case.batch())
    optimizer = make(net.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bf16"):
            output = net(inputs)
            loss = case.loss(output, targets)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()


def on_cuda(case: Case) -> None:
    for dtype in ("fp32", "bf16"):
        for name, make in OPTIMIZERS.items():
            started = time.perf_counter()
            found = predict(case, dtype, make)
            took_s = time.perf_counter() - started
            measured = measure(case, dtype, make)
            parts = ", ".join(f"{part} {size / 1e6:.0f}" for part, size in found.by_category.items() if size > 1e6)
            print(
                f"{case.name:11} {dtype} {name:12} predicted {found.peak_bytes / 1e9:6.3f} GB, measured "
                f"{measured / 1e9:6.3f} GB, ratio {found.peak_bytes / measured:.3f} ({took_s:.1f} s; {parts})"
            )


def on_cpu(case: Case) -> None:
    for dtype in ("fp32", "bf16"):
        started = time.perf_counter()
        found = predict(case, dtype, OPTIMIZERS["AdamW"])
        took_s = time.perf_counter() - started
        print(f"{case.name:11} {dtype} AdamW predicted {found.peak_bytes / 1e9:6.3f} GB ({took_s:.1f} s)")
        small = [predict(case, dtype, OPTIMIZERS["AdamW"], True, real).peak_bytes for real in (False, True)]
        print(f"{case.name:11} {dtype} batch of {SMALL}: {small[0]:,} bytes without data, {small[1]:,} for real")


def categories(case: Case) -> None:
    on_gpu = torch.cuda.is_available()
    samples = len(case.batch()[0]) if on_gpu else SMALL
    for dtype in ("fp32", "bf16") if on_gpu else ("fp32",):
        for line in compare(case, dtype, OPTIMIZERS["AdamW"], samples):
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="*", default=["resnet", "gpt", "u-net"])
    parser.add_argument("--only", nargs="*", choices=("peak", "categories"), default=["peak", "categories"])
    options = parser.parse_args()
    for case in cases():
        if any(word in case.name.lower() for word in options.model):
            if "peak" in options.only:
                (on_cuda if torch.cuda.is_available() else on_cpu)(case)
            if "categories" in options.only:
                categories(case)


if __name__ == "__main__":
    main()
