"""doctor(model, loss_fn, batch, optimizer): all trials on copies, told and returned."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import torch_debugger
from torch_debugger.system.errors import UsageError


def make() -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor], torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
    x = torch.randn(96, 6)
    return net, (x, x[:, :3].argmax(1)), torch.optim.AdamW(net.parameters(), lr=3e-3)


def test_a_healthy_model_passes_and_stays_as_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    net, batch, optimizer = make()
    numbers, state = torch.get_rng_state(), {k: v.clone() for k, v in net.state_dict().items()}
    checkup = torch_debugger.doctor(net, nn.CrossEntropyLoss(), batch, optimizer)
    assert checkup and not checkup.failed
    assert [each.outcome for each in checkup].count("passed") == 12
    assert torch.equal(numbers, torch.get_rng_state())
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())
    assert not optimizer.state and all(each.grad is None for each in net.parameters()) and net.training
    told = capsys.readouterr()
    assert told.out == ""
    assert "Tried on copies: net (291 parameters to learn), one batch of float32 [96, 6], AdamW, lr 0.003" in (
        " ".join(told.err.split())
    )
    assert told.err.endswith("12 trials: 12 passed.\n")
    checkup.save_picture(tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_what_fails_is_told_with_what_to_do() -> None:
    net, (x, y), optimizer = make()
    checkup = torch_debugger.doctor(
        net, lambda o, t: nn.functional.cross_entropy(o.softmax(1), t), (x, y), optimizer, show=False
    )
    assert not checkup
    failed = checkup["overfit one batch"]
    assert failed.advice.startswith("Look first whether labels belong to their inputs")
    assert failed.outcome == "failed" and failed.advice in " ".join(str(checkup).split())
    assert "failed     overfit one batch" in str(checkup)


def test_several_inputs_are_the_models_arguments_and_nothing_is_said_where_nothing_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    net = nn.Bilinear(4, 5, 1)
    one, two = torch.randn(16, 4), torch.randn(16, 5)
    for inputs in ((one, two), {"input1": one, "input2": two}):
        checkup = torch_debugger.doctor(net, nn.MSELoss(), (inputs, torch.randn(16, 1)), show=False)
        assert checkup["every parameter gets a gradient"].outcome == "passed"
        assert checkup["learning-rate range"].outcome == "untried"  # it was given no optimizer
        with pytest.raises(UsageError, match="was not tried"):
            checkup.save_picture("never.png")
    assert capsys.readouterr() == ("", "")


def test_what_it_cannot_take() -> None:
    net, (x, y), _ = make()
    with pytest.raises(UsageError, match="a batch of two"):
        torch_debugger.doctor(net, nn.CrossEntropyLoss(), x, show=False)
    with pytest.raises(UsageError, match="no tensor in the inputs"):
        torch_debugger.doctor(net, nn.CrossEntropyLoss(), ("text", y), show=False)
    with pytest.raises(UsageError, match="one number as a tensor, not a tensor of shape"):
        torch_debugger.doctor(net, nn.CrossEntropyLoss(reduction="none"), (x, y), show=False)


def test_a_trial_that_raises_is_told_and_the_others_go_on() -> None:
    class Moody(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(6, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.training:
                raise RuntimeError("not today\nor ever")
            return self.fc(x)

    _, batch, _ = make()
    checkup = torch_debugger.doctor(Moody(), nn.CrossEntropyLoss(), batch, show=False)
    assert checkup["train/eval consistency"].message == "RuntimeError came up in it: not today."
    assert checkup["overfit one batch"].outcome == "passed"
