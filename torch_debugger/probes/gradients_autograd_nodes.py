"""Who keeps the graphs of earlier steps: looked for on deep steps, among the variables around a backward()."""

from __future__ import annotations

import functools
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.tensor_memory import GraphContainer, graph_containers, steps_behind, sums
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import KeptGraphs, Place
from torch_debugger.source.assignments import addition_to, carried_over
from torch_debugger.source.files import class_source
from torch_debugger.source.objects import is_a
from torch_debugger.source.variables import variables_in_reach, waiting_generators, yields


class GraphKeeping:
    def __init__(self, watch: Watch, numbers: StepNumbers, backward: Backward) -> None:
        self.watch = watch
        self.numbers = numbers
        self._oldest: dict[str, tuple[weakref.ref[torch.Tensor], int]] = {}  # name -> its first tensor, since
        self._generators: list[weakref.ref[Any]] | None = None  # of the user's, looked for once
        self._since_first: dict[str, int] = {}  # name -> the step at which it was first a sum or a chain
        backward.on_look.append(self.look)

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if frame is None:
            return
        step, file = self.watch.step, frame.f_code.co_filename
        if self._generators is None and step > 1:  # by then the loop over one has begun
            self._generators = waiting_generators() if yields(file) else []
        waiting = [generator() for generator in self._generators or ()]
        variables = list(variables_in_reach(frame, waiting))
        for hoard in graph_containers(variables):
            # When its oldest tensor was first seen there: a list that is emptied starts anew.
            known = self._oldest.get(hoard.name)
            if known is None or known[0]() is not hoard.oldest:
                known = self._oldest[hoard.name] = (weakref.ref(hoard.oldest), step)
            if known[1] < step and hoard.count > 1:
                self._tell(hoard, "container", known[1], *addition_to(file, hoard.name))
        added = list(sums(variables, loss))
        for hoard in added:
            since = self._since_first.setdefault(hoard.name, step)
            self._tell(hoard, "sum", since, *addition_to(file, hoard.name))
        # Tensors that are made of their own last value, and so keep the graphs of all steps behind them.
        names = {hoard.name for hoard in added}
        for name, value in variables:
            if is_a(value, torch.Tensor) and value.grad_fn is not None and name not in names:
                place = carried_over(file, name)
                count = steps_behind(value, self.numbers.starts) if place is not None else 0
                if place is not None and count > 1:
                    since = self._since_first.setdefault(name, step)
                    self._tell(GraphContainer(name, count, value), "chain", since, place, name)

    def _tell(self, hoard: GraphContainer, form: str, since: int, place: Place, added: str) -> None:
        scalar = hoard.oldest.numel() == 1
        step = self.watch.step
        self.watch.emit(KeptGraphs(hoard.name, form, hoard.count, since, scalar, place, added, step))


# Custom autograd Functions as the training calls them: each class of the user's own is met once.
Meeting = Callable[[type[torch.autograd.Function], tuple[Any, ...], int], None]


class CustomFunctions(Probe):
    """Put on only where their gradients are to be checked (--check-custom-gradients)."""

    name = "custom functions"
    CLASSES = 16  # met in one run

    def __init__(self, watch: Watch, on_meeting: Meeting) -> None:
        super().__init__(watch)
        self._on_meeting = on_meeting
        self._met: set[type] = set()

    def install(self, patches: Patches) -> None:
        patches.replace(torch.autograd.Function, "apply", self._around_apply)

    def _around_apply(self, original: Any) -> Any:
        call = original.__func__

        @functools.wraps(call)
        def apply(function: Any, *arguments: Any, **keywords: Any) -> Any:
            if function not in self._met and self.watch.depth == DEEP:
                self.watch.probe(self.name, self._meet, function, arguments)
            return call(function, *arguments, **keywords)

        return classmethod(apply)

    def _meet(self, function: type[torch.autograd.Function], arguments: tuple[Any, ...]) -> None:
        differentiated = any(is_a(value, torch.Tensor) and value.requires_grad for value in arguments)
        if not differentiated or not torch.is_grad_enabled() or len(self._met) >= self.CLASSES:
            return
        self._met.add(function)
        if class_source(function) is not None:  # those of libraries are theirs to check
            self._on_meeting(function, arguments, self.watch.step)


# When autograd made a node, by the numbers it gives them in order: in which step, inside of which module.
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

    def _leave(self, path: str, module: nn.Module, inputs: Any, output: Any) -> None:
        while self._open:
            left, call = self._open.pop()
            if left is module:
                self._calls[call] = path
                break
        self._change()

    def _change(self) -> None:
        self._starts.append(next_number())
        self._inner.append(self._open[-1][1] if self._open else -1)
