"""Does every parameter get a gradient?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from torch_debugger.model.autograd_graph import op_name, saved, signed, walk_nodes
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.reruns import keep_randomness
from torch_debugger.records import TrialResult
from torch_debugger.source.calls import is_never_read
from torch_debugger.trials.preflight_case import Case, NotPossibleError, failed, passed
from torch_debugger.trials.preflight_training import any_way, fit

GRADIENT_REACH_NAME = "every parameter gets a gradient"

_STEPS = 10  # a layer that starts with zeros lets gradients through after a step
_SHOWN = 4


def try_gradients(case: Case) -> TrialResult:
    named = case.parameters()
    if not named:
        raise NotPossibleError("No parameter of the model learns.")
    ran: set[int] = set()  # the modules that run

    def note(module: nn.Module, *_: object) -> None:
        ran.add(id(module))

    handles = [module.register_forward_hook(note) for module in case.modules()]
    try:
        case.backward(case.loss())
    finally:
        for handle in handles:
            handle.remove()
    missing = [name for name, each in named.items() if each.grad is None]
    none = [name for name in missing if not _is_passed_by(case, name, ran)]
    none = [name for name in none if not _is_offset(name, named, none)]
    zero = [name for name, each in named.items() if each.grad is not None and not bool(_values(each.grad).any())]
    wrong = [name for name, each in named.items() if each.grad is not None and not _values(each.grad).isfinite().all()]
    if wrong:
        return failed(
            GRADIENT_REACH_NAME,
            f"The gradient of {_listed(wrong)} is not finite.",
            "torch_debugger.find_nan(model, inputs) names the op whose backward makes it so.",
            not_finite=len(wrong),
        )
    if zero:
        fit(case, any_way(case).optimizer, steps=_STEPS)
        case.backward(case.loss())
        later = {name: each.grad for name, each in case.parameters().items()}
        zero = [name for name in zero if (grad := later[name]) is None or not bool(_values(grad).any())]
        zero = [name for name in zero if not _is_offset(name, named, zero)]
    if none or zero:
        parts = [f"{len(none)} of {len(named)} parameters get no gradient: {_listed(none)}"] if none else []
        if zero:
            parts.append(
                f"{len(zero)} of {len(named)} get a gradient of zero, also after {_STEPS} steps: {_listed(zero)}"
            )
        advice = "What they make is multiplied by zero further on: a dead ReLU, a mask, a weight of 0 in the loss."
        if none:
            advice = (
                "Nothing of the loss depends on them. Look in `forward` for a layer that is not called, or a "
                "result that is not used or is cut off by detach(), .data, .item(), argmax or no_grad."
            )
        return failed(GRADIENT_REACH_NAME, f"{'; '.join(parts)}.", advice, none=len(none), zero=len(zero))
    if missing:
        return passed(
            GRADIENT_REACH_NAME, f"All get one but those of layers that this batch passes by: {_listed(missing)}."
        )
    return passed(GRADIENT_REACH_NAME, f"All {len(named)} parameters get one that is not zero.")


def _values(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.coalesce().values() if gradient.is_sparse else gradient


def _is_offset(name: str, named: Mapping[str, torch.Tensor], zero: list[str]) -> bool:
    """A bias that cancels out (in a difference of outputs, before a softmax) while its layer learns."""
    layer = name.rpartition(".")[0]
    return named[name].dim() < 2 and any(other.rpartition(".")[0] == layer and other not in zero for other in named)


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _is_passed_by(case: Case, name: str, ran: set[int]) -> bool:
    """Whether a layer on the way to this parameter did not run, though lines of the user's speak of it."""
    root, *parts = name.split(".")
    module = case.models[root]
    for part in parts[:-1]:
        child = getattr(module, part)
        if id(child) not in ran and not isinstance(child, (nn.ModuleList, nn.ModuleDict)):
            return isinstance(module, (nn.ModuleList, nn.ModuleDict)) or not is_never_read(module, part)
        module = child
    return False


# Are the samples of a batch independent of each other in the model?
BATCH_INDEPENDENCE_NAME = "batch independence"

_SEQUENCES = (nn.RNNBase, nn.MultiheadAttention)
_DEVIATIONS = ("Std", "Var", "StdMean", "VarMean")
_MOST_NODES = 4000
_SAME = 1e-5  # of the outputs' size, where it is compared and not derived


def try_batch_independence(case: Case) -> TrialResult:
    count = case.require_samples(2)
    for module in case.modules():
        if isinstance(module, _SEQUENCES) and not module.batch_first:
            kind = type(module).__name__
            raise NotPossibleError(f"{kind} has batch_first off: the first dimension of the input may be time.")
        if any(tuple(each.shape) == (count, count) for each in module.buffers(recurse=False)):
            raise NotPossibleError(f"The model holds a matrix of {count} by {count}: its rows may be nodes of a graph.")
    shapes = [tuple(each.shape) for each in tensors_in(case.call) if each.dim()]
    if any(shape[0] != count or shape == (count, count) for shape in shapes):
        raise NotPossibleError(f"Not all that the model is given has a row for each of {count} samples: {shapes}.")
    numbers = any(each.is_floating_point() for each in tensors_in(case.call))
    find_leak = _leak_by_gradient if numbers else _leak_by_change
    leak, how = find_leak(case, count), ""
    if leak is not None and any(module.training for module in case.modules()):
        how = " (in eval mode; in train mode they mix, as BatchNorm is meant to)"
        with case.evaluating():
            leak = find_leak(case, count)
    if leak is None:
        return passed(BATCH_INDEPENDENCE_NAME, f"The output of no sample depends on the inputs of the others{how}.")
    # a deviation over the first dimension is written on purpose, unlike a softmax over it
    roots = [each.grad_fn for each in tensors_in(case.output()) if each.grad_fn is not None]
    if any(_is_deviation_over_batch(node) for root in roots for node in walk_nodes(root, _MOST_NODES)[0]):
        raise NotPossibleError(
            "The model computes deviations over the batch, by which its samples depend on each other."
        )
    sample, other = leak
    return failed(
        BATCH_INDEPENDENCE_NAME,
        f"The output of sample {sample} depends on the input of sample {other}: the samples mix.",
        "Look in `forward` for a view, reshape, softmax, mean or norm that works over the first dimension "
        f"({count}, the batch) where another one is meant.",
        sample=sample,
        other=other,
    )


def _is_deviation_over_batch(node: Any) -> bool:
    if op_name(node) not in _DEVIATIONS:
        return False
    dimensions, whole = saved(node, "_saved_dim"), saved(node, "_saved_self")
    if not dimensions or not isinstance(whole, torch.Tensor):
        return True  # over all there is
    return 0 in {int(signed(each)) % whole.dim() for each in dimensions}


# The first two samples of which one reaches the other, by gradients or, of whole numbers, by trying.
def _leak_by_gradient(case: Case, count: int) -> tuple[int, int] | None:
    call = case.changed(lambda each: each.requires_grad_() if each.is_floating_point() else each)
    inputs = [each for each in tensors_in(call) if each.requires_grad]
    rows = [each for each in case.rows(case.output(call)) if each.is_floating_point() and each.requires_grad]
    if not rows:
        raise NotPossibleError("No output of the model has a row for each sample and a gradient to the input.")
    for sample in (0, count - 1):
        picked = sum(each[sample].sum() for each in rows)
        slopes = torch.autograd.grad(picked, inputs, retain_graph=True, allow_unused=True)  # type: ignore[arg-type]
        reached = [slope.reshape(count, -1).ne(0).any(1) for slope in slopes if slope is not None]
        others = [at for at in range(count) if at != sample and any(bool(each[at]) for each in reached)]
        if others:
            return sample, others[0]
    return None


def _leak_by_change(case: Case, count: int) -> tuple[int, int] | None:
    def with_first_replaced(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim():
            tensor[0] = tensor[-1]
        return tensor

    restore = keep_randomness(case.modules())
    with torch.no_grad():
        plain = [each for each in case.rows(case.output()) if each.is_floating_point()]
        restore()
        changed = case.output(case.changed(with_first_replaced))
        other = [each for each in case.rows(changed) if each.is_floating_point()]
    if not plain:
        raise NotPossibleError("No output of the model has a row for each sample.")
    for one, two in zip(plain, other, strict=True):
        difference = (one - two).abs().reshape(count, -1).amax(1)[1:]
        if bool((difference > _SAME * one.abs().max()).any()):
            return int(difference.argmax()) + 1, 0
    return None
