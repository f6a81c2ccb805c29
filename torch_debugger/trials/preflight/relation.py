"""Do the targets have to do with the inputs at all, as far as neighbours and a straight line can tell?"""

from __future__ import annotations

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.trials.preflight.case import Case

_SHUFFLES = 40
_BEYOND_CHANCE = 1.5  # deviations above what shuffled targets give
_ROWS_PER_NUMBER = 8
_FEWEST = 64


def related(case: Case, targets: torch.Tensor | None) -> bool | None:
    """None where there are too few samples for the numbers of each, or no numbers, to tell."""
    count = case.samples
    rows = [each for each in tensors_in(case.call) if each.dim() and each.shape[0] == count]
    if targets is None or targets.numel() != count or not all(each.is_floating_point() for each in rows):
        return None
    inputs = torch.cat([each.detach().reshape(count, -1).double() for each in rows], 1).cpu()
    if count < max(_FEWEST, _ROWS_PER_NUMBER * inputs.shape[1]):
        return None
    spread = inputs.std(0)
    inputs = (inputs - inputs.mean(0))[:, spread > 0] / spread[spread > 0]
    answers = _columns(targets.detach().reshape(-1).cpu())
    near = torch.cdist(inputs, inputs).fill_diagonal_(float("inf")).argmin(1)
    return _beyond_chance(answers, answers[near]) or _beyond_chance(answers, _fitted(inputs, answers))


def _columns(targets: torch.Tensor) -> torch.Tensor:
    """One a class, or the numbers themselves; around zero."""
    whole = not targets.is_floating_point() or len(torch.unique(targets)) <= 2
    columns = torch.unique(targets, return_inverse=True)[1] if whole else targets
    found = torch.nn.functional.one_hot(columns).double() if whole else targets.double().unsqueeze(1)
    return found - found.mean(0)


def _fitted(inputs: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """What least squares makes of one half of the samples for the other, and the other way round."""
    half = len(inputs) // 2
    known = torch.cat([inputs, inputs**2 - 1], 1)
    first = known[half:] @ torch.linalg.lstsq(known[:half], answers[:half]).solution
    second = known[:half] @ torch.linalg.lstsq(known[half:], answers[half:]).solution
    return torch.cat([second, first])


def _beyond_chance(answers: torch.Tensor, guesses: torch.Tensor) -> bool:
    order = torch.Generator().manual_seed(0)
    chance = [
        float((answers[torch.randperm(len(answers), generator=order)] * guesses).sum())
        for _ in range(_SHUFFLES)
    ]
    beside = torch.tensor(chance)
    return float((answers * guesses).sum()) > float(beside.mean() + _BEYOND_CHANCE * beside.std())
