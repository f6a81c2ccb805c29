"""Numbers on their way from the device to the log, without making the host wait.

On the CPU they are delivered at once. From an accelerator they are collected, copied together to
pinned memory behind an event, and delivered by a later `poll`, some steps on: one copy for many
numbers, because each costs the host some twenty microseconds.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable

import numpy.typing
import torch

from torch_debugger.system.clocks import time

Numbers = numpy.typing.NDArray[numpy.float32]
Deliver = Callable[[Numbers], None]
Waiting = list[tuple[torch.Tensor, Deliver]]


class Transfer:
    MOST_WAITING = 32  # numbers of a step or two; a loss alone waits for others
    LONGEST_WAIT_S = 0.25
    MOST_STEPS = 4  # a NaN is traced with what is kept of its step, and that is not for long
    LIMIT = 4096  # copies under way; a device that lags further behind loses the oldest

    def __init__(self) -> None:
        self._waiting: Waiting = []
        self._waiting_since = 0.0
        self._steps = 0  # since something waits
        self._under_way: deque[tuple[torch.cuda.Event, torch.Tensor, Waiting]] = deque(maxlen=self.LIMIT)

    def lags(self, tensor: torch.Tensor) -> bool:
        """Whether its numbers come later: asking for them now would make the host wait."""
        return tensor.is_cuda

    def send(self, values: torch.Tensor, deliver: Deliver) -> None:
        """Have `deliver` called with the values as a float32 array of the same shape."""
        values = values.detach()
        if not self.lags(values):
            if type(values) is torch.Tensor and not values.is_meta:  # else fake or traced: without numbers
                deliver(values.to("cpu", torch.float32).numpy())
            return
        if not self._waiting:
            self._waiting_since = time.perf_counter()
        self._waiting.append((values, deliver))

    def poll(self) -> None:
        """Send what has waited long enough, deliver what has arrived; never waits itself."""
        self._steps += bool(self._waiting)
        if self._waiting and (
            len(self._waiting) >= self.MOST_WAITING
            or self._steps >= self.MOST_STEPS
            or time.perf_counter() - self._waiting_since > self.LONGEST_WAIT_S
        ):
            self._dispatch()
        while self._under_way and self._under_way[0][0].query():  # type: ignore[no-untyped-call]
            self._deliver_oldest()

    def drain(self) -> None:
        """Wait for everything; only at the end of a run."""
        if self._waiting:
            self._dispatch()
        while self._under_way:
            self._under_way[0][0].synchronize()
            self._deliver_oldest()

    def _dispatch(self) -> None:
        waiting, self._waiting, self._steps = self._waiting, [], 0
        for device in {values.device for values, _ in waiting}:
            group = [(values, deliver) for values, deliver in waiting if values.device == device]
            together = torch.cat([values.reshape(-1).float() for values, _ in group])
            place = take(together.numel())
            place[: together.numel()].copy_(together, non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(device))
            self._under_way.append((event, place, group))

    def _deliver_oldest(self) -> None:
        _, place, group = self._under_way.popleft()
        count = sum(values.numel() for values, _ in group)
        numbers, start = place[:count].numpy().copy(), 0
        give_back(place)
        for values, deliver in group:
            end = start + values.numel()
            deliver(numbers[start:end].reshape(tuple(values.shape)))
            start = end


# Pinned memory in which numbers from a device land.
#
# It is used again and never given back. To free it asks the device, and a device that has died in the meantime (a
# kernel failed an assertion) answers with an exception that ends the process from C++.
_SMALLEST = 1024  # numbers
_spare: list[torch.Tensor] = []


def take(count: int) -> torch.Tensor:
    """A place for that many float32 numbers, or for more."""
    for place in _spare:
        if place.numel() >= count:
            _spare[:] = [other for other in _spare if other is not place]
            return place
    place = torch.empty(max(_SMALLEST, 1 << (count - 1).bit_length()), dtype=torch.float32, pin_memory=True)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(place))  # also at the end of the process
    return place


def give_back(place: torch.Tensor) -> None:
    _spare.append(place)
