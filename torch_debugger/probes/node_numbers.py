"""When autograd made a node, by the numbers it gives them in order: in which step, inside of which module."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Any

import torch
from torch import nn

from torch_debugger.probes.forward import Forward
from torch_debugger.probes.watch import Watch

_LEAF = 2**63  # nodes that gather gradients have a number beyond all others


def next_number() -> int:
    return int(torch._C._autograd._get_sequence_nr())


class StepNumbers:
    """Where the nodes of each step begin."""

    KEPT = 2048  # steps

    def __init__(self, watch: Watch) -> None:
        self.starts: deque[int] = deque([0], maxlen=self.KEPT)
        watch.between_steps.append(self._step_done)  # after all others have seen the step that is over

    def is_of_this_step(self, node: Any) -> bool:
        return bool(node._sequence_nr() >= self.starts[-1])

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        self.starts.append(next_number())


class ModuleSpans:
    """Of the deep step under way."""

    def __init__(self, watch: Watch, forward: Forward) -> None:
        self.watch = watch
        self._step = 0
        self._calls: list[str] = []  # the path of each call's module, known when it is over
        self._starts: list[int] = []  # from this number on, in order,
        self._inner: list[int] = []  # this call was the innermost; -1: none
        self._open: list[tuple[nn.Module, int]] = []
        forward.on_every_enter.append(self._enter)
        forward.on_every_output.append(self._leave)

    def module_of(self, node: Any) -> str | None:
        """Empty for what was computed outside of any module; None on steps that are not deep."""
        if self._step != self.watch.step:
            return None
        number = node._sequence_nr()
        if number >= _LEAF:
            return ""
        place = bisect_right(self._starts, number) - 1
        call = self._inner[place] if place >= 0 else -1
        return self._calls[call] if call >= 0 else ""

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        if self._step != self.watch.step:
            self._step = self.watch.step
            self._calls, self._starts, self._inner, self._open = [], [], [], []
        self._open.append((module, len(self._calls)))
        self._calls.append("")
        self._change()

    def _leave(self, path: str, module: nn.Module, given: Any, output: Any) -> None:
        while self._open:
            left, call = self._open.pop()
            if left is module:
                self._calls[call] = path
                break
        self._change()

    def _change(self) -> None:
        self._starts.append(next_number())
        self._inner.append(self._open[-1][1] if self._open else -1)
