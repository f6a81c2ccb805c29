"""Sets breakpoints and takes them off. What they need is on while one of them needs it, and no longer."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from os import getpid
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.compiling import something_is_compiled
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.breakpoints.asking import Asker, Watch
from torch_debugger.breakpoints.breakpoint import Breakpoint
from torch_debugger.breakpoints.conditions import Condition, parse_break
from torch_debugger.breakpoints.interception import Interception
from torch_debugger.breakpoints.module_calls import ModuleCalls
from torch_debugger.breakpoints.moments import Moment
from torch_debugger.breakpoints.scenes import Scene
from torch_debugger.breakpoints.steps import Steps
from torch_debugger.breakpoints.telling import summary
from torch_debugger.breakpoints.user_frames import nearest_user_frame
from torch_debugger.saying import say

COMPILED = (
    "torch.compile is in use. Hooks would be compiled in, so breakpoints cannot stop in compiled regions, and "
    "module calls are not watched any more. Conditions on `step` and `loss` alone still stop, at backward()."
)

_current: Breakpoints | None = None


def set_breakpoint(
    condition: Condition,
    at: str | None,
    find_watch: Callable[[], Watch | None],
    model: nn.Module | None = None,
    frame: FrameType | None = None,
) -> Breakpoint:
    """The frame is the caller's, where the model has its name."""
    global _current
    if _current is None:
        _current = Breakpoints(find_watch)
    return _current.add(condition, at, model, frame)


def set_breaks(texts: Sequence[str], find_watch: Callable[[], Watch | None]) -> list[Breakpoint]:
    """As they stand on the command line: EXPR @ GLOB."""
    return [set_breakpoint(*parse_break(text), find_watch) for text in texts]


class Breakpoints:
    """All breakpoints of this process."""

    def __init__(self, find_watch: Callable[[], Watch | None]) -> None:
        self._posts: tuple[Breakpoint, ...] = ()
        self._asker = Asker(find_watch)
        self._steps = Steps()
        self._modules = ModuleCalls(self._asker, self._scene)
        self._backward = Interception(torch.autograd, "backward", self._saw_loss)
        self._compile = Interception(torch, "compile", self._saw_compile)
        self._loss: float | None = None
        self._compiled = something_is_compiled()
        self._said_compiled = False
        self._pid = getpid()
        atexit.register(self._end)

    def add(
        self, condition: Condition, at: str | None, model: nn.Module | None, frame: FrameType | None
    ) -> Breakpoint:
        post = Breakpoint(condition, at, model, self._remove)
        if model is not None:
            self._modules.paths.meet(model, frame)
        self._posts = (*self._posts, post)
        self._fit()
        return post

    def _remove(self, post: Breakpoint) -> None:
        global _current
        self._posts = tuple(other for other in self._posts if other is not post)
        self._fit()
        if not self._posts:
            self._steps.close()
            atexit.unregister(self._end)
            _current = None if _current is self else _current
        last_word = summary(post, self._modules.paths.all())
        if last_word is not None:
            say(last_word)

    def _end(self) -> None:
        """The script is over: what is still set has its last word."""
        for post in self._posts if getpid() == self._pid else ():
            post.remove()

    def _fit(self) -> None:
        """On is what the breakpoints need, and nothing else."""
        on_modules = tuple(post for post in self._posts if post.moment is not Moment.LOSS)
        self._backward.listen(
            bool(self._at_loss()) or any("loss" in post.condition.names for post in self._posts)
        )
        self._compile.listen(bool(on_modules))
        self._modules.want(() if self._compiled else on_modules)
        if self._compiled and on_modules and not self._said_compiled:
            self._said_compiled = True
            say(COMPILED)

    def _at_loss(self) -> tuple[Breakpoint, ...]:
        """With compiled regions a step has no other moment that we may watch."""
        moments = {Moment.LOSS, Moment.STEP} if self._compiled else {Moment.LOSS}
        return tuple(post for post in self._posts if post.moment in moments)

    def _saw_compile(self, *arguments: Any, **keywords: Any) -> None:
        self._compiled = True
        self._fit()

    def _saw_loss(self, tensors: Any = (), *arguments: Any, **keywords: Any) -> None:
        if not self._asker.is_awake():
            return
        if any("loss" in post.condition.names for post in self._posts):
            self._loss = _number(tensors)
        for post in self._at_loss():
            self._asker.ask(post, self._scene(tensors={}), nearest_user_frame)

    def _scene(self, **given: Any) -> Scene:
        watch = self._asker.find_watch()
        return Scene(step=watch.step if watch is not None else self._steps.step, loss=self._loss, **given)


@torch.no_grad()
def _number(tensors: Any) -> float | None:
    """Several losses at once count together."""
    found = [tensor.detach().double().sum().item() for tensor in tensors_in(tensors)]
    return sum(found) if found else None
