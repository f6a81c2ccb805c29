"""torch.compile: nothing of ours is compiled in, and what can stop still does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

from tests.breakpoints.conftest import Stop
from tests.breakpoints.models import train
from torch_debugger import break_when
from torch_debugger.probes.breakpoints import COMPILED

SENTENCE = f"torch-debugger: {COMPILED}\n"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def graphs(*texts: str, early: bool = True) -> int:
    """How many graphs dynamo makes of a training with these breakpoints, set before or after torch.compile."""
    torch._dynamo.reset()
    counter = CompileCounter()
    handles = [break_when(text) for text in texts] if early else []
    model = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)), backend=counter)
    train(model, 1)
    handles += [] if early else [break_when(text) for text in texts]
    train(model, 3)
    for handle in handles:
        handle.remove()
    return counter.frame_count


@pytest.mark.parametrize("early", [True, False], ids=["set before", "set after"])
def test_the_same_graphs(early: bool, stops: list[Stop], capfd: pytest.CaptureFixture[str]) -> None:
    plain = graphs()
    assert plain >= 1
    assert graphs("numel(output) > 0", "nan(grad)", early=early) == plain
    assert not stops
    assert capfd.readouterr().err == SENTENCE


def test_steps_and_losses_stop_at_backward(stops: list[Stop], capfd: pytest.CaptureFixture[str]) -> None:
    graphs("step == 2", "loss >= 0 and step == 3")
    assert [(stop.line, stop.names["step"]) for stop in stops] == [
        ("loss.backward()", 2),
        ("loss.backward()", 3),
    ]
    assert capfd.readouterr().err.startswith(SENTENCE)


def test_losses_alone_need_no_word_about_it(stops: list[Stop], capfd: pytest.CaptureFixture[str]) -> None:
    graphs("nan(loss)")
    assert not capfd.readouterr().err


def test_the_sentence_says_what_cannot_be_done_and_what_can() -> None:
    assert "breakpoints cannot stop in compiled regions" in COMPILED
    assert "Conditions on `step` and `loss` alone still stop, at backward()." in COMPILED
