"""The tape: it lives as long as its results, and what it stands on is left as it was."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizers
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.trials.anomaly_detection import AnomalyKinds, AnomalySettings, current_session, switch, trace
from torch_debugger.trials.operation_recorder import OperationRecorder
from torch_debugger.trials.operation_tape import Tape, leading_to


@pytest.fixture
def recorder() -> Iterator[OperationRecorder]:
    switch(AnomalySettings(AnomalyKinds(), 4, lambda anomaly: RuntimeError(anomaly)))
    session = current_session()
    assert session is not None
    yield session.recorder
    switch(None)


def names(tape: Tape, tensor: torch.Tensor) -> list[str]:
    made = tape.made(tensor)
    assert made is not None
    steps = leading_to([made.step])
    return [getattr(step.function, "__name__", type(step.function).__name__) for step in steps]


def test_it_holds_what_a_result_was_computed_from(recorder: OperationRecorder) -> None:
    x = torch.randn(3, 4)
    unrelated = x * 2
    y = nn.Linear(4, 2)(x + 1).relu().sum()
    assert names(recorder.tape, y) == ["add", "Linear", "relu", "sum"]
    assert names(recorder.tape, unrelated) == ["mul"]


def test_a_batch_is_let_go_with_the_last_result(recorder: OperationRecorder) -> None:
    x = torch.randn(3, 4)
    gone = weakref.ref(x)
    y = nn.Linear(4, 2)(x).sum()
    del x
    assert gone() is not None
    del y
    gc.collect()
    assert gone() is None


def test_a_running_mean_holds_no_batch_after_backward(recorder: OperationRecorder) -> None:
    net, running, batches = nn.Linear(4, 2), torch.zeros(()), []
    for _ in range(3):
        x = torch.randn(3, 4)
        batches.append(weakref.ref(x))
        loss = net(x).square().mean()
        running = 0.9 * running + 0.1 * loss.detach()
        loss.backward()
    del x, loss
    gc.collect()
    assert [gone() for gone in batches] == [None, None, None]
    assert recorder.tape.made(running) is None


def test_writing_into_a_result_or_a_view_of_it_is_done_again(recorder: OperationRecorder) -> None:
    x = torch.zeros(6)
    y = x + 1
    y.view(2, 3)[1].fill_(0)
    y[0] = 0
    y.mul_(2)
    z = y.log()
    made = recorder.tape.made(z)
    assert made is not None
    with recorder.standing_by():
        traced = trace([made])
    assert traced.origin is not None and traced.origin.op == "log"
    assert traced.origin.operands[0].zeros == int((y == 0).sum()) == 4
    assert traced.origin.operands[0].high == 2


def test_a_tensor_from_elsewhere_is_kept_before_it_is_written_into(recorder: OperationRecorder) -> None:
    x = torch.arange(4.0)
    x.sub_(1)
    y = x.sqrt()
    made = recorder.tape.made(y)
    assert made is not None
    with recorder.standing_by():
        traced = trace([made])
    assert traced.origin is not None and traced.origin.operands[0].low == -1
    assert not traced.was_changed
    assert torch.equal(x, torch.arange(4.0) - 1)


def test_what_was_changed_since_is_noticed(recorder: OperationRecorder) -> None:
    x = torch.zeros(3)
    y = x.log()
    with torch.no_grad():
        x.add_(1)
    made = recorder.tape.made(y)
    assert made is not None
    with recorder.standing_by():
        assert trace([made]).was_changed


def test_torchs_own_functions_are_put_back() -> None:
    def held() -> list[object]:
        owners = [
            (nn.Module, "__call__"),
            (torch.autograd.Function, "apply"),
            (torch.autograd, "backward"),
            (_BaseDataLoaderIter, "__next__"),
        ]
        return [vars(owner)[name] for owner, name in owners]

    before, hooks = held(), len(optimizers._global_optimizer_pre_hooks)
    switch(AnomalySettings(AnomalyKinds(), 4, lambda anomaly: RuntimeError(anomaly)))
    assert all(one is not other for one, other in zip(before, held(), strict=True))
    switch(None)
    assert all(one is other for one, other in zip(before, held(), strict=True))
    assert len(optimizers._global_optimizer_pre_hooks) == hooks
    assert torch._C._len_torch_function_stack() == 0


def test_devices_come_and_go_in_any_order(recorder: OperationRecorder) -> None:
    with torch.device("meta"):
        assert torch.zeros(1).is_meta
    assert not torch.zeros(1).is_meta
    torch.set_default_device("meta")
    assert torch.zeros(1).is_meta
    torch.set_default_device(None)
    assert not torch.zeros(1).is_meta
    with torch.device("meta"):
        switch(None)
        switch(AnomalySettings(AnomalyKinds(), 4, lambda anomaly: RuntimeError(anomaly)))
        nn.Linear(2, 2)(torch.zeros(1, 2))
    assert not torch.zeros(1).is_meta
    assert torch._C._len_torch_function_stack() == 1


def test_an_optimizer_records_nothing_but_its_closure(recorder: OperationRecorder) -> None:
    net = nn.Linear(4, 2)
    net(torch.randn(3, 4)).sum().backward()
    before = recorder.tape.number
    torch.optim.Adam(net.parameters(), foreach=False).step()
    assert recorder.tape.number == before

    def closure() -> torch.Tensor:
        loss = net(torch.randn(3, 4)).square().mean()
        loss.backward()
        return loss

    torch.optim.LBFGS(net.parameters(), max_iter=1).step(closure)
    assert recorder.tape.number > before


def test_an_error_of_ours_switches_it_off(recorder: OperationRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tape, "keep", lambda *arguments: 1 / 0)
    assert torch.equal(torch.ones(2) + 1, torch.full((2,), 2.0))
    assert recorder.fault == "ZeroDivisionError: division by zero"
    nn.Linear(4, 2)(torch.randn(3, 4)).sum().backward()
