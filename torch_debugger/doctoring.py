"""The pre-flight from code: `doctor(model, loss_fn, batch, optimizer)`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console

from torch_debugger.anatomy.naming import name_root
from torch_debugger.errors import UsageError
from torch_debugger.integrations.program import caller
from torch_debugger.records import CaseFact, TrialResult
from torch_debugger.report.checkup import checkup_text, render_checkup, summary
from torch_debugger.report.rate_picture import draw_rates
from torch_debugger.trials.preflight.conduct import Trial, Trials
from torch_debugger.trials.preflight.description import describe_case
from torch_debugger.trials.preflight.given import case_of

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer


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
