from __future__ import annotations

import pytest

from tests.checks.speed.sampled_loops import Library, Path, Users, training
from tests.fakes import judged, optimizer
from torch_debugger.records import Finding

ZERO_GRAD = Library("Optimizer.zero_grad", "/lib/torch/optim/optimizer.py")
LINE = Users(13, "optimizer.zero_grad(set_to_none=False)")


def check(paths: dict[Path, int]) -> list[Finding]:
    return judged([optimizer(name="opt"), *training(paths)], "gradients-zeroed-not-dropped")


def test_zeros_are_told_with_the_additions_to_them() -> None:
    (finding,) = check({(LINE, ZERO_GRAD): 12})
    assert finding.severity == "note"
    assert finding.message == (
        "Filling gradients with zeros takes 2.4 ms of the 20 ms of each step: `optimizer.zero_grad(set_to_none=False)`."
    )
    assert finding.fix == (
        "Write `optimizer.zero_grad()`: it lets the gradients go. Expected to save about 30 % of each step (6 ms)."
    )
    assert finding.edit is not None and finding.edit.after == "optimizer.zero_grad()"


@pytest.mark.parametrize("code", ["p.grad.zero_()", "p.grad.data.zero_()", "w.grad.detach_().zero_()"])
def test_gradients_zeroed_by_hand(code: str) -> None:
    (finding,) = check({(Users(13, code),): 12})
    assert finding.fix.startswith("Call `opt.zero_grad()` instead: it lets the gradients go.")
    assert finding.edit is None


def test_other_arguments_stay() -> None:
    (finding,) = check({(Users(13, "clear(model, set_to_none=False)"),): 12})
    assert finding.edit is not None and finding.edit.after == "clear(model)"


def test_the_default_is_silent() -> None:
    assert not check({(Users(13, "optimizer.zero_grad()"), ZERO_GRAD): 12})
    assert not check({(Users(13, "optimizer.zero_grad(set_to_none=True)"), ZERO_GRAD): 12})


def test_small_gradients_are_silent() -> None:
    assert not check({(LINE, ZERO_GRAD): 5}), "too few samples to be sure of 5 %"
