"""How large the numbers are that a model is given: in training, and where no gradient is wanted."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.probes.inputs import model_call
from torch_debugger.probes.roots import Root, Roots
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, RootInput
from torch_debugger.stats.digests import sampled_rows
from torch_debugger.stats.unseen import no_grad


class RootInputs:
    """A dozen looks at each model for either case; in evaluation two a step, to see several passes."""

    EACH = 12
    A_STEP = 2

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch = watch
        self._looks: dict[tuple[str, bool], int] = {}
        self._in_step: tuple[int, int] = (0, 0)  # the step of the last evaluation, and its looks
        roots.on_call.append(self._see_training)
        roots.on_evaluation.append(self._see_evaluation)

    def _see_training(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if self.watch.depth == DEEP:
            self._look(root.name, True, (arguments, keywords))

    def _see_evaluation(self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        step, looks = self._in_step
        looks = looks if step == self.watch.step else 0
        if looks < self.A_STEP:
            self._in_step = (self.watch.step, looks + 1)
            self._look(root.name, False, (arguments, keywords))

    @no_grad()
    def _look(self, root: str, trained: bool, given: Any) -> None:
        looks = self._looks.get((root, trained), 0)
        tensor = first_tensor(given)
        if looks >= self.EACH or tensor is None or not _has_numbers(tensor):
            return
        self._looks[root, trained] = looks + 1
        rows = sampled_rows(tensor).float()
        numbers = torch.stack((rows.mean(), rows.std(correction=0)))
        tell = functools.partial(self._tell, root, trained, tuple(tensor.shape), model_call(), self.watch.step)
        self.watch.transfer.send(numbers, tell)

    def _tell(
        self, root: str, trained: bool, shape: tuple[int, ...], call: Place, step: int, numbers: Any
    ) -> None:
        mean, std = (float(number) for number in numbers)
        self.watch.emit(RootInput(root, trained, shape, mean, std, call, step))


def _has_numbers(tensor: torch.Tensor) -> bool:
    own = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # else it may be fake
    plain = tensor.is_floating_point() and tensor.layout is torch.strided and not tensor.is_meta
    return own and plain and tensor.dim() > 1 and tensor.numel() > 0
