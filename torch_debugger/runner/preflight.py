"""The pre-flight from code: `doctor(model, loss_fn, batch, optimizer)`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import nn
from torch.optim import Optimizer

from torch_debugger.checks.setup.tensor_on_wrong_device import TensorOnWrongDevice
from torch_debugger.model.layers import inner_model
from torch_debugger.records import CaseFact, StepRehearsal, TrialResult
from torch_debugger.report.preflight import (
    checkup_text,
    draw_rates,
    rehearsal_html,
    rehearsal_text,
    render_checkup,
    summary,
)
from torch_debugger.source.variables import name_root
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.system.program import caller
from torch_debugger.trials.preflight import Trial, Trials, describe_case
from torch_debugger.trials.preflight_case import case_of
from torch_debugger.trials.step_rehearsal import FailedError, RehearsalSettings, StepRehearser
from torch_debugger.trials.step_to_rehearse import LossFunction, step_of


class Checkup:
    """What the trials found: true if none failed; its str() is the whole text."""

    def __init__(self, case: CaseFact, results: tuple[TrialResult, ...]) -> None:
        self.case = case
        self.results = results

    @property
    def failed(self) -> tuple[TrialResult, ...]:
        return tuple(each for each in self.results if each.outcome == "failed")

    def __bool__(self) -> bool:
        return not self.failed

    def __iter__(self) -> Iterator[TrialResult]:
        return iter(self.results)

    def __getitem__(self, name: str) -> TrialResult:
        found = next((each for each in self.results if each.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def save_picture(self, path: str | Path) -> None:
        """The learning-rate range as a PNG."""
        drawn = next((each for each in self.results if each.rates), None)
        if drawn is None:
            raise UsageError("The learning-rate range was not tried, so there is nothing to draw.")
        draw_rates(drawn, Path(path))

    def __str__(self) -> str:
        return checkup_text(self.case, self.results)

    def __repr__(self) -> str:
        return f"<Checkup {summary(self.results)}>"


def doctor(
    model: nn.Module,
    loss_fn: Callable[[Any, Any], torch.Tensor],
    batch: Any,
    optimizer: Optimizer | None = None,
    *,
    show: bool = True,
) -> Checkup:
    """Try a model before its training: shown on stderr, and returned.

        checkup = torch_debugger.doctor(model, nn.CrossEntropyLoss(), (x, y), optimizer)
        assert checkup, checkup  # false if a trial failed

    `batch` is (inputs, targets); inputs that are a tuple or a dictionary are the model's arguments.
    `loss_fn` is called with the model's output and the targets. Copies are trained: your model, optimizer and
    random numbers stay as they are.
    """
    case = case_of(name_root(model, caller()), model, loss_fn, batch, optimizer)
    console = Console(file=sys.stderr)  # as it is now: trials run with another one
    with case.undone():
        fact = describe_case(case, case.loss().item())
    with console.status("trying", spinner="line") as status:
        doing = [""]

        def here(name: str, trial: Trial) -> TrialResult:
            doing[0] = name
            return trial()

        def tell(step: int, loss: float) -> None:
            if show and step % 10 == 0:
                status.update(f"{doing[0]}: step {step}, loss {loss:.4g}")

        checkup = Checkup(fact, tuple(Trials(case, tell).results(here)))
    if show:
        render_checkup(fact, checkup.results, console)
    return checkup


# A GPU rehearsal from code: `rehearse(model, x, loss=..., optimizer=..., gpu_memory="24GB")`.
class RehearsedStep(StepRehearsal, frozen=True):
    """What `rehearse` gives: its str() is the whole text, and a notebook shows it as a table."""

    def __str__(self) -> str:
        return rehearsal_text(self)

    def _repr_html_(self) -> str:
        return rehearsal_html(self)


def rehearse(
    model: nn.Module,
    *inputs: Any,
    loss: LossFunction | None = None,
    targets: Any = None,
    optimizer: Optimizer | Callable[[Iterable[nn.Parameter]], Optimizer] | None = None,
    gpu_memory: str | int | None = None,
    batch: int | None = None,
    dtype: str | None = None,
    accumulate: int = 1,
    training: bool = True,
) -> RehearsedStep:
    """How much memory a training step would take on a GPU, worked out without one.

        step = torch_debugger.rehearse(net, x, loss=nn.CrossEntropyLoss(), targets=y,
                                       optimizer=torch.optim.AdamW, gpu_memory="24GB")
        print(step)                               # the peak, by category, and what it means
        step.peak_bytes, step.by_category, step.fits, step.largest_batch, step.device_bugs

    Inputs are what the model is given: tensors, or one dictionary of keywords. `loss` is called with the
    model's output, and with `targets` where there are some; without it the sum of the outputs stands for it.
    `optimizer` is yours, or a class of torch.optim. `gpu_memory` is a size (24GB, 80GiB, bytes) or a name
    (h100, a100, 4090, t4). `batch` rehearses with another number of samples, `dtype` ("bf16", "fp16", "fp32")
    under autocast, `accumulate` with several backwards before a step, `training=False` without gradients.

    Nothing is computed: the step is made in a process of its own, on tensors that have shapes and no data. Your
    model, optimizer and random numbers stay as they are.
    """
    inner = inner_model(model)
    step, call = step_of(name_root(model, caller()), inner, inputs, loss, targets, _made(optimizer, inner))
    step = dataclasses.replace(step, accumulate=_count("accumulate", accumulate), training=training)
    wanted = RehearsalSettings(_memory(gpu_memory), _count("batch", batch) if batch is not None else 0, dtype or "")
    try:
        found = StepRehearser(step, call, wanted).rehearsed()
    except FailedError as error:
        raise DebuggerError(f"the step cannot be rehearsed: {error}") from None
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return RehearsedStep(**fields | {"device_bugs": device_bugs(found)})


def device_bugs(found: StepRehearsal) -> tuple[Any, ...]:
    mismatch = found.forward is not None and found.forward.outcome == "mismatch"
    return (TensorOnWrongDevice().judge(found.forward),) if mismatch and found.forward is not None else ()


def _made(optimizer: Any, model: nn.Module) -> Optimizer | None:
    if optimizer is None or isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise UsageError(f"optimizer is one of torch.optim, or a class of it, not {type(optimizer).__name__}.")
    with torch.random.fork_rng(devices=[]):
        made = optimizer([each for each in model.parameters() if each.requires_grad])
    if not isinstance(made, Optimizer):
        raise UsageError(f"optimizer(parameters) gave {type(made).__name__}, which is no torch.optim.Optimizer.")
    return made


def _memory(wanted: str | int | None) -> str:
    if wanted is None:
        return ""
    return wanted if isinstance(wanted, str) else f"{wanted / 1e9:.12g}GB"


def _count(name: str, number: int) -> int:
    if not isinstance(number, int) or number < 1:
        raise UsageError(f"{name} is a whole number from 1 on, not {number!r}.")
    return number
