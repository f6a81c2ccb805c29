"""Seeds that are set again in the course of a training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.records import Reseeding

ROOT = Path(__file__).parents[2]


def set_seed() -> None:
    torch.manual_seed(3)


def train(seen: Seen, *, forked: bool = False, random: bool = True) -> list[Reseeding]:
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        if forked:
            with torch.random.fork_rng():
                set_seed()
        else:
            set_seed()
        for _ in range(3):
            x = torch.randn(5, 4) if random else torch.ones(5, 4)
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()
    return seen.of(Reseeding)


def test_a_training_that_repeats_its_random_numbers() -> None:
    with watched() as seen:
        found = train(seen)
    assert [(each.seed, each.updates, each.draws, each.repeats) for each in found] == [(3, 3, True, True)] * 2
    assert {each.place.code for each in found} == {"set_seed()"}  # not the line inside of it
    assert [each.age for each in found] == [7, 10]


def test_a_fork_of_the_random_state_leaves_the_training_alone() -> None:
    with watched() as seen:
        found = train(seen, forked=True)
    assert found and not any(each.repeats for each in found)


def test_a_training_without_random_numbers() -> None:
    with watched() as seen:
        found = train(seen, random=False)
    assert found and not any(each.draws for each in found)


def test_torchs_own_function_is_put_back() -> None:
    before = torch.manual_seed, torch.random.manual_seed  # dynamo, once imported, wraps one of them
    with watched():
        assert torch.manual_seed is not before[0]
        assert torch.random.manual_seed is not before[1]
    assert (torch.manual_seed, torch.random.manual_seed) == before


def test_dynamo_finds_one_function_by_both_names() -> None:
    import_late = """
import torch
from tests.probes.watching import watched
with watched():
    assert torch.manual_seed is torch.random.manual_seed
    import torch._dynamo
    assert torch.manual_seed is not torch.random.manual_seed
assert torch.manual_seed.__wrapped__ is torch.random.manual_seed
assert "torch_debugger" not in torch.random.manual_seed.__code__.co_filename
assert torch.jit._builtins._find_builtin(torch.manual_seed) == "aten::manual_seed"
print(int(torch.manual_seed(5).initial_seed()))
"""
    done = subprocess.run([sys.executable, "-c", import_late], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
