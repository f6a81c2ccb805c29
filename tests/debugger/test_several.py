"""Two debuggers at once, one inside the other, one in a thread, many in a row."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

from tests.debugger.models import Net, train
from torch_debugger import Debugger
from torch_debugger.runner import plumbing


def test_two_at_once_both_see_it(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    first = Debugger(model)
    second = Debugger()
    train(model, softmax=True)
    for debugger in (first, second):
        debugger.close()
        assert [finding.name for finding in debugger.findings] == ["softmax-before-cross-entropy"]
        assert debugger.report().result.steps == 12


def test_the_first_to_go_leaves_the_other_watching() -> None:
    model = Net()
    first, second = Debugger(model), Debugger(model)
    train(model, steps=3)
    first.close()
    train(model, steps=4)
    second.close()
    assert first.report().result.steps == 3
    assert second.report().result.steps == 7
    assert plumbing._current is None


def test_one_who_joins_late_knows_the_model_and_counts_its_own_steps(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with Debugger(model) as outer:
        train(model, steps=5)
        with Debugger() as inner:
            train(model, steps=6, zero=False)
    assert inner.report().result.steps == 6
    assert outer.report().result.steps == 11
    assert [finding.name for finding in inner.findings] == ["missing-zero-grad"]


def test_a_late_debugger_sees_a_call_in_a_step_without_hooks(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = Net(), torch.randn(4, 8)
    with Debugger(budget=1e-9):
        train(model, steps=40)
        late = Debugger()
        output = late.run(model(x))
    assert output.shape == (4, 3)
    assert [len(flow.steps) for flow, _ in late.report().flows] == [5]


def test_only_and_ignore_are_each_ones_own(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with Debugger(only=["softmax-before-cross-entropy"]) as narrow, Debugger(ignore=["missing-zero-grad"]) as other:
        train(model, zero=False)
    assert narrow.findings == []
    assert other.findings == []
    assert capfd.readouterr().err == ""


def test_the_probes_stay_on_while_anyone_watches() -> None:
    backward = torch.autograd.backward
    first, second = Debugger(), Debugger()
    first.close()
    assert torch.autograd.backward is not backward
    second.close()
    assert torch.autograd.backward is backward


def test_flows_are_kept_only_while_wanted() -> None:
    model, x = Net(), torch.randn(4, 8)
    first, second = Debugger(), Debugger()
    first.close()
    model(x)
    second.close()
    assert first.report().flows == ()
    assert second.report().flows[0][1] == 1


def test_the_same_debugger_again_and_again() -> None:
    model = Net()
    debugger = Debugger()
    debugger.close()
    for steps in (3, 5):
        with debugger:
            train(model, steps=steps)
        assert debugger.report().result.steps == steps
        assert len(debugger.report().flows) == 1


def test_in_a_thread(capfd: pytest.CaptureFixture[str]) -> None:
    found: list[str] = []

    def work() -> None:
        model = Net()
        with Debugger(model) as d:
            train(model, softmax=True)
        found.extend(finding.name for finding in d.findings)
        found.append(d.report().flows[0][0].root)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["softmax-before-cross-entropy", "model"]


def test_of_two_threads_that_call_models_one_is_listened_to() -> None:
    """Two models at once do not mix."""
    ready = threading.Barrier(2)

    class Slow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            ready.wait(timeout=300)  # both are inside before either goes on
            return self.inner(x)

    models = [Slow(), Slow()]
    with Debugger() as d:
        threads = [threading.Thread(target=model, args=(torch.randn(2, 8),)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    flows = [flow for flow, _ in d.report().flows]
    assert [[step.depth for step in flow.steps] for flow in flows] == [[0, 1]]
    assert d.report().result.faults == ()


def test_a_debugger_made_in_one_thread_and_closed_in_another() -> None:
    debugger = Debugger()
    thread = threading.Thread(target=debugger.close)
    thread.start()
    thread.join()
    assert not debugger.watching
