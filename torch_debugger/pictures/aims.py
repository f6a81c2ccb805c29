"""What of a model's output is asked about: for each example a class, an index, or a function of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.errors import UsageError

Index = int | tuple[int, ...]
Rows = Any  # a tensor or a sequence: the output for each example
Score = Callable[[Any], torch.Tensor]
Target = None | Index | Score | Sequence[Any] | torch.Tensor
_NAMES_OF_SCORES = ("logits", "out", "scores", "predictions", "prediction", "output", "pred")


@dataclass(frozen=True)
class Aim:
    """One number to explain: `score` takes the output for the example of this number."""

    example: int
    target: Index | Score | None  # as given, or the top class; None for a model that gives one number
    score: Score


def rows_of(output: Any, count: int) -> Rows:
    """The output for each example: rows of the scores, or a detector's list of dictionaries."""
    if isinstance(output, (list, tuple)) and len(output) == count and isinstance(output[0], Mapping):
        return output
    scores = _scores_in(output, count)
    if count == 1 and (scores.dim() == 0 or len(scores) != 1):
        return scores.unsqueeze(0)  # a model that squeezes its batch of one
    if scores.dim() == 0 or len(scores) != count:
        raise UsageError(
            f"the model gives {list(scores.shape)} for {count} examples: expected a row of scores for each."
        )
    return scores


def _scores_in(output: Any, count: int) -> torch.Tensor:
    if isinstance(output, Mapping):
        for name in _NAMES_OF_SCORES:
            found = output.get(name)
            if isinstance(found, torch.Tensor):
                return found
    tensors = list(tensors_in(output))
    if not tensors:
        raise UsageError(f"the model gives {type(output).__name__} without a tensor in it: nothing to explain.")
    if len(tensors) == 1:
        return tensors[0]
    fitting = [each for each in tensors if each.is_floating_point() and each.dim() and len(each) == count]
    return next(iter(fitting or tensors))


def aims_for(target: Target, rows: Rows) -> list[Aim]:
    """One for each map or attribution to make, in order of the examples."""
    return [
        _aim(example, wanted, rows[example])
        for example, several in enumerate(_per_example(target, len(rows)))
        for wanted in several
    ]


def turns_of(aims: Sequence[Aim]) -> Iterator[list[int]]:
    """Which aims can share a backward: the first of every example, then the second."""
    waiting = list(range(len(aims)))
    while waiting:
        first_of = {aims[place].example: place for place in reversed(waiting)}
        turn = sorted(first_of.values())
        waiting = [place for place in waiting if place not in turn]
        yield turn


def _per_example(target: Any, count: int) -> Iterator[list[Any]]:
    """A list has an entry for each example; for one example, several entries are several targets."""
    if isinstance(target, (torch.Tensor, np.ndarray)):
        target = target.tolist()
    if not isinstance(target, (list, range)):
        return ([target] for _ in range(count))
    if not target or (len(target) != count and count > 1):
        raise UsageError(
            f"target has {len(target)} entries for {count} examples: give one for each (a list of several"
            " targets where an example has more than one), or one number for all."
        )
    if len(target) != count:
        target = [list(target)]
    return (list(each) if isinstance(each, list) else [each] for each in target)


def _aim(example: int, wanted: Any, row: Any) -> Aim:
    if callable(wanted):
        return Aim(example, wanted, _one_number(wanted))
    if not isinstance(row, torch.Tensor):
        raise UsageError(
            "the model gives a dictionary for each example: give target= as a function of it, such as"
            ' `lambda found: found["scores"][0]`.'
        )
    if wanted is None:
        wanted = _top(row)
        return Aim(
            example, wanted, _one_number(lambda each: each.sum() if wanted is None else _at(each, wanted))
        )
    if isinstance(wanted, (bool, float)) or not isinstance(wanted, (int, tuple, np.integer)):
        raise UsageError(
            "expected target as a class number, an index into the output, or a function of it,"
            f" but got {wanted!r}."
        )
    wanted = wanted if isinstance(wanted, tuple) else int(wanted)
    _refuse_out_of_range(wanted, row)
    return Aim(example, wanted, _one_number(lambda each: _at(each, wanted)))


def _top(row: torch.Tensor) -> Index | None:
    """The class with the highest score; of a sequence at its last position, of a map in the most places."""
    values = row.detach()
    if values.numel() == 1:
        return None
    if values.dim() == 1:
        return int(values.argmax())
    if values.dim() == 2:
        return (len(values) - 1, int(values[-1].argmax()))
    return int(values.argmax(0).flatten().bincount(minlength=len(values)).argmax())


def _at(row: torch.Tensor, index: Index) -> torch.Tensor:
    if isinstance(index, tuple):
        return row[index].sum()
    if row.dim() == 2:
        return row[-1, index]  # [positions, classes]
    return row.reshape(-1)[index] if row.dim() < 2 else row[index].sum()  # [classes, height, width]


def _refuse_out_of_range(index: Index, row: torch.Tensor) -> None:
    if isinstance(index, tuple):
        fits = len(index) <= row.dim() and all(-s <= i < s for i, s in zip(index, row.shape, strict=False))
        if not fits:
            raise UsageError(
                f"target {index} is out of range: the output for one example is {list(row.shape)}."
            )
        return
    classes = row.numel() if row.dim() < 2 else row.shape[1] if row.dim() == 2 else len(row)
    if not 0 <= index < classes:
        raise UsageError(
            f"target {index} is out of range: the model gives {classes} classes, 0 to {classes - 1}."
        )


def _one_number(score: Score) -> Score:
    """Checked, since what is not one number fails far from here and in other words."""

    def checked(row: Any) -> torch.Tensor:
        value = score(row)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            shape = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
            raise UsageError(
                f"the function given as target gave {shape}: expected a tensor that holds one number, so that"
                " it can be differentiated."
            )
        if not value.is_floating_point():
            raise UsageError(
                f"the model's output is of {value.dtype} and cannot be differentiated: it has been through"
                " argmax or the like. Give a model that returns its scores."
            )
        return value.reshape(())

    return checked


def refuse_not_finite(scores: torch.Tensor, aims: Sequence[Aim]) -> None:
    """Nothing explains such a score, and its gradients may still look like numbers."""
    for aim, finite in zip(aims, scores.isfinite().tolist(), strict=True):
        if not finite:
            raise UsageError(
                f"the model's score for example {aim.example} is NaN or Inf: there is nothing to explain."
                " `torch_debugger.find_nan` finds the operation that made it."
            )


def named(target: Any, labels: Sequence[str] | Mapping[int, str] | None = None) -> str:
    """How a target is called under a picture."""
    if target is None:
        return "the output"
    if callable(target):
        name = getattr(target, "__name__", type(target).__name__)
        return "given function" if name == "<lambda>" else name
    if isinstance(target, tuple):
        place = ", ".join(str(each) for each in target[:-1])
        return f"{named(target[-1], labels)} at {place}"
    known = labels is not None and (target in labels if isinstance(labels, Mapping) else target < len(labels))
    return str(labels[target]) if known and labels is not None else f"class {target}"
