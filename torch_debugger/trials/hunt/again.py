"""The steps of a tape run once more under a hunter, where they left off and without a trace."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointFunction

from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.anatomy.randomness import randomness_kept
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.trials.hunt.hunter import Hunter
from torch_debugger.trials.hunt.tape import Given, Made, Reference, Setting, Step, references, version_of

_DEVICES = ("cpu", "cuda")


class LostError(Exception):
    """Something that is needed was let go of."""


class Again:
    """Given a hunter, runs the steps in order; then it has their new results."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.modules = list({id(each): each for each in self._called_modules()}.values())
        held = [references((step.arguments, step.keywords)) for step in steps]
        self._given = [each for found in held for each in found if isinstance(each, Given)]
        self.was_changed = any(version_of(each.tensor) != each.version for each in self._given)
        self._twins = {id(each.tensor): _twin(each.tensor) for each in self._given}
        self._results: dict[int, list[torch.Tensor]] = {}

    def _called_modules(self) -> Iterator[nn.Module]:
        return (step.function for step in self.steps if isinstance(step.function, nn.Module))

    def names(self, known: Mapping[int, str]) -> dict[int, str]:
        """The names of the tensors from elsewhere, for what stands in their place here."""
        return {id(twin): known[key] for key, twin in self._twins.items() if key in known}

    def starts(self) -> list[torch.Tensor]:
        """The twins that gradients flow to."""
        return [twin for twin in self._twins.values() if twin.requires_grad]

    def result(self, step: Step, index: int) -> torch.Tensor:
        found = self._results.get(step.number, [])
        if index >= len(found):
            raise LostError
        return found[index]

    def from_out_of_sight(self) -> list[torch.Tensor]:
        """What was given to the steps and is not data, for it has a graph."""
        return [each.tensor for each in self._given if each.tensor.grad_fn is not None]

    def of(self, leaf: torch.Tensor | Made) -> torch.Tensor:
        return leaf if isinstance(leaf, torch.Tensor) else self.result(leaf.step, leaf.index)

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """For the time in which the steps, and a backward through them, run again."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(randomness_kept())
            stack.enter_context(_eager())
            stack.enter_context(_without_reentrant_checkpoints())
            for module in self.modules:
                stack.enter_context(leaving_no_trace(module))
            yield

    def run(self, hunter: Hunter) -> None:
        for step in self.steps:
            if step.function is None:
                raise LostError
            arguments = exchanged(step.arguments, self._tensor, Reference)
            keywords = exchanged(step.keywords, self._tensor, Reference)
            with _setting(step.setting), _as_it_was(step), hunter:
                result = _call_at(step, lambda step=step, a=arguments, k=keywords: step.function(*a, **k))  # type: ignore[misc]
            self._results[step.number] = list(tensors_in(result))

    def _tensor(self, reference: Any) -> torch.Tensor:
        if isinstance(reference, Given):
            return self._twins[id(reference.tensor)]
        return self.result(reference.step, reference.index)


@contextlib.contextmanager
def _as_it_was(step: Step) -> Iterator[None]:
    """A module in the mode it was in, with the buffers as they are now for each of its calls."""
    module = step.function
    if not isinstance(module, nn.Module):
        yield
        return
    with leaving_no_trace(module):
        if module.training != step.setting.training:
            module.train(bool(step.setting.training))
        yield


def _twin(tensor: torch.Tensor) -> torch.Tensor:
    """A leaf that gradients flow to is itself; of anything else a copy, for it may be written into."""
    if tensor.requires_grad and tensor.is_leaf:
        return tensor
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


@contextlib.contextmanager
def _setting(setting: Setting) -> Iterator[None]:
    wanted = dict(setting.autocast)
    with contextlib.ExitStack() as stack:
        for kind in _DEVICES:
            if kind in wanted or torch.is_autocast_enabled(kind):
                # its cache holds casts of the weights whose graph backward has freed
                stack.enter_context(
                    torch.autocast(kind, wanted.get(kind), enabled=kind in wanted, cache_enabled=False)
                )
        stack.enter_context(torch.set_grad_enabled(setting.gradients))
        for generator, state in setting.random_states:
            generator.set_state(state)
        yield


@contextlib.contextmanager
def _eager() -> Iterator[None]:
    """Compiled models run op by op."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


@contextlib.contextmanager
def _without_reentrant_checkpoints() -> Iterator[None]:
    """They run without a graph first, and refuse a backward towards chosen inputs."""

    def run(function: Callable[..., Any], preserve_rng_state: bool, *arguments: Any) -> Any:
        return function(*arguments)

    setattr(CheckpointFunction, "apply", staticmethod(run))  # noqa: B010
    try:
        yield
    finally:
        delattr(CheckpointFunction, "apply")  # which it inherits


def _call_at(step: Step, call: Callable[[], Any]) -> Any:
    """In a frame that looks like the user's line that made the step."""
    frames = step.frames[1:]
    if not frames:
        return call()
    code, instruction = frames[0]
    line = line_of(code, instruction)
    shown = _plain_call.__code__.replace(
        co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=line
    )
    return FunctionType(shown, {})(call)


_plain_call = lambda call: call()  # noqa: E731  one line, so that the frame has one line


def line_of(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
