"""Sets breakpoints and takes them off. What they need is on while one of them needs it, and no longer."""

from __future__ import annotations

import atexit
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from os import getpid
from types import EllipsisType, FrameType
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.hooks import something_is_compiled
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.breakpoints_answers import Asker, ConditionNames, TrainingWatch
from torch_debugger.probes.breakpoints_hooks import WatchedModuleCalls, nearest_user_frame
from torch_debugger.probes.breakpoints_stops import Breakpoint, StopMoment, summary
from torch_debugger.source.breakpoint_conditions import Condition, parse_break, parse_condition
from torch_debugger.system.errors import UsageError
from torch_debugger.system.program import caller, say
from torch_debugger.system.tracebacks import hidden_in_tracebacks

COMPILED = (
    "torch.compile is in use. Hooks would be compiled in, so breakpoints cannot stop in compiled regions, and "
    "module calls are not watched any more. Conditions on `step` and `loss` alone still stop, at backward()."
)

_current: Breakpoints | None = None


def set_breakpoint(
    condition: Condition,
    at: str | None,
    find_watch: Callable[[], TrainingWatch | None],
    model: nn.Module | None = None,
    frame: FrameType | None = None,
) -> Breakpoint:
    """The frame is the caller's, where the model has its name."""
    global _current
    if _current is None:
        _current = Breakpoints(find_watch)
    return _current.add(condition, at, model, frame)


def set_breaks(texts: Sequence[str], find_watch: Callable[[], TrainingWatch | None]) -> list[Breakpoint]:
    """As they stand on the command line: EXPR @ GLOB."""
    return [set_breakpoint(*parse_break(text), find_watch) for text in texts]


class Breakpoints:
    """All breakpoints of this process."""

    def __init__(self, find_watch: Callable[[], TrainingWatch | None]) -> None:
        self._posts: tuple[Breakpoint, ...] = ()
        self._asker = Asker(find_watch)
        self._steps = StepCounter()
        self._modules = WatchedModuleCalls(self._asker, self._condition_names)
        self._backward = Interception(torch.autograd, "backward", self._saw_loss)
        self._compile = Interception(torch, "compile", self._saw_compile)
        self._loss: float | None = None
        self._compiled = something_is_compiled()
        self._said_compiled = False
        self._pid = getpid()
        atexit.register(self._end)

    def add(self, condition: Condition, at: str | None, model: nn.Module | None, frame: FrameType | None) -> Breakpoint:
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
        on_modules = tuple(post for post in self._posts if post.moment is not StopMoment.LOSS)
        self._backward.listen(bool(self._at_loss()) or any("loss" in post.condition.names for post in self._posts))
        self._compile.listen(bool(on_modules))
        self._modules.want(() if self._compiled else on_modules)
        if self._compiled and on_modules and not self._said_compiled:
            self._said_compiled = True
            say(COMPILED)

    def _at_loss(self) -> tuple[Breakpoint, ...]:
        """With compiled regions a step has no other moment that we may watch."""
        moments = {StopMoment.LOSS, StopMoment.STEP} if self._compiled else {StopMoment.LOSS}
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
            self._asker.ask(post, self._condition_names(tensors={}), nearest_user_frame)

    def _condition_names(self, **fields: Any) -> ConditionNames:
        watch = self._asker.find_watch()
        return ConditionNames(step=watch.step if watch is not None else self._steps.step, loss=self._loss, **fields)


@torch.no_grad()
def _number(tensors: Any) -> float | None:
    """Several losses at once count together."""
    found = [tensor.detach().double().sum().item() for tensor in tensors_in(tensors)]
    return sum(found) if found else None


# A function of torch's that tells us of its calls, and is itself again when nobody listens.
class Interception:
    """`on_call(*arguments)` is called before the function, which then does what it always did."""

    def __init__(self, owner: Any, name: str, on_call: Callable[..., None]) -> None:
        self._owner, self._name, self._on_call = owner, name, on_call
        self._original: Any = None
        self._ours: Any = None

    def listen(self, wanted: bool) -> None:
        if wanted and self._ours is None:
            self._original = getattr(self._owner, self._name)
            self._ours = self._around(self._original)
            setattr(self._owner, self._name, self._ours)
        elif not wanted and self._ours is not None:
            if getattr(self._owner, self._name) is self._ours:  # else another stands over ours, and calls it
                setattr(self._owner, self._name, self._original)
            self._ours = None

    def _around(self, original: Any) -> Any:
        def function(*arguments: Any, **keywords: Any) -> Any:
            if self._ours is function:
                self._on_call(*arguments, **keywords)
            with hidden_in_tracebacks:
                return original(*arguments, **keywords)

        function.__wrapped__ = original  # type: ignore[attr-defined]
        function.__name__, function.__doc__ = original.__name__, original.__doc__
        return function


# The step under way where nobody else counts: one more than the busiest optimizer has taken.
class StepCounter:
    """Counted from when the first breakpoint was set. A GAN's two optimizers count iterations this way."""

    def __init__(self) -> None:
        self._taken: Counter[int] = Counter()
        self._handle: RemovableHandle | None = register_optimizer_step_post_hook(self._stepped)

    @property
    def step(self) -> int:
        return max(self._taken.values(), default=0) + 1

    def _stepped(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        self._taken[id(optimizer)] += 1

    def close(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


# Breakpoints that know tensors, from code: `break_when` and `break_on_shape`.
#
# torch_debugger.break_when("nan(output)", at="encoder.*")
Shape = Sequence[int | EllipsisType | None]


def break_when(condition: str, at: str | None = None, *, model: nn.Module | None = None) -> Breakpoint:
    """Stop with pdb in your frame when the condition holds; the handle's `.remove()` takes it off.

        torch_debugger.break_when("nan(output)", at="encoder.*")  # any module of the encoder that gives NaN
        torch_debugger.break_when("norm(grad) > 100")  # the gradient that comes back to any module's output
        torch_debugger.break_when("step == 500")
        with torch_debugger.break_when("max(abs(weight)) > 10 or loss > 5", model=net):
            train(net)

    Names: input, output, grad, weight, bias, module (its class), path, training, step (from 1), loss.
    Functions: nan, inf, finite, any, all, norm, min, max, mean, std, sum, zeros (their share), abs, shape,
    dim, numel, len, dtype, device, parameter('name'). `at` is a glob over module paths; the model's own name
    may be left out. `model` keeps to the modules of one model. Without a terminal the first stop is printed,
    and the run goes on.
    """
    return set_breakpoint(parse_condition(condition), at, _current_watch, model, caller())


def break_on_shape(
    shape: Shape | None = None,
    at: str | None = None,
    *,
    other_than: Shape | None = None,
    model: nn.Module | None = None,
) -> Breakpoint:
    """Stop when a module's output has this shape, or, with `other_than`, any shape but this.

        torch_debugger.break_on_shape((1, ...), at="head")  # a batch of one reaches the head
        torch_debugger.break_on_shape(other_than=(None, 128), at="encoder")

    `None` fits any size and `...` any number of sizes. The same as
    `break_when("shape(output) == (1, ...)")` and `break_when("shape(output) != (None, 128)")`.
    """
    wanted = shape if other_than is None else other_than
    if wanted is None or (shape is not None and other_than is not None):
        raise UsageError("break_on_shape takes one shape: break_on_shape((1, ...)) or other_than=(None, 128).")
    sizes = "".join(f"{'...' if size is ... else size}, " for size in wanted)
    symbol = "==" if other_than is None else "!="
    return set_breakpoint(parse_condition(f"shape(output) {symbol} ({sizes})"), at, _current_watch, model, caller())


def _current_watch() -> TrainingWatch | None:
    """Whoever watches this process counts its steps; nobody does where the probes are not even loaded."""
    plumbing = sys.modules.get("torch_debugger.runner.plumbing")
    return plumbing.current_watch() if plumbing is not None else None
