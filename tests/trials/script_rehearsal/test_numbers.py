"""A rehearsal answers where a script asks for numbers, and tells only of what is certain."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from torch_debugger.trials.pretended_gpu import DeviceMismatchError, ScriptPretence


def pretence(moved: nn.Module, asked: list[torch.Tensor | None]) -> ScriptPretence:
    weights = {id(each) for each in moved.parameters()}
    return ScriptPretence("cuda", {}, weights, lambda error, known: asked.append(error.odd))


def test_tensors_without_values_answer_with_any_number() -> None:
    layer = nn.Linear(3, 2)
    with torch.no_grad(), pretence(layer, []):
        made = layer(torch.ones(4, 3, device="cuda"))
        assert made.device.type == "cuda"
        assert (made.sum().item(), bool(made.sum() > 0), f"{made.mean():.1f}") == (1.0, False, "1.0")
        assert made.cpu().numpy().shape == (4, 2)


def test_only_what_was_moved_for_sure_makes_a_mismatch_that_is_told() -> None:
    layer, unknown = nn.Linear(3, 3), torch.ones(4, 3)
    asked: list[torch.Tensor | None] = []
    with torch.no_grad(), pretence(layer, asked):
        with pytest.raises(DeviceMismatchError):
            unknown + torch.ones(4, 3)
        assert not asked
        with pytest.raises(DeviceMismatchError):
            layer(torch.ones(4, 3))
        assert len(asked) == 1
        with pytest.raises(DeviceMismatchError):
            unknown.copy_(layer(unknown)) + torch.ones(4, 3)
        assert len(asked) == 1
        with pytest.raises(DeviceMismatchError):
            (unknown - layer(unknown)) + torch.ones(4, 3)
        assert len(asked) == 2
