"""Validation: losses computed without gradients, and numbers the script itself logs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
from torch import nn
from torch.nn.modules.loss import _Loss

from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.model.root_modules import Gate, RootModule, RootModules
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Scalars
from torch_debugger.source.frames import user_frame
from torch_debugger.source.objects import is_a, own_attributes
from torch_debugger.source.variables import scopes
from torch_debugger.stats.dispatch_modes import item_of
from torch_debugger.system.clocks import time
from torch_debugger.system.imports import when_imported
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class Evaluation(Probe):
    """Loss modules called where no gradient is wanted: their mean since the last training step."""

    name = "evaluation"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._sums: dict[str, tuple[torch.Tensor, int]] = {}
        self._gate = Gate(self._around)

    def install(self, patches: Patches) -> None:
        self._gate.put_on(_Loss)

    def remove(self) -> None:
        self._gate.take_off()

    def _around(self, criterion: nn.Module) -> Callable[..., Any] | None:
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        return functools.partial(self._call, criterion)

    def _call(self, criterion: nn.Module, /, *arguments: Any, **keywords: Any) -> Any:
        value = criterion._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
        self.watch.probe("evaluation", self._add, type(criterion).__name__, value)
        return value

    def _add(self, name: str, value: Any) -> None:
        if not is_a(value, torch.Tensor) or value.numel() != 1:
            return
        number = value.detach().float().reshape(1)
        total, count = self._sums.get(name, (torch.zeros_like(number), 0))
        self._sums[name] = (total + number, count + 1)

    def end_step(self) -> None:
        sums, self._sums = self._sums, {}
        for name, (total, count) in sums.items():
            tell = functools.partial(self._tell, f"eval/{name}", self.watch.step)
            self.watch.transfer.send(total / count, tell)

    def _tell(self, tag: str, step: int, found: Any) -> None:
        self.watch.say(step, {tag: float(found[0])})


# Validation losses that a script computes by functions and keeps in variables: val_loss.
#
# Read when training goes on after an evaluation; a script that has no such variable is asked ever less often.
_SETS = r"(val|valid|validation|dev|test|eval|holdout)"
_NAME = re.compile(rf"{_SETS}_?(\w+_)?loss(es)?|loss(es)?_{_SETS}|vloss|v_loss", re.IGNORECASE)
_MOST = 2000  # readings


class EvaluatedLosses:
    def __init__(self, watch: Watch, roots: RootModules) -> None:
        self.watch = watch
        self._evaluated = False
        self._readings = 0
        self._pause, self._paused = 0, 0  # evaluations that are let pass, and those that were
        roots.on_evaluation.append(self._see_evaluation)
        roots.on_call.append(self._see_training)

    def _see_evaluation(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self._evaluated = True

    def _see_training(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if not self._evaluated:
            return
        self._evaluated = False
        self._paused += 1
        if self._paused > self._pause and self._readings < _MOST:
            self._readings += 1
            self._paused = 0
            found: dict[str, float] = {}
            for names in scopes(user_frame(2)):
                for name, value in _named(names):
                    number = value[-1] if type(value) is list and value else value
                    if type(number) is float:
                        found.setdefault(name, number)
            self._pause = 0 if found else 2 * self._pause + 1
            self.watch.scalars |= {f"eval/{name}": value for name, value in found.items()}


def _named(names: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Variables of such names, and entries and attributes of them: history["val_loss"], self.val_loss."""
    for name, value in names:
        inside = value if type(value) is dict else own_attributes(value) if name == "self" else {}
        entries = [(key, item) for key, item in list(inside.items())[:64] if isinstance(key, str)]
        yield from ((each, item) for each, item in [(name, value), *entries] if _NAME.fullmatch(each))


# Numbers the script logs through a SummaryWriter (torch, tensorboardX, ours) or wandb: kept as user/<tag>.
#
# One that is logged behind the optimizer's step belongs to the step just done, and so does the validation that
# follows. The next step is under way once a loader gave a batch to train on, or autograd made a node.
_WRITERS = ("torch.utils.tensorboard.writer", "tensorboardX.writer", "torch_debugger.summaries.writer")


class UserScalars(Probe):
    name = "logged scalars"

    def __init__(self, watch: Watch, loaders: Loaders) -> None:
        super().__init__(watch)
        self._loaders = loaders
        self._stop: list[Any] = []
        self._of_last_step: dict[str, float] = {}
        self._logged = 0.0  # when the first of these was
        self._activity: tuple[int, int] | None = None  # when the last step ended

    def install(self, patches: Patches) -> None:
        for name in _WRITERS:
            self._stop.append(when_imported(name, functools.partial(self._meet_writer, patches)))
        self._stop.append(when_imported("wandb", functools.partial(self._meet_wandb, patches)))

    def remove(self) -> None:
        for stop in self._stop:
            stop()

    def end_step(self) -> None:
        if self._of_last_step:
            self.watch.emit(Scalars(self.watch.clock.step, self._logged, self._of_last_step))
            self._of_last_step = {}
        self._activity = self._activity_now()

    def _activity_now(self) -> tuple[int, int]:
        return self._loaders.batches_to_train_on, torch._C._autograd._get_sequence_nr()

    def _meet_writer(self, patches: Patches, module: Any) -> None:
        writer = getattr(module, "SummaryWriter", None)
        if writer is not None:
            self.watch.probe(self.name, patches.replace, writer, "add_scalar", self._around_add_scalar)

    def _meet_wandb(self, patches: Patches, module: Any) -> None:
        run = getattr(module, "Run", None)
        if run is not None:  # wandb.init() sets wandb.log anew, to the log of its run
            self.watch.probe(self.name, patches.replace, run, "log", functools.partial(self._around_log, 1))
        if hasattr(module, "log"):
            self.watch.probe(self.name, patches.replace, module, "log", functools.partial(self._around_log, 0))

    def _around_add_scalar(self, original: Any) -> Any:
        @functools.wraps(original)
        def add_scalar(writer: Any, tag: Any, scalar_value: Any, *arguments: Any, **keywords: Any) -> Any:
            self.watch.probe(self.name, self._take, {tag: scalar_value})
            with hidden_in_tracebacks:
                return original(writer, tag, scalar_value, *arguments, **keywords)

        return add_scalar

    def _around_log(self, place: int, original: Any) -> Any:
        """The data is the argument of this number; of a run's log, behind the run."""

        @functools.wraps(original)
        def log(*arguments: Any, **keywords: Any) -> Any:
            data = arguments[place] if len(arguments) > place else keywords.get("data")
            if is_a(data, dict):
                self.watch.probe(self.name, self._take, data)
            with hidden_in_tracebacks:
                return original(*arguments, **keywords)

        return log

    def _take(self, values: dict[Any, Any]) -> None:
        numbers = {f"user/{tag}": number for tag, value in values.items() if (number := _number(value)) is not None}
        if not self.watch.clock.step or self._activity_now() != self._activity:
            self.watch.scalars |= numbers
        else:
            self._logged = self._logged if self._of_last_step else time.time()
            self._of_last_step |= numbers


def _number(value: Any) -> float | None:
    """Plain numbers and one-element CPU tensors or arrays; never a sync with a device."""
    if issubclass(type(value), (int, float)):
        return float(value)
    if issubclass(type(value), torch.Tensor):
        return float(item_of(value)) if value.is_cpu and value.numel() == 1 else None
    is_array = issubclass(type(value), (numpy.ndarray, numpy.generic))
    return float(value.item()) if is_array and value.size == 1 else None
