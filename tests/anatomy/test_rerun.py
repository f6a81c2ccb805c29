"""What a model changes in itself while we run it is as it was."""

from __future__ import annotations

import torch
from torch import nn

from tests.untouched_models import model_untouched
from torch_debugger import flops, pictures, summary
from torch_debugger.model.reruns import leaving_no_trace


class HookingItself(nn.Module):
    """As Hugging Face's models: at their first call they hook their layers, and note that they did."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)
        self.is_hooked = False
        self.collected: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.is_hooked:
            for layer in (self.first, self.second):
                layer.register_forward_hook(lambda module, given, output: self.collected.append(output))
            self.extra = nn.Linear(2, 2)
            self.is_hooked = True
        return self.extra(self.second(self.first(x)))  # type: ignore[no-any-return]


def test_hooks_and_children_that_a_first_call_makes_are_gone() -> None:
    model, given = HookingItself(), torch.rand(3, 4)
    with model_untouched(model, given):
        for _ in range(2):
            pictures.feature_maps(model, given, "first")
            pictures.embeddings(model, given, "second")
            summary(model, input_data=given, verbose=0)
            flops(model, given)
    assert list(dict(model.named_children())) == ["first", "second"]
    model(given)
    assert len(model.collected) == 2  # each layer is hooked once


def test_a_hook_that_takes_itself_away_is_back() -> None:
    model, given, calls = nn.Sequential(nn.Linear(4, 2)), torch.rand(3, 4), []

    def once(module: nn.Module, inputs: object, output: object) -> None:
        calls.append(1)
        handle.remove()

    handle = model[0].register_forward_hook(once)
    pictures.embeddings(model, given, "0")
    model(given)
    assert len(calls) == 2  # ours, and the user's first
    assert not model[0]._forward_hooks


def test_kernels_that_torch_has_switched_off_meanwhile_are_on_again() -> None:
    assert torch._C._get_mkldnn_enabled()
    with leaving_no_trace(nn.Linear(1, 1)):
        torch._C._set_mkldnn_enabled(False)  # as a failing bfloat16 product does
    assert torch._C._get_mkldnn_enabled()
