"""Numbers on their way: at once on the CPU; from a device in order, together, and never waiting."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy
import pytest
import torch

from torch_debugger.stats import transfer as transfer_module
from torch_debugger.stats.transfer import Transfer


def test_on_the_cpu_at_once() -> None:
    found: list[Any] = []
    Transfer().send(torch.tensor([[1.0, 2.0]], dtype=torch.float64), found.append)
    assert found[0].dtype == numpy.float32
    assert found[0].tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool], ids=str)
def test_every_kind_arrives_as_float32(dtype: torch.dtype) -> None:
    found: list[Any] = []
    Transfer().send(torch.tensor([1, 0]).to(dtype), found.append)
    assert found[0].tolist() == [1.0, 0.0]


def test_what_needs_a_gradient_is_let_go() -> None:
    found: list[Any] = []
    Transfer().send(torch.ones(2, requires_grad=True) * 3, found.append)
    assert found[0].tolist() == [3.0, 3.0]


def test_polling_with_nothing_under_way() -> None:
    transfer = Transfer()
    transfer.poll()
    transfer.drain()


class OnDevice:
    """Stands for a tensor on a device."""

    is_cuda = True

    def __init__(self, values: list[float], device: str = "cuda:0") -> None:
        self.values = torch.tensor(values)
        self.device = device
        self.shape = self.values.shape

    def detach(self) -> OnDevice:
        return self

    def reshape(self, *shape: int) -> OnDevice:
        return self

    def float(self) -> torch.Tensor:
        return self.values

    def numel(self) -> int:
        return self.values.numel()


class Event:
    """Fires when the test says so."""

    made: ClassVar[list[Event]] = []

    def __init__(self) -> None:
        self.fired = self.waited = False
        Event.made.append(self)

    def record(self, stream: object) -> None:
        pass

    def query(self) -> bool:
        return self.fired

    def synchronize(self) -> None:
        self.fired = self.waited = True


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A pretended device; the list holds the time."""
    now = [0.0]
    Event.made = []
    plain_empty = torch.empty
    monkeypatch.setattr(transfer_module.torch.cuda, "Event", Event)
    monkeypatch.setattr(transfer_module.torch.cuda, "current_stream", lambda device: None)
    monkeypatch.setattr(transfer_module.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(
        transfer_module.torch, "empty", lambda shape, dtype, pin_memory: plain_empty(shape, dtype=dtype)
    )
    return now


def test_from_a_device_when_the_event_has_fired(device: list[float]) -> None:
    transfer, found = Transfer(), []
    transfer.send(OnDevice([1.0, 2.0]), found.append)  # type: ignore[arg-type]
    transfer.poll()
    assert Event.made == []
    device[0] = 1.0
    transfer.poll()
    transfer.poll()
    assert found == []
    Event.made[0].fired = True
    transfer.poll()
    assert [each.tolist() for each in found] == [[1.0, 2.0]]
    assert not Event.made[0].waited


def test_many_numbers_make_one_copy_and_keep_their_order(device: list[float]) -> None:
    transfer, found = Transfer(), []
    for number in range(Transfer.MOST_WAITING):
        transfer.send(OnDevice([float(number)] * (1 + number % 3)), found.append)  # type: ignore[arg-type]
    transfer.poll()
    assert len(Event.made) == 1
    Event.made[0].fired = True
    transfer.poll()
    assert [each.tolist() for each in found] == [[float(n)] * (1 + n % 3) for n in range(Transfer.MOST_WAITING)]


def test_nothing_overtakes(device: list[float]) -> None:
    transfer, found = Transfer(), []
    for number in (1.0, 2.0):
        transfer.send(OnDevice([number]), found.append)  # type: ignore[arg-type]
        device[0] += 1.0
        transfer.poll()
    assert len(Event.made) == 2
    Event.made[1].fired = True
    transfer.poll()
    assert found == []
    Event.made[0].fired = True
    transfer.poll()
    assert [each.tolist() for each in found] == [[1.0], [2.0]]


def test_draining_waits_for_all(device: list[float]) -> None:
    transfer, found = Transfer(), []
    transfer.send(OnDevice([1.0]), found.append)  # type: ignore[arg-type]
    transfer.send(OnDevice([2.0], "cuda:1"), found.append)  # type: ignore[arg-type]
    transfer.drain()
    assert sorted(each.tolist() for each in found) == [[1.0], [2.0]]
    assert all(event.waited for event in Event.made)
    transfer.drain()
    assert len(found) == 2
