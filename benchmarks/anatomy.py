"""How right and how quick `torch_debugger.flops` is, beside what people use today.

    python benchmarks/anatomy.py [--rounds 5] [--small]

First table: the multiply-accumulates of eight small modules, as a fraction of a count made by hand (in
anatomy_cases.py). Second table: the same for five larger models, forward and backward. Third: the time of one
count, interleaved, as a ratio to FlopCounterMode (on real data, as it is used; and on fake tensors).
FlopCounterMode counts FLOPs, fvcore and torchinfo count a multiply-accumulate as one: all are brought to
multiply-accumulates. Where `torch_debugger.summary` is there, its time stands beside torchinfo's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

import torch_debugger
from torch_debugger import flops

sys.path.append(str(Path(__file__).parent))  # `logging.py` beside this file takes it away
from anatomy_cases import Case, eight_modules, larger_models


def counted_by_torch(case: Case, backward: bool = False) -> int:
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(backward):
        made = case.model(*case.inputs)
        if backward:
            made.sum().backward()
            case.model.zero_grad()
    return int(counter.get_total_flops() // 2)


def counted_by_torch_on_fakes(case: Case, backward: bool = False) -> int:
    with FakeTensorMode() as fakes:
        named = [*case.model.named_parameters(remove_duplicate=False), *case.model.named_buffers()]
        held = {name: fakes.from_tensor(each).requires_grad_(each.requires_grad) for name, each in named}
        given = tuple(fakes.from_tensor(each) for each in case.inputs)
        with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(backward):
            made = torch.func.functional_call(case.model, held, given)
            if backward:
                made.sum().backward()
    return int(counter.get_total_flops() // 2)


def counted_by_fvcore(case: Case) -> int:
    from fvcore.nn import FlopCountAnalysis

    analysis = FlopCountAnalysis(case.model, case.inputs)
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    return int(analysis.total())


def counted_by_torchinfo(case: Case) -> int:
    import torchinfo

    return int(torchinfo.summary(case.model, input_data=list(case.inputs), verbose=0).total_mult_adds)


def counted_by_us(case: Case) -> int:
    return flops(case.model, *case.inputs).macs


def backward_by_us(case: Case) -> int:
    counts = flops(case.model, *case.inputs, backward=True).backward
    return counts.macs if counts is not None else 0


def backward_by_torch(case: Case) -> int:
    return counted_by_torch(case, backward=True) - counted_by_torch(case)


def fraction(count: Callable[[Case], int], case: Case, truth: int) -> str:
    try:
        return f"{count(case) / truth:.3f}"
    except Exception as error:  # a peer that cannot count this at all
        return type(error).__name__


def print_fractions(cases: list[Case]) -> None:
    print(f"{'fraction of the count by hand':32}{'ours':>10}{'FlopCounter':>14}{'fvcore':>14}{'torchinfo':>14}")
    for case in cases:
        peers = (counted_by_torch, counted_by_fvcore, counted_by_torchinfo)
        theirs = "".join(f"{fraction(count, case, case.macs):>14}" for count in peers)
        print(f"{case.name:32}{fraction(counted_by_us, case, case.macs):>10}{theirs}")
        if case.backward_macs is not None:
            back = [fraction(count, case, case.backward_macs) for count in (backward_by_us, backward_by_torch)]
            print(f"{'  backward':32}{back[0]:>10}{back[1]:>14}{'-':>14}{'-':>14}")


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Our median time, and the median of the ratios of neighbours: A B A B."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return statistics.median(mine for mine, _ in pairs), statistics.median(mine / his for mine, his in pairs)


def print_times(cases: list[Case], rounds: int) -> None:
    print(f"\n{'time of a count, ours / theirs':32}{'ours, ms':>10}{'FlopCounter':>14}{'on fakes':>14}")
    for case in cases:
        for backward in (False, True) if case.backward_macs is not None else (False,):
            mine = partial(flops, case.model, *case.inputs, backward=backward)
            real = ratio(mine, partial(counted_by_torch, case, backward), rounds)
            fake = ratio(mine, partial(counted_by_torch_on_fakes, case, backward), rounds)
            name = case.name + (", with backward" if backward else "")
            print(f"{name:32}{real[0] * 1e3:>10.1f}{real[1]:>14.2f}{fake[1]:>14.2f}")


def print_summary_times(cases: list[Case], rounds: int) -> None:
    summary = getattr(torch_debugger, "summary", None)
    if summary is None:
        return
    import torchinfo

    print(f"\n{'time of a summary, ours / theirs':32}{'ours, ms':>10}{'torchinfo':>14}")
    for case in cases:
        given = {"input_data": list(case.inputs), "verbose": 0}
        mine, share = ratio(
            partial(summary, case.model, **given), partial(torchinfo.summary, case.model, **given), rounds
        )
        print(f"{case.name:32}{mine * 1e3:>10.1f}{share:>14.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="the five larger models in a small size")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    small, large = eight_modules(), larger_models(arguments.small)
    print_fractions(small)
    print()
    print_fractions(large)
    print_times([*small, *large], arguments.rounds)
    print_summary_times(large, arguments.rounds)


if __name__ == "__main__":
    main()
