"""The user's own autograd functions, checked in a process of their own while the script runs on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from torch_debugger.probes.watch import Watch
from torch_debugger.records import GradientCheckFact

if TYPE_CHECKING:
    from torch_debugger.trials.gradcheck.process import CustomGradients


class GradientTrials:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._running: CustomGradients | None = None

    def begin(self, function: Any, arguments: tuple[Any, ...], step: int) -> None:
        from torch_debugger.trials.gradcheck.process import CustomGradients

        self._running = self._running or CustomGradients()
        with torch._C._EnableTorchFunction():  # in the fork as well
            self._running.start(function, arguments, step)

    def end_by(self, error: BaseException) -> None:
        """What the script's own gradcheck found wrong, compared once more for the element and the factor."""
        from torch_debugger.probes.gradchecks import failed_gradcheck
        from torch_debugger.trials.gradcheck.process import CustomGradients

        checked = failed_gradcheck(error)
        if checked is not None:
            trial = CustomGradients()
            with torch._C._EnableTorchFunction():  # in the fork as well
                trial.start(checked.target, checked.inputs, self.watch.step, checked.function)
            for fact in trial.finish():
                if fact.outcome in ("wrong", "deliberate"):
                    self.watch.emit(dataclasses.replace(fact, outcome="wrong", ended=True))

    def poll(self, step: int = 0, scalars: dict[str, float] | None = None) -> None:
        if self._running is not None:
            self._tell(self._running.poll())

    def wait(self) -> None:
        if self._running is not None:
            self._tell(self._running.finish())

    def _tell(self, facts: Sequence[GradientCheckFact]) -> None:
        for fact in facts:
            self.watch.emit(fact)
            if fact.outcome == "unchecked":
                self.watch.notice(f"The gradient of `{fact.function}` was not checked: {fact.words}.")
