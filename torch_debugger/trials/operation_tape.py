"""What was computed from what, outside of modules: enough to compute it once more.

Like autograd's graph it lives as long as its results do, and it keeps no results: of each step only how
it was called, and of the tensors that came from elsewhere the tensors themselves.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointFunction

from torch_debugger.model.nested_tensors import exchanged, tensors_in
from torch_debugger.model.reruns import leaving_no_trace, randomness_kept
from torch_debugger.trials.nan_in_forward import NonFiniteMode
from torch_debugger.trials.nan_operations import version_of

_MOST_BYTES = 512 * 2**20  # of tensors from elsewhere; beyond that all is forgotten, as in a long evaluation
_MOST_STEPS = 2**16
_PLAIN = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size})

Frames = tuple[tuple[CodeType, int], ...]  # code and the instruction in it, the caller first


class ModeSetting(NamedTuple):
    """What was switched on when a step was made."""

    gradients: bool
    autocast: tuple[tuple[str, torch.dtype], ...] = ()
    random_states: tuple[tuple[torch.Generator, torch.Tensor], ...] = ()
    training: bool | None = None  # of the module that was called


class TapeStep:
    """One call: of a torch function, of a module, or of a Function of the user's own."""

    __slots__ = (
        "arguments", "consumed", "frames", "function", "keywords", "number", "operands", "setting", "sources",
        "written",
    )  # fmt: skip

    def __init__(
        self, number: int, function: Any, arguments: Any, keywords: Any, frames: Frames, setting: ModeSetting
    ) -> None:
        self.number = number
        self.function = function
        self.arguments, self.keywords = arguments, keywords  # with references in the tensors' place
        self.frames = frames
        self.setting = setting
        self.operands: set[int] = set()  # ids of the tensors among the arguments, while it is new
        self.sources: list[TapeStep] = []  # earlier ones whose results are among the arguments
        self.written: list[TapeStep] = []  # later ones that wrote into its results
        self.consumed = False


class Reference:
    """A tensor among the arguments of a step."""

    __slots__ = ()


class ExternalTensor(Reference):
    """From elsewhere: a parameter, a batch."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.version = tensor, version_of(tensor)


class ResultOf(Reference):
    """The result of an earlier step."""

    __slots__ = ("index", "step")

    def __init__(self, step: TapeStep, index: int) -> None:
        self.step, self.index = step, index


class Tape:
    def __init__(self) -> None:
        self.number = 0
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], ResultOf]] = {}
        self._held_bytes = 0
        self._sources: list[TapeStep] = []  # of the arguments that are being held
        self._operands: set[int] = set()  # ids of the tensors among them

    def hold(self, value: Any) -> Any:
        """The arguments of a call as a step keeps them."""
        if isinstance(value, torch.Tensor):
            return self.refer(value)
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is tuple or kind is list:
            return kind([self.hold(item) for item in value])
        return exchanged(value, self.refer)

    def refer(self, tensor: torch.Tensor) -> Reference:
        self._operands.add(id(tensor))
        found = self._made.get(id(tensor))
        if found is not None:
            found[1].step.consumed = True
            self._sources.append(found[1].step)
            return found[1]
        if not isinstance(tensor, torch.nn.Parameter):
            self._held_bytes += tensor.nbytes if tensor.layout is torch.strided else 0
        return ExternalTensor(tensor)

    def knows(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self._made

    def step(self, function: Any, arguments: Any, keywords: Any, frames: Frames, setting: ModeSetting) -> TapeStep:
        self.number += 1
        if self._held_bytes > _MOST_BYTES or self.number % _MOST_STEPS == 0:
            self.forget()
        step = TapeStep(self.number, function, arguments, keywords, frames, setting)
        step.sources, self._sources = self._sources, []
        step.operands, self._operands = self._operands, set()
        return step

    def keep(self, step: TapeStep, results: Iterable[torch.Tensor]) -> None:
        """What came out of a step; a tensor that also went in stays what it was."""
        operands, step.operands = step.operands, set()
        for index, tensor in enumerate(results):
            key = id(tensor)
            if key not in operands and key not in self._made:
                gone = weakref.ref(tensor, lambda _, key=key: self._made.pop(key, None))  # type: ignore[misc]
                self._made[key] = (gone, ResultOf(step, index))

    def wrote(self, step: TapeStep, tensor: torch.Tensor) -> None:
        """A step has changed a tensor in place: so what it is a view of is changed as well."""
        base = tensor._base if tensor._is_view() else None
        for each in (tensor, base):
            found = self._made.get(id(each))
            if found is not None:
                found[1].step.written.append(step)

    def made(self, tensor: torch.Tensor) -> ResultOf | None:
        found = self._made.get(id(tensor))
        return found[1] if found is not None else None

    def ends(self, since: int) -> list[tuple[torch.Tensor, ResultOf]]:
        """The results after the step of that number that nobody has used, as far as they still exist."""
        results = [(gone(), made) for gone, made in list(self._made.values())]
        alive = [(tensor, made) for tensor, made in results if tensor is not None]
        for tensor, _ in alive:
            tensor._fix_weakref()  # type: ignore[attr-defined]  # torch may have put a new object around it
        return [each for each in alive if each[1].step.number > since and not each[1].step.consumed]

    def spend(self, steps: Iterable[TapeStep]) -> None:
        """Backward has freed the graph of these: they let go of all they hold, and what was made of them
        comes from elsewhere from now on."""
        for step in leading_to(steps, through_detach=False):
            step.function, step.arguments, step.keywords = None, (), {}
            step.sources, step.written = [], []
        for key, (_, made) in list(self._made.items()):
            if made.step.function is None or any(step.function is None for step in leading_to([made.step])):
                self._made.pop(key, None)
        self._held_bytes = 0

    def forget(self) -> None:
        self._made.clear()
        self._held_bytes = 0


def references(value: Any) -> list[Reference]:
    found: list[Reference] = []
    exchanged(value, found.append, Reference)
    return found


def leading_to(steps: Iterable[TapeStep], *, through_detach: bool = True) -> list[TapeStep]:
    """These and all that they were computed from, in order."""
    wanted = {step.number: step for step in steps}
    last, waiting = max(wanted, default=0), list(wanted.values())
    while waiting:
        step = waiting.pop()
        detaching = getattr(step.function, "__name__", "") == "detach"
        if not through_detach and (detaching or not step.setting.gradients):
            continue
        for earlier in (*step.sources, *step.written):
            if earlier.number not in wanted and earlier.number <= last:
                wanted[earlier.number] = earlier
                waiting.append(earlier)
    return [wanted[number] for number in sorted(wanted)]


_DEVICES = ("cpu", "cuda")


class LostError(Exception):
    """Something that is needed was let go of."""


class TapeReplay:
    """Given a hunter, runs the steps in order; then it has their new results."""

    def __init__(self, steps: Sequence[TapeStep]) -> None:
        self.steps = steps
        called = (step.function for step in steps if isinstance(step.function, nn.Module))
        self.modules = list({id(each): each for each in called}.values())
        operands = [references((step.arguments, step.keywords)) for step in steps]
        self._external = [each for found in operands for each in found if isinstance(each, ExternalTensor)]
        self.was_changed = any(version_of(each.tensor) != each.version for each in self._external)
        self._replacements: dict[int, torch.Tensor] = {}
        for tensor in (each.tensor for each in self._external):
            # A leaf that gradients flow to is itself; of anything else a copy, for it may be written into.
            copied = None if tensor.requires_grad and tensor.is_leaf else tensor.detach().clone()
            self._replacements[id(tensor)] = tensor if copied is None else copied.requires_grad_(tensor.requires_grad)
        self._results: dict[int, list[torch.Tensor]] = {}

    def names(self, known: Mapping[int, str]) -> dict[int, str]:
        """The names of the tensors from elsewhere, for what stands in their place here."""
        return {id(replacement): known[key] for key, replacement in self._replacements.items() if key in known}

    def starts(self) -> list[torch.Tensor]:
        """The twins that gradients flow to."""
        return [replacement for replacement in self._replacements.values() if replacement.requires_grad]

    def result(self, step: TapeStep, index: int) -> torch.Tensor:
        found = self._results.get(step.number, [])
        if index >= len(found):
            raise LostError
        return found[index]

    def from_out_of_sight(self) -> list[torch.Tensor]:
        """What was given to the steps and is not data, for it has a graph."""
        return [each.tensor for each in self._external if each.tensor.grad_fn is not None]

    def of(self, leaf: torch.Tensor | ResultOf) -> torch.Tensor:
        return leaf if isinstance(leaf, torch.Tensor) else self.result(leaf.step, leaf.index)

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """For the time in which the steps, and a backward through them, run again."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(randomness_kept())
            if "torch._dynamo" in sys.modules:  # compiled models run op by op
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            stack.enter_context(_without_reentrant_checkpoints())
            for module in self.modules:
                stack.enter_context(leaving_no_trace(module))
            yield

    def run(self, hunter: NonFiniteMode) -> None:
        for step in self.steps:
            if step.function is None:
                raise LostError
            arguments = exchanged(step.arguments, self._tensor, Reference)
            keywords = exchanged(step.keywords, self._tensor, Reference)
            with _as_then(step), hunter:
                result = _call_at(step, lambda step=step, a=arguments, k=keywords: step.function(*a, **k))  # type: ignore[misc]
            self._results[step.number] = list(tensors_in(result))

    def _tensor(self, reference: Any) -> torch.Tensor:
        if isinstance(reference, ExternalTensor):
            return self._replacements[id(reference.tensor)]
        return self.result(reference.step, reference.index)


@contextlib.contextmanager
def _as_then(step: TapeStep) -> Iterator[None]:
    """With what was switched on when the step was made; a module with its buffers as they are now for each call."""
    setting, module = step.setting, step.function
    wanted = dict(setting.autocast)
    with contextlib.ExitStack() as stack:
        for kind in _DEVICES:
            if kind in wanted or torch.is_autocast_enabled(kind):
                # its cache holds casts of the weights whose graph backward has freed
                stack.enter_context(torch.autocast(kind, wanted.get(kind), enabled=kind in wanted, cache_enabled=False))
        stack.enter_context(torch.set_grad_enabled(setting.gradients))
        for generator, state in setting.random_states:
            generator.set_state(state)
        if isinstance(module, nn.Module):
            stack.enter_context(leaving_no_trace(module))
            if module.training != setting.training:
                module.train(bool(setting.training))
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


def _call_at(step: TapeStep, call: Callable[[], Any]) -> Any:
    """In a frame that looks like the user's line that made the step."""
    frames = step.frames[1:]
    if not frames:
        return call()
    code, instruction = frames[0]
    line = line_of(code, instruction)
    shown = _plain_call.__code__.replace(co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=line)
    return FunctionType(shown, {})(call)


_plain_call = lambda call: call()  # noqa: E731  one line, so that the frame has one line


def line_of(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
