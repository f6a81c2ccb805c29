"""What a step's time goes to: one mark each time the training passes from one part to the next.

On the CPU a mark is a look at the clock. Where the model is on a CUDA device the host runs ahead of it, and
its clock tells little: there a mark is also an event put into the stream, and the times between events are read
when they have fired, some steps later. Nothing waits for the device. Between two events the device worked on
what was put there in between, or stood still until the host came: both are time of that part.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from torch_debugger.probes.probe import Guard
from torch_debugger.system.clocks import time

DATA, COPY, FORWARD, BACKWARD, OPTIMIZER = "data_wait", "copy", "forward", "backward", "optimizer"
EVALUATION, LOGGING, OTHER, OWN = "evaluation", "logging", "other", "torch_debugger"

Split = dict[str, float]
_Mark = tuple[str, "torch.cuda.Event"]


class Phases:
    """`tell` hears a step and its split: seconds by part, as a mean over the steps since it heard the last."""

    APART_S = 0.02  # of training between two steps with marks, which cost some microseconds each
    TELL_S = 0.05  # of those between two splits that are told
    LATE = 64  # steps whose events may be under way; a device that lags further behind loses the oldest
    MOST_MARKS = 512  # of one step
    EVENT_S = 4e-6  # what one event costs the host (measured: 2 to 4 us)
    EVENT_SHARE = 0.002  # of the time that events may take

    def __init__(self, guard: Guard, tell: Callable[[int, Split], None]) -> None:
        self.on = True  # marks are wanted in the step under way
        self._left_out = 0  # steps yet
        self._unmarked = 0  # steps since the last one with marks
        self._marked_at = time.perf_counter()  # the end of that one
        self._pace_s = 0.0
        self._guard = guard
        self._tell = tell
        self._thread = threading.get_ident()
        self._part = LOGGING
        self._since = time.perf_counter()
        self._own_before = 0.0
        self._split: Split = {}
        self._sum: Split = {}
        self._steps = 0  # in the sum
        self._updating = False  # between the hooks of an optimizer: closures run there
        self._marks: list[_Mark] | None = None  # of a step whose device is asked
        self._stream: Any = None  # that the step's marks are put into
        self._without_marks = 0  # steps yet
        self._under_way: deque[tuple[int, list[_Mark]]] = deque()
        self._spare: list[torch.cuda.Event] = []

    # The training goes on to another part

    def enter(self, part: str) -> None:
        if threading.get_ident() != self._thread:  # a loader read ahead in a thread of the user's
            return
        now, own = time.perf_counter(), self._guard.spent_s
        took, ours = now - self._since, own - self._own_before
        self._split[self._part] = self._split.get(self._part, 0.0) + max(0.0, took - ours)
        self._split[OWN] = self._split.get(OWN, 0.0) + min(took, ours)
        self._part, self._since, self._own_before = part, now, own
        # Not in another stream, which has a time of its own, nor while a graph is recorded. A step without end is
        # none: a script may go on for hours after its last one.
        if self._marks is None:
            return
        if len(self._marks) >= self.MOST_MARKS:
            self._give_back(self._marks)
            self._marks = None
        elif torch.cuda.current_stream() == self._stream and not torch.cuda.is_current_stream_capturing():
            self._marks.append((part, self._event()))

    def begin_update(self) -> None:
        self._updating = True
        self.enter(OPTIMIZER)

    def end_update(self) -> None:
        self._updating = False
        self.enter(OTHER)

    def end_backward(self) -> None:
        self.enter(OPTIMIZER if self._updating else OTHER)

    # Steps

    def end_step(self, step: int, looked_at: bool) -> None:
        """A step that was looked at closely tells how long the look took, and is not told."""
        self._thread = threading.get_ident()
        if not self.on:
            return
        self.enter(OTHER)
        split, self._split = _with_forward(self._split), {}
        # What a step takes, of late. Where workers deliver two batches at once every other step is quick, and going by
        # the last step alone would leave the slow ones out for ever.
        now = time.perf_counter()
        pace_s = (now - self._marked_at) / (1 + self._unmarked)
        self._pace_s = 0.9 * self._pace_s + 0.1 * pace_s if self._pace_s else pace_s
        self._marked_at, self._unmarked = now, 0
        self._left_out = int(self.APART_S / max(self._pace_s, 1e-6))
        if self._marks is not None and looked_at:
            self._give_back(self._marks)
        elif self._marks is not None:
            self._under_way.append((step, self._marks))
            if len(self._under_way) > self.LATE:
                self._give_back(self._under_way.popleft()[1])
        elif not looked_at:
            self._add(step, split)
        self._read_what_came()

    def begin_step(self, on_device: bool) -> None:
        """What comes before data is asked for is of the new step: most scripts print and log there."""
        self._left_out -= 1
        self.on = self._left_out < 0
        if not self.on:
            self._unmarked += 1
            return
        self._part, self._since, self._own_before = LOGGING, time.perf_counter(), self._guard.spent_s
        self._marks = None
        self._without_marks -= 1
        if on_device and self._without_marks <= 0 and not torch.cuda.is_current_stream_capturing():
            self._stream = torch.cuda.current_stream()
            self._marks = [(LOGGING, self._event())]

    def finish(self) -> None:
        self._read_what_came()
        self._under_way.clear()
        self._spare.clear()
        self._marks = None

    def _add(self, step: int, split: Split) -> None:
        self._steps += 1
        for part, seconds in split.items():
            self._sum[part] = self._sum.get(part, 0.0) + seconds
        if sum(self._sum.values()) >= self.TELL_S:
            self._tell(step, {part: seconds / self._steps for part, seconds in self._sum.items()})
            self._sum, self._steps = {}, 0

    # Events in the stream of a device

    def _event(self) -> torch.cuda.Event:
        spare = self._spare
        event = spare.pop() if spare else torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def _read_what_came(self) -> None:
        while self._under_way:
            step, marks = self._under_way[0]
            if not all(event.query() for _, event in reversed(marks)):  # type: ignore[no-untyped-call]
                return
            self._under_way.popleft()
            split: Split = {}
            for (part, begun), (_, ended) in pairwise(marks):
                split[part] = split.get(part, 0.0) + begun.elapsed_time(ended) / 1000
            took_s = sum(split.values())
            self._without_marks = round(len(marks) * self.EVENT_S / max(took_s * self.EVENT_SHARE, 1e-9))
            self._give_back(marks)
            self._add(step, _with_forward(split))

    def _give_back(self, marks: list[_Mark]) -> None:
        self._spare += [event for _, event in marks]


def _with_forward(split: Split) -> Split:
    """Where no model was heard (it is compiled, or made of plain tensors), the forward is what came before the
    backward."""
    if FORWARD in split or BACKWARD not in split:
        return split
    before = COPY if COPY in split else LOGGING
    return {FORWARD if part == before else part: seconds for part, seconds in split.items()}
