"""What of a model's output is asked about: for each example a class, an index, or a function of the output."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from torch_debugger.model.hooks import listening
from torch_debugger.model.nested_tensors import exchanged, first_tensor, tensors_in
from torch_debugger.pictures.model_runs import for_a_picture
from torch_debugger.system.errors import UsageError

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
        return Aim(example, wanted, _one_number(lambda each: each.sum() if wanted is None else _at(each, wanted)))
    if isinstance(wanted, (bool, float)) or not isinstance(wanted, (int, tuple, np.integer)):
        raise UsageError(
            f"expected target as a class number, an index into the output, or a function of it, but got {wanted!r}."
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
            raise UsageError(f"target {index} is out of range: the output for one example is {list(row.shape)}.")
        return
    classes = row.numel() if row.dim() < 2 else row.shape[1] if row.dim() == 2 else len(row)
    if not 0 <= index < classes:
        raise UsageError(f"target {index} is out of range: the model gives {classes} classes, 0 to {classes - 1}.")


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


# Running a user's model for gradients of what its layers gave: no parameter takes part in them.
class UnfitLayerError(UsageError):
    """This layer cannot be looked at; where none was named, the next is tried."""


@contextlib.contextmanager
def for_gradients(model: nn.Module) -> Iterator[nn.Module]:
    """The graph begins where a layer's output is kept, and no parameter gets a gradient.

    That is less work and less memory than a hook in a common forward, which builds the graph of all of it.
    """
    with (
        for_a_picture(model, gradients=True) as inner,
        _parameters_at_rest(inner),
        _recurrence_differentiable(inner),
    ):
        yield inner


@contextlib.contextmanager
def _parameters_at_rest(model: nn.Module) -> Iterator[None]:
    parameters = list(model.parameters())
    if any(parameter.is_inference() for parameter in parameters):
        raise UsageError(
            "this model's weights were made inside torch.inference_mode() and cannot take part in a gradient:"
            " make or load the model outside of it."
        )
    resting = [parameter for parameter in parameters if parameter.requires_grad]
    try:
        for parameter in resting:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in resting:
            parameter.requires_grad_(True)


@contextlib.contextmanager
def _recurrence_differentiable(model: nn.Module) -> Iterator[None]:
    """cuDNN has no backward for recurrent layers in evaluation mode."""
    recurrent = [module for module in model.modules() if isinstance(module, nn.RNNBase)]
    if torch.backends.cudnn.enabled and any(weight.is_cuda for each in recurrent for weight in each.parameters()):
        with torch.backends.cudnn.flags(enabled=False):
            yield
    else:
        yield


class KeptOutputs:
    """What chosen layers gave in one run (in their last call), with a gradient of its own.

    The rest of the model gets a copy: what it writes in place does not reach the kept one.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self.calls: Counter[str] = Counter()
        self.without_gradients: set[str] = set()
        self.closed = False

    @contextlib.contextmanager
    def listening(self, layers: dict[str, nn.Module]) -> Iterator[None]:
        """Gradients are taken inside as well: a checkpointed part runs again for them, with the same ears."""
        with listening(layers, self._keep):
            yield

    def _keep(self, call: str, module: nn.Module, given: Any, output: Any) -> Any:
        path = call.partition("#")[0]
        tensor = first_tensor(output)
        if tensor is None or not tensor.is_floating_point():
            return None
        if not torch.is_grad_enabled():
            self.without_gradients.add(path)
            self._note(path, tensor.clone())
            return None
        own = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        self._note(path, own)
        return exchanged(output, lambda each: own.clone() if each is tensor else each)

    def _note(self, path: str, tensor: torch.Tensor) -> None:
        if not self.closed:
            self.tensors[path] = tensor
            self.calls[path] += 1


def gradients_of(score: torch.Tensor, kept: KeptOutputs, *, again: bool) -> dict[str, torch.Tensor]:
    """Of one number with respect to every kept output; `again` where the graph is needed once more."""
    paths = list(kept.tensors)
    _refuse_without_graph(score, kept)
    found = differentiated(score, [kept.tensors[path] for path in paths], again=again)
    for path, gradient in zip(paths, found, strict=True):
        if gradient is None:
            raise UnfitLayerError(
                f"the score does not depend on layer `{path}`: its output is not used for it, or only after"
                " .detach(), argmax or under torch.no_grad()."
            )
    return {path: gradient for path, gradient in zip(paths, found, strict=True) if gradient is not None}


def differentiated(score: torch.Tensor, tensors: list[torch.Tensor], *, again: bool) -> list[torch.Tensor | None]:
    try:
        found = torch.autograd.grad(score, tensors, retain_graph=again, allow_unused=True)
    except RuntimeError as error:
        if "use_reentrant" not in str(error):
            raise
        raise UsageError(
            "a part of this model is checkpointed with use_reentrant=True, and torch takes no gradient of a"
            " single tensor through it: call torch.utils.checkpoint with use_reentrant=False."
        ) from None
    return [None if each is None else each.detach() for each in found]


def _refuse_without_graph(score: torch.Tensor, kept: KeptOutputs) -> None:
    for path in kept.without_gradients:
        raise UnfitLayerError(
            f"layer `{path}` runs under torch.no_grad() in the model's own forward (so does a checkpoint with"
            " use_reentrant=True), and no gradient reaches it: choose a later layer, or take that off."
        )
    if not score.requires_grad:
        some = ", ".join(f"`{path}`" for path in kept.tensors)
        raise UnfitLayerError(
            f"the score cannot be differentiated with respect to {some}: between them lies argmax, .detach(),"
            " torch.no_grad() or a way through numpy."
        )


# Gradients of the scores with respect to the input itself.
def input_gradients(
    leaf: torch.Tensor, rows: Rows, aims: list[Aim], others: Sequence[torch.Tensor] = ()
) -> tuple[list[torch.Tensor], ...]:
    """For the input and each of the other tensors, one gradient an aim."""
    tensors = [leaf, *others]
    scores = [aim.score(rows[aim.example]) for aim in aims]
    found: list[list[Any]] = [[None] * len(aims) for _ in tensors]
    turns = list(turns_of(aims))
    for number, turn in enumerate(turns):
        total = torch.stack([scores[place] for place in turn]).sum()
        gradients = _gradients(total, tensors, again=number + 1 < len(turns))
        for place in turn:
            for each, gradient in zip(found, gradients, strict=True):
                each[place] = gradient[aims[place].example]
    return tuple(found)


def _gradients(total: torch.Tensor, tensors: list[torch.Tensor], *, again: bool) -> list[torch.Tensor]:
    if not total.requires_grad:
        raise UsageError(
            "the score cannot be differentiated with respect to the input: between them lies argmax, .detach(),"
            " torch.no_grad() or a way through numpy."
        )
    found = differentiated(total, tensors, again=again)
    return [
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(tensors, found, strict=True)
    ]
