"""torch_debugger.gradcheck against torch.autograd.gradcheck, on backwards of a 50x50 matrix product.

20 right ones, 20 that are 1 % wrong and 20 with a single wrong element. A backward counts as located when
the wrong element itself is named. Times are medians over interleaved runs on the right ones, by the clock
and by the CPU: on a busy machine the two ratios part, and the longer run is interrupted more often. Slow
mode, which takes seconds, runs on some only. The goals: 40 caught, no false alarm, at most 5 times the time
of fast mode.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from torch_debugger import gradcheck

SIZE = 50
EACH = 20
SLOW_RUNS = 2


class Product(torch.autograd.Function):
    """a @ b, with `spoil` between the right gradients and what is returned."""

    spoil: Callable[[torch.Tensor, torch.Tensor], Any] = staticmethod(lambda a, b: (a, b))

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        a, b = ctx.saved_tensors
        return Product.spoil(grad @ b.t(), a.t() @ grad)


Seconds = tuple[float, float]  # by the clock, by the CPU
Case = tuple[str, Callable[[torch.Tensor, torch.Tensor], Any], tuple[int, int] | None]


def cases(generator: torch.Generator) -> list[Case]:
    made: list[Case] = [("right", lambda a, b: (a, b), None) for _ in range(EACH)]
    made += [("1 % wrong", lambda a, b: (a * 1.01, b), None) for _ in range(EACH // 2)]
    made += [("1 % wrong", lambda a, b: (a, b * 1.01), None) for _ in range(EACH // 2)]
    for _ in range(EACH):
        row, column = torch.randint(0, SIZE, (2,), generator=generator).tolist()
        made.append(("one element", _one_element(row, column), (row, column)))
    return made


def _one_element(row: int, column: int) -> Callable[[torch.Tensor, torch.Tensor], Any]:
    def spoil(a: torch.Tensor, b: torch.Tensor) -> Any:
        a = a.clone()
        a[row, column] *= 1.1
        return a, b

    return spoil


def table() -> list[tuple[str, ...]]:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    ours = dict.fromkeys(("right", "1 % wrong", "one element"), 0)
    fast, slow = dict(ours), dict(ours)
    located, times = 0, {"ours": [], "fast": [], "slow": []}
    for number, (kind, spoil, element) in enumerate(cases(generator)):
        Product.spoil = staticmethod(spoil)  # type: ignore[method-assign]
        inputs = tuple(_drawn(generator) for _ in range(2))
        result, seconds = _timed(lambda inputs=inputs: gradcheck(Product.apply, inputs))
        flagged, fast_s = _timed(lambda inputs=inputs: not _torchs(inputs, fast_mode=True))
        ours[kind] += not result
        fast[kind] += flagged
        if element is not None and result.mismatches:
            place = re.search(r"\[(\d+), (\d+)\]", result.mismatches[0].element)
            located += place is not None and tuple(map(int, place.groups())) == element
        if kind == "right":
            times["ours"].append(seconds)
            times["fast"].append(fast_s)
        if number % EACH < SLOW_RUNS:
            flagged, slow_s = _timed(lambda inputs=inputs: not _torchs(inputs, fast_mode=False))
            slow[kind] += flagged
            times["slow"].append(slow_s)
    return _rows(ours, fast, slow, located, times)


def _drawn(generator: torch.Generator) -> torch.Tensor:
    return torch.randn(SIZE, SIZE, dtype=torch.float64, generator=generator).requires_grad_()


def _torchs(inputs: Any, *, fast_mode: bool) -> bool:
    return bool(torch.autograd.gradcheck(Product.apply, inputs, fast_mode=fast_mode, raise_exception=False))


def _timed(call: Callable[[], Any]) -> tuple[Any, Seconds]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def _rows(
    ours: dict[str, int],
    fast: dict[str, int],
    slow: dict[str, int],
    located: int,
    times: dict[str, list[Seconds]],
) -> list[tuple[str, ...]]:
    wall = {name: statistics.median(each[0] for each in values) for name, values in times.items()}
    cpu = {name: statistics.median(each[1] for each in values) for name, values in times.items()}
    rows: list[tuple[str, ...]] = [
        ("check", "1 % wrong", "one element", "named", "false alarms", "wall ms", "x fast", "CPU ms", "x fast")
    ]
    for name, found, runs in (("ours", ours, EACH), ("fast", fast, EACH), ("slow", slow, SLOW_RUNS)):
        rows.append((
            {"ours": "torch_debugger.gradcheck", "fast": "torch fast mode", "slow": "torch slow mode"}[name],
            f"{found['1 % wrong']}/{runs}", f"{found['one element']}/{runs}",
            f"{located}/{EACH}" if name == "ours" else "-", f"{found['right']}/{runs}",
            f"{wall[name] * 1e3:.1f}", f"{wall[name] / wall['fast']:.1f}",
            f"{cpu[name] * 1e3:.1f}", f"{cpu[name] / cpu['fast']:.1f}",
        ))  # fmt: skip
    return rows
