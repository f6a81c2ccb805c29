"""Which way of calling the model is meant, and how to run it: found by trying."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import nn

from torch_debugger.anatomy.nested import named_leaves
from torch_debugger.anatomy.summing.attempts import Attempt, Blank
from torch_debugger.anatomy.summing.call_tree import Node, nodes
from torch_debugger.anatomy.summing.lazies import NOTE, is_lazy, materialised
from torch_debugger.anatomy.summing.runs import Failure, Ran, Runner, device_of

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
        ran = self._with_batch(ran) if ran else None
        return self.runner.timed(ran) if ran and self.timed and not ran.on_shapes else ran

    def _first_fitting(self) -> Ran | None:
        for attempt in self.attempts:
            for on_shapes in self._ways(attempt):
                ran = self.runner.counted(attempt, on_shapes)
                if ran is not None:
                    return ran
                if not self.runner.failures[-1].wants_values:
                    break
        return self._at_last() if self._may_run_for_real() else None

    def _ways(self, attempt: Attempt) -> list[bool]:
        """Whether to run on shapes, in the order of trying."""
        if not self._may_run_for_real():
            return [True]
        return [False] if self.timed or _is_quick(self.runner.model, attempt) else [True, False]

    def _may_run_for_real(self) -> bool:
        device = device_of(self.runner.model)
        return not self.only_shapes and (device is None or device.type != "meta")

    def _at_last(self) -> Ran | None:
        """For real, what only shapes have refused so far."""
        done = [failure.attempt for failure in self.runner.failures if not failure.on_shapes]
        for attempt in self.attempts:
            if not any(attempt is each for each in done):
                ran = self.runner.counted(attempt, False)
                if ran is not None:
                    return ran
        return None

    def _with_batch(self, ran: Ran) -> Ran:
        """A convolution takes an image without a batch too, which is rarely what was meant."""
        if ran.attempt.batched or not _unbatched(ran.root):
            return ran
        batched = [attempt for attempt in self.attempts if attempt.batched]
        runs = (self.runner.counted(attempt, ran.on_shapes) for attempt in batched)
        return next((each for each in runs if each is not None), ran)


def _is_quick(model: nn.Module, attempt: Attempt) -> bool:
    given = named_leaves((attempt.call.arguments, attempt.call.keywords), (Blank, torch.Tensor))
    elements = sum(math.prod(value.size) if isinstance(value, Blank) else value.numel() for _, value in given)
    return elements * sum(value.numel() for value in model.parameters()) < _QUICK


def _unbatched(root: Node) -> bool:
    """Whether the first convolution was given as many dimensions as one picture has."""
    for node in nodes(root):
        if isinstance(node.module, nn.modules.conv._ConvNd) and node.inputs:
            return len(node.inputs[0].size) == len(node.module.kernel_size) + 1
    return False


def likeliest(failures: list[Failure]) -> Failure:
    """Of the way that was meant first; what happened for real says more."""
    first = [failure for failure in failures if failure.attempt is failures[0].attempt]
    return next((failure for failure in first if not failure.on_shapes), first[0])
