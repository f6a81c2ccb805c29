"""Whose operation it is: by path, for shared modules, functional code, and in backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.anatomy.test_flops import Calls
from torch_debugger import flops

ONCE = 2 * 8 * 8  # a Linear(8, 8) on two rows


def linears(count: int) -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(count)))


def test_a_module_counts_what_lies_below_it_and_its_own() -> None:
    inner = Calls(lambda self, x: F.linear(self.fc(x), self.fc.weight), fc=nn.Linear(8, 8))
    model = nn.Sequential(inner, nn.Linear(8, 8))
    found = flops(model, torch.randn(2, 8), backward=True).by_module
    assert list(found) == ["", "0", "0.fc", "1"]
    assert [each.forward.macs for each in found.values()] == [3 * ONCE, 2 * ONCE, ONCE, ONCE]
    assert found["0"].own.macs == ONCE + 2 * ONCE, "F.linear and its backward belong to the module that called it"
    assert found[""].own.macs == 0
    assert found["0.fc"].backward.macs == ONCE, "no gradient for the input of the first layer"
    assert found["1"].backward.macs == 2 * ONCE
    assert sum(each.own.macs for each in found.values()) == found[""].macs
    assert sum(each.own.bytes for each in found.values()) == found[""].bytes


def test_every_backward_operation_finds_the_module_that_made_its_node() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    found = flops(model, torch.randn(3, 8), backward=True).by_module
    assert found["0"].backward.macs == 3 * 8 * 4
    assert found["2"].backward.macs == 2 * (3 * 4 * 16)
    assert found["4"].backward.macs == 2 * (3 * 16 * 2)
    assert found["1"].backward.elementwise == 3 * 4
    assert found["3"].backward.elementwise == 3 * 16
    assert found[""].own.macs == 0


def test_a_shared_module_counts_under_each_path_it_is_called_by() -> None:
    shared = nn.Linear(8, 8)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Sequential(shared))
    found = flops(model, torch.randn(2, 8), backward=True).by_module
    assert [found[path].forward.macs for path in ("0", "2", "3", "3.0")] == [ONCE] * 4
    assert [found[path].calls for path in ("0", "2", "3.0")] == [1, 1, 1]
    assert [found[path].backward.macs for path in ("0", "2", "3.0")] == [ONCE, 2 * ONCE, 2 * ONCE]
    assert found[""].forward.macs == 3 * ONCE


def test_lists_of_modules_hold_what_their_parts_cost() -> None:
    model = Calls(lambda self, x: self.parts[1](self.parts[0](x)), parts=nn.ModuleList(linears(3)))
    found = flops(model, torch.randn(2, 8)).by_module
    assert found["parts"].macs == 2 * ONCE
    assert found["parts.2"].macs == 0, "never called"
    assert found["parts.2"].calls == 0


def test_frozen_layers_have_no_backward_of_their_own() -> None:
    model = linears(4)
    model[0].requires_grad_(False)
    model[2].requires_grad_(False)
    found = flops(model, torch.randn(2, 8), backward=True).by_module
    assert [found[str(place)].backward.macs for place in range(4)] == [0, ONCE, ONCE, 2 * ONCE]


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_counts_its_forward_again(reentrant: bool) -> None:
    def run(self: Any, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.part, x, use_reentrant=reentrant))

    model = Calls(run, part=nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 8)), last=nn.Linear(8, 8))
    count = flops(model, torch.randn(2, 8, requires_grad=True), backward=True)
    # Without reentry torch stops as soon as all that backward needs is there: before the last product.
    again = 2 * ONCE if reentrant else ONCE
    assert count.recomputed.macs == again
    assert count.backward.macs == 3 * 2 * ONCE + again
    assert count.by_module["last"].backward.macs == 2 * ONCE
    assert count.by_module["part"].backward.macs == 2 * 2 * ONCE + again
    assert "forward computed again, for checkpoints" in str(count)


def test_a_forward_that_differentiates_counts_that_as_its_own() -> None:
    def force(self: Any, x: torch.Tensor) -> torch.Tensor:
        energy = self.fc(x.requires_grad_()).sum()
        return torch.autograd.grad(energy, x, create_graph=True)[0]

    count = flops(Calls(force, fc=nn.Linear(8, 8)), torch.randn(2, 8))
    assert count.macs == 2 * ONCE
    assert not count.note


def test_a_compiled_part_has_one_path_and_runs_as_it_was_written() -> None:
    model = nn.Sequential(torch.compile(nn.Linear(8, 8)), nn.ReLU())
    found = flops(model, torch.randn(2, 8)).by_module
    assert list(found) == ["", "0", "1"]
    assert found["0"].macs == ONCE
    assert found["0"].calls == 1
    assert flops(torch.compile(linears(2)), torch.randn(2, 8)).by_module["1"].macs == ONCE


def test_a_part_that_raises_and_is_caught_does_not_shift_the_others() -> None:
    def careful(self: Any, x: torch.Tensor) -> torch.Tensor:
        try:
            x = self.broken(x)
        except ValueError:
            x = self.fc(x)
        return self.after(x)

    def fail(self: Any, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("not today")

    model = Calls(careful, broken=Calls(fail), fc=nn.Linear(8, 8), after=nn.Linear(8, 8))
    found = flops(model, torch.randn(2, 8)).by_module
    assert (found["fc"].macs, found["after"].macs, found["broken"].macs) == (ONCE, ONCE, 0)
