"""Numbers on their way from the device to the log, without making the host wait.

On the CPU they are delivered at once. From an accelerator they are copied to pinned memory
behind an event and delivered by a later `poll`, some steps on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy
import numpy.typing
import torch

Numbers = numpy.typing.NDArray[numpy.float32]
Deliver = Callable[[Numbers], None]


class Transfer:
    LIMIT = 4096  # deliveries under way; a device that lags further behind loses the oldest

    def __init__(self) -> None:
        self._under_way: deque[tuple[torch.cuda.Event, torch.Tensor, Deliver]] = deque(maxlen=self.LIMIT)

    def send(self, values: torch.Tensor, deliver: Deliver) -> None:
        if not values.is_cuda:
            deliver(values.detach().to("cpu", torch.float32).numpy())
            return
        landing = torch.empty(values.shape, dtype=torch.float32, pin_memory=True)
        landing.copy_(values.detach(), non_blocking=True)
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        self._under_way.append((event, landing, deliver))

    def poll(self) -> None:
        """Deliver what has arrived, oldest first."""
        while self._under_way and self._under_way[0][0].query():  # type: ignore[no-untyped-call]
            _, landing, deliver = self._under_way.popleft()
            deliver(landing.numpy())

    def drain(self) -> None:
        """Wait for everything; only at the end of a run."""
        while self._under_way:
            event, landing, deliver = self._under_way.popleft()
            event.synchronize()
            deliver(landing.numpy())
