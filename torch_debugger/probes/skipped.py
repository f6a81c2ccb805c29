"""Losses that the script itself throws away because they are not finite: no backward() ever sees them.

Looked for where a model is called once more with no backward() since its last call: then the loss of that
call, if it was NaN, still lies in the caller's variables. Listening costs 0.1 us a call.
"""

from __future__ import annotations

import functools
import math
import weakref
from typing import Any

import torch

from torch_debugger.anatomy.assignments import function_at
from torch_debugger.anatomy.frames import frames, locals_of
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.places import find_call, place_at
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, SkippedLosses
from torch_debugger.stats.transfer import Numbers

_GUARDS = ("isnan", "isfinite", "isinf")


class SkippedSteps:
    MOST_LOOKS = 256  # in vain; a script that calls its model several times a step has no more to tell
    FRAMES = 4  # the user's own, outwards from the call

    def __init__(self, watch: Watch, roots: Roots, backward: Backward) -> None:
        self.watch = watch
        self.backward = backward
        roots.on_call.append(self.called)
        self._called_at = -1  # how many backwards there had been when a model was last called
        self._root: Root | None = None
        self._looks = 0
        self._last: weakref.ref[torch.Tensor] | None = None  # the loss that was looked at last
        self._count = 0

    def called(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        before, self._called_at = self._called_at, self.backward.count
        again, self._root = self._root is root, root
        if again and before == self._called_at and self._is_worth_a_look():
            self._looks += 1
            self._look()

    def _is_worth_a_look(self) -> bool:
        """A NaN that went through backward() is told of there, and may lie about in a variable for long."""
        return self._looks < self.MOST_LOOKS and not self.backward.met_nonfinite

    def _look(self) -> None:
        own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)][: self.FRAMES]
        for frame in own:
            variables = locals_of(frame)
            for name in self.backward.loss_names() or ("loss",):
                loss = variables.get(name)
                if is_a(loss, torch.Tensor) and self._may_be_thrown_away(loss):
                    self._last = weakref.ref(loss)
                    at = frame.f_code.co_filename, frame.f_lineno
                    judge = functools.partial(self._judge, name, self.watch.step, at)
                    self.watch.transfer.send(loss.reshape(1), judge)
                    return

    def _may_be_thrown_away(self, loss: torch.Tensor) -> bool:
        new = self._last is None or self._last() is not loss
        return new and loss.numel() == 1 and loss.grad_fn is not None

    def _judge(self, name: str, step: int, at: tuple[str, int], loss: Numbers) -> None:
        if math.isfinite(loss.item()):
            return
        self._looks = 0
        self._count += 1
        if self._count & (self._count - 1) == 0 or self._count % 64 == 0:
            self.watch.emit(SkippedLosses(name, self._count, step, _guard_line(*at)))


def _guard_line(file: str, line: int) -> Place:
    """The line that asks whether the loss is finite, else the one that calls the model."""
    around = function_at(file, line)
    first, last = (around.lineno, around.end_lineno or line) if around else (line, 10**9)
    return find_call(file, first, last, _GUARDS) or place_at(file, line)
