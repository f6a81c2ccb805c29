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
from torch.nn import functional
from torch.overrides import TorchFunctionMode

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
        found = [each for name in _NAMES_OF_SCORES if isinstance(each := output.get(name), torch.Tensor)]
        if found:
            return found[0]
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
        values = row.detach()
        # The class with the highest score; of a sequence at its last position, of a map in the most places.
        if values.numel() == 1:
            return Aim(example, None, _one_number(torch.Tensor.sum))
        if values.dim() == 1:
            wanted = int(values.argmax())
        elif values.dim() == 2:
            wanted = (len(values) - 1, int(values[-1].argmax()))
        else:
            wanted = int(values.argmax(0).flatten().bincount(minlength=len(values)).argmax())
        return Aim(example, wanted, _one_number(lambda each: _at(each, wanted)))
    if isinstance(wanted, (bool, float)) or not isinstance(wanted, (int, tuple, np.integer)):
        raise UsageError(
            f"expected target as a class number, an index into the output, or a function of it, but got {wanted!r}."
        )
    if isinstance(wanted, tuple):
        shape = list(row.shape)
        if len(wanted) > row.dim() or not all(-s <= i < s for i, s in zip(wanted, shape, strict=False)):
            raise UsageError(f"target {wanted} is out of range: the output for one example is {shape}.")
    else:
        wanted = int(wanted)
        classes = row.numel() if row.dim() < 2 else row.shape[1] if row.dim() == 2 else len(row)
        if not 0 <= wanted < classes:
            raise UsageError(f"target {wanted} is out of range: the model gives {classes} classes, 0 to {classes - 1}.")
    return Aim(example, wanted, _one_number(lambda each: _at(each, wanted)))


def _at(row: torch.Tensor, index: Index) -> torch.Tensor:
    if isinstance(index, tuple):
        return row[index].sum()
    if row.dim() == 2:
        return row[-1, index]  # [positions, classes]
    return row.reshape(-1)[index] if row.dim() < 2 else row[index].sum()  # [classes, height, width]


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
    with contextlib.ExitStack() as stack:
        inner = stack.enter_context(for_a_picture(model, gradients=True))
        parameters = list(inner.parameters())
        if any(parameter.is_inference() for parameter in parameters):
            raise UsageError(
                "this model's weights were made inside torch.inference_mode() and cannot take part in a gradient:"
                " make or load the model outside of it."
            )
        for parameter in parameters:
            if parameter.requires_grad:
                stack.callback(parameter.requires_grad_, True)
                parameter.requires_grad_(False)
        recurrent = [module for module in inner.modules() if isinstance(module, nn.RNNBase)]
        if torch.backends.cudnn.enabled and any(weight.is_cuda for each in recurrent for weight in each.parameters()):
            # cuDNN has no backward for recurrent layers in evaluation mode.
            stack.enter_context(torch.backends.cudnn.flags(enabled=False))
        yield inner


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

    def _keep(self, call: str, module: nn.Module, arguments: Any, output: Any) -> Any:
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


def gradients_by_turns(
    aims: list[Aim], scores: list[torch.Tensor], tensors: list[torch.Tensor], names: str
) -> Iterator[tuple[list[int], list[torch.Tensor | None]]]:
    """Examples do not depend on each other, so that one backward serves one target of each: which aims it is
    for, and the gradient of each tensor."""
    turns = list(turns_of(aims))
    for number, turn in enumerate(turns):
        total = torch.stack([scores[place] for place in turn]).sum()
        if not total.requires_grad:
            raise UnfitLayerError(
                f"the score cannot be differentiated with respect to {names}: between them lies argmax, .detach(),"
                " torch.no_grad() or a way through numpy."
            )
        try:
            found = torch.autograd.grad(total, tensors, retain_graph=number + 1 < len(turns), allow_unused=True)
        except RuntimeError as error:
            if "use_reentrant" not in str(error):
                raise
            raise UsageError(
                "a part of this model is checkpointed with use_reentrant=True, and torch takes no gradient of a"
                " single tensor through it: call torch.utils.checkpoint with use_reentrant=False."
            ) from None
        yield turn, [None if each is None else each.detach() for each in found]


# Gradients of the scores with respect to the input itself.
def input_gradients(
    leaf: torch.Tensor, rows: Rows, aims: list[Aim], others: Sequence[torch.Tensor] = ()
) -> tuple[list[torch.Tensor], ...]:
    """For the input and each of the other tensors, one gradient an aim."""
    tensors = [leaf, *others]
    scores = [aim.score(rows[aim.example]) for aim in aims]
    found: list[list[Any]] = [[None] * len(aims) for _ in tensors]
    for turn, gradients in gradients_by_turns(aims, scores, tensors, "the input"):
        for each, tensor, gradient in zip(found, tensors, gradients, strict=True):
            for place in turn:
                example = aims[place].example
                each[place] = torch.zeros_like(tensor[example]) if gradient is None else gradient[example]
    return tuple(found)


# ReLUs with a backward of their own, for modules and functions alike: an nn.ReLU calls the function.
_RELUS = {functional.relu, torch.relu, torch.Tensor.relu}
_RELUS_IN_PLACE = {functional.relu_, torch.relu_, torch.Tensor.relu_}


class OtherReLUs(TorchFunctionMode):
    """`backward(positive, gradient)` says what a ReLU passes back; its values stay what they are."""

    def __init__(self, backward: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._backward = backward
        self.met = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func not in _RELUS and func not in _RELUS_IN_PLACE:
            return func(*args, **keywords)
        self.met += 1
        tensor = args[0] if args else keywords["input"]
        made = _OtherReLU.apply(tensor, self._backward)  # type: ignore[no-untyped-call]
        in_place = func in _RELUS_IN_PLACE or keywords.get("inplace", args[1] if len(args) > 1 else False)
        return tensor.copy_(made) if in_place else made


class _OtherReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, backward: Any) -> torch.Tensor:
        ctx.save_for_backward(tensor > 0)
        ctx.passed_back = backward
        return tensor.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (positive,) = ctx.saved_tensors
        return ctx.passed_back(positive, gradient), None
