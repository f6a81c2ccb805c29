"""One forward of a model, listened to and left without a trace: for real, or on shapes without memory."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.model.flop_counts import UncountedOp, uncounted
from torch_debugger.model.hooks import uncompiled, unfused_encoders, without_global_hooks
from torch_debugger.model.inputs import Attempt, Blank, Call
from torch_debugger.model.nested_tensors import dtype_name, exchanged, named_leaves, sizes_text
from torch_debugger.model.op_counter import ModuleScopes, ShapeMeter
from torch_debugger.model.parameter_counts import ModuleParts
from torch_debugger.model.reruns import first_line, in_mode, leaving_no_trace, own_autocast_cache, randomness_kept
from torch_debugger.model.shape_tensors import NoValuesError, tensors_replaced, without_values
from torch_debugger.model.summary_rows import SECONDS, CallNode, CallTree, Stopwatch, class_name, nodes
from torch_debugger.system.errors import UsageError
from torch_debugger.system.signals import is_the_scripts

_TIMED_RUNS = 3  # after one that warms up; the quickest is told


class Ran(NamedTuple):
    root: CallNode
    attempt: Attempt
    on_shapes: bool
    uncounted: tuple[UncountedOp, ...]


class Failure(NamedTuple):
    attempt: Attempt
    error: Exception
    at: CallNode | None  # the call that raised
    on_shapes: bool

    @property
    def wants_values(self) -> bool:
        """The forward depends on what is in a tensor, or does something that shapes cannot."""
        lacks = isinstance(self.error, (NoValuesError, NotImplementedError))
        message = str(self.error).lower()
        return self.on_shapes and (lacks or "meta" in message or "tensor subclass" in message)


@dataclass
class Runner:
    """Runs one model in one way, and remembers what failed."""

    model: nn.Module
    training: bool | None  # None: each module in its own mode
    failures: list[Failure] = field(default_factory=list)

    def counted(self, attempt: Attempt, on_shapes: bool) -> Ran | None:
        """None where the model raised."""
        with without_a_trace(self.model, self.training):
            scopes = ModuleScopes(self.model)
            meter = ShapeMeter(scopes, on_shapes)
            tree = CallTree(ModuleParts(self.model), macs=lambda: meter.macs)
            root = self._run(attempt, tree, on_shapes, scopes.following(), meter)
        return Ran(root, attempt, on_shapes, uncounted(meter)) if root is not None else None

    def timed(self, ran: Ran) -> Ran:
        """With seconds for each call, where the same calls are made again; one run to warm up came before."""
        device = device_of(self.model)
        runs = []
        with without_a_trace(self.model, self.training):
            for _ in range(_TIMED_RUNS):
                tree = CallTree(ModuleParts(self.model), Stopwatch(device))
                runs.append(self._run(ran.attempt, tree, False))
        paths = [node.path for node in nodes(ran.root)]
        whole = [root for root in runs if root is not None and [node.path for node in nodes(root)] == paths]
        if whole:
            quickest = min(whole, key=lambda root: root.total(SECONDS))
            for node, timed in zip(nodes(ran.root), nodes(quickest), strict=True):
                node.spent |= timed.spent
        return ran

    def plain(self, attempt: Attempt) -> bool:
        """Here and now, whatever is left behind; whether it went well."""
        return self._run(attempt, CallTree(ModuleParts(self.model)), False) is not None

    def _run(
        self, attempt: Attempt, tree: CallTree, on_shapes: bool, *meters: contextlib.AbstractContextManager[Any]
    ) -> CallNode | None:
        try:
            with contextlib.ExitStack() as around:
                if on_shapes:
                    if any(isinstance(module, torch.jit.ScriptModule) for module in self.model.modules()):
                        raise NoValuesError("a scripted module keeps its weights to itself")
                    around.enter_context(tensors_replaced(self.model, without_values))
                arguments, keywords = attempt.made(device_of(self.model), on_shapes)
                around.enter_context(tree.listening())
                for meter in meters:
                    around.enter_context(meter)
                self.model(*arguments, **keywords)
        except Exception as error:  # the user's own, from forward: another way of calling may fit
            if is_the_scripts(error):
                raise
            self.failures.append(Failure(attempt, error, tree.last_raised(), on_shapes))
            return None
        return tree.root


@contextlib.contextmanager
def without_a_trace(model: nn.Module, training: bool | None) -> Iterator[None]:
    """In silence: a summary may take several tries."""
    with (
        leaving_no_trace(model),
        contextlib.nullcontext() if training is None else in_mode(model, training),
        uncompiled(),
        own_autocast_cache(),
        without_global_hooks(),
        unfused_encoders(),
        torch.inference_mode(False),
        torch.no_grad(),
    ):
        yield


def device_of(model: nn.Module) -> torch.device | None:
    devices = (value.device for value in (*model.parameters(), *model.buffers()))
    return next(devices, None)


# Which way of calling the model is meant, and how to run it: found by trying.

# Parameters times input elements, an upper bound of the work: below it a real run takes less time than
# loading what shapes need, about two seconds.
_QUICK = 10**9


@dataclass
class Chooser:
    runner: Runner
    attempts: list[Attempt]
    timed: bool = False
    only_shapes: bool = False
    notes: list[str] = field(default_factory=list)

    def choose(self) -> Ran | None:
        """None where no way fits: `runner.failures` say why."""
        if is_lazy(self.runner.model):
            known = materialised(self.runner, self.attempts)
            if known is None:
                return None
            self.attempts = [known]
            self.notes.append(NOTE)
        ran = self._first_fitting()
        if ran and not ran.attempt.batched and _unbatched(ran.root):
            # A convolution takes an image without a batch too, which is rarely what was meant.
            batched = (self.runner.counted(each, ran.on_shapes) for each in self.attempts if each.batched)
            ran = next((each for each in batched if each is not None), ran)
        return self.runner.timed(ran) if ran and self.timed and not ran.on_shapes else ran

    def _first_fitting(self) -> Ran | None:
        device = device_of(self.runner.model)
        may_run_for_real = not self.only_shapes and (device is None or device.type != "meta")
        for attempt in self.attempts:
            for on_shapes in self._ways(attempt) if may_run_for_real else (True,):
                ran = self.runner.counted(attempt, on_shapes)
                if ran is not None:
                    return ran
                if not self.runner.failures[-1].wants_values:
                    break
        if not may_run_for_real:
            return None
        # At last for real, what only shapes have refused so far.
        done = [failure.attempt for failure in self.runner.failures if not failure.on_shapes]
        waiting = [attempt for attempt in self.attempts if not any(attempt is each for each in done)]
        runs = (self.runner.counted(attempt, False) for attempt in waiting)
        return next((ran for ran in runs if ran is not None), None)

    def _ways(self, attempt: Attempt) -> tuple[bool, ...]:
        """Whether to run on shapes, in the order of trying."""
        inputs = named_leaves((attempt.call.arguments, attempt.call.keywords), (Blank, torch.Tensor))
        elements = sum(math.prod(value.size) if isinstance(value, Blank) else value.numel() for _, value in inputs)
        work = elements * sum(value.numel() for value in self.runner.model.parameters())
        return (False,) if self.timed or work < _QUICK else (True, False)


def _unbatched(root: CallNode) -> bool:
    """Whether the first convolution was given as many dimensions as one picture has."""
    for node in nodes(root):
        if isinstance(node.module, nn.modules.conv._ConvNd) and node.inputs:
            return len(node.inputs[0].size) == len(node.module.kernel_size) + 1
    return False


def likeliest(failures: list[Failure]) -> Failure:
    """Of the way that was meant first; what happened for real says more."""
    first = [failure for failure in failures if failure.attempt is failures[0].attempt]
    return next((failure for failure in first if not failure.on_shapes), first[0])


# Lazy layers get their sizes on a copy: the user's model stays lazy.
NOTE = "Lazy layers were given their sizes on a copy: the model itself still waits for its first batch."


def is_lazy(model: nn.Module) -> bool:
    return any(nn.parameter.is_lazy(value) for value in (*model.parameters(), *model.buffers()))


def materialised(runner: Runner, attempts: list[Attempt]) -> Attempt | None:
    """Exchanges the runner's model for a copy whose layers have their sizes; and how it was called."""
    lazy = runner.model
    for attempt in attempts:
        runner.model = _copy(lazy)
        mode = contextlib.nullcontext() if runner.training is None else in_mode(runner.model, runner.training)
        # Nothing is put back, since the copy is ours; random numbers are.
        with (
            randomness_kept(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            with mode, uncompiled(), without_global_hooks(), torch.inference_mode(False), torch.no_grad():
                if runner.plain(attempt):
                    return attempt
    runner.model = lazy
    return None


def sized_copy(model: nn.Module, calls: list[Call]) -> nn.Module:
    """A copy whose layers have their sizes, or what the model raised; inputs on meta are made."""
    runner = Runner(model, training=False)
    made_when_needed = [
        Attempt(exchanged(call, lambda value: Blank(tuple(value.shape), value.dtype) if value.is_meta else value))
        for call in calls
    ]
    if materialised(runner, made_when_needed) is None:
        raise runner.failures[0].error
    return runner.model


def _copy(model: nn.Module) -> nn.Module:
    # A lazy parameter can be copied, a lazy buffer cannot: it is made anew.
    kind: Any = nn.parameter.UninitializedBuffer
    lazy = (value for value in model.buffers() if nn.parameter.is_lazy(value))
    fresh = {id(value): kind(device=value.device, dtype=value.dtype) for value in lazy}
    try:
        return copy.deepcopy(model, fresh)
    except Exception as error:  # whatever the user's objects say to being copied
        raise UsageError(
            "the model has lazy layers and cannot be copied to give them their sizes "
            f"({type(error).__name__}: {error}): run it once on a batch, then ask again."
        ) from error


# Why a model could not be run for its summary, in a sentence.
_LONGEST = 200


def does_not_fit(failure: Failure) -> UsageError:
    """the model does not take [1, 3, 20, 20] float32: `fc` (Linear) was given [1, 75]: RuntimeError: ..."""
    call = failure.attempt.call
    named = [(f"{name}: ", value) for name, value in call.keywords.items()]
    blanks = [
        f"{name}{list(value.size)} {dtype_name(value.dtype)}"
        for name, value in [*(("", value) for value in call.arguments), *named]
        if isinstance(value, Blank)
    ]
    what = ", ".join(blanks) or "a call without inputs"
    return UsageError(f"the model does not take {what}: {_where(failure)}{_why(failure)}.")


def cannot_run(failure: Failure) -> str:
    return f"Parameters only, since forward needs the values of tensors: {_where(failure)}{_why(failure)}."


def _where(failure: Failure) -> str:
    node = failure.at
    if node is None or not node.path:
        return ""
    return f"`{node.path}` ({class_name(node.module)}) was given {sizes_text(node.inputs)[0]}: "


def _why(failure: Failure) -> str:
    reason = first_line(failure.error).partition(". ")[0].rstrip(".")
    return f"{type(failure.error).__name__}: {reason[:_LONGEST]}"
