"""Does every parameter get a gradient?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from torch_debugger.model.autograd_graph import op_name, saved, signed, walk_nodes
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.reruns import keep_randomness
from torch_debugger.records import TrialResult
from torch_debugger.source.calls import is_never_read
from torch_debugger.trials.preflight_case import Call, Case, NotPossibleError, failed, passed
from torch_debugger.trials.preflight_training import fit, other_way, own_way

GRADIENT_REACH_NAME = "every parameter gets a gradient"

_STEPS = 10  # a layer that starts with zeros lets gradients through after a step
_SHOWN = 4


def try_gradients(case: Case) -> TrialResult:
    named = case.parameters()
    if not named:
        raise NotPossibleError("No parameter of the model learns.")
    with runs_noted(case) as ran:
        case.backward(case.loss())
    missing = [name for name, each in named.items() if each.grad is None]
    none = [name for name in missing if not is_passed_by(case, name, ran)]
    none = [name for name in none if not _is_offset(name, named, none)]
    zero = [name for name, each in named.items() if each.grad is not None and _is_zero(each.grad)]
    wrong = [name for name, each in named.items() if each.grad is not None and not _is_finite(each.grad)]
    if wrong:
        return failed(
            GRADIENT_REACH_NAME,
            f"The gradient of {_listed(wrong)} is not finite.",
            "torch_debugger.find_nan(model, inputs) names the op whose backward makes it so.",
            not_finite=len(wrong),
        )
    zero = _still_zero(case, zero) if zero else zero
    zero = [name for name in zero if not _is_offset(name, named, zero)]
    if none or zero:
        return failed(GRADIENT_REACH_NAME, _told(none, zero, len(named)), _advice(none), none=len(none), zero=len(zero))
    if missing:
        return passed(
            GRADIENT_REACH_NAME, f"All get one but those of layers that this batch passes by: {_listed(missing)}."
        )
    return passed(GRADIENT_REACH_NAME, f"All {len(named)} parameters get one that is not zero.")


def _still_zero(case: Case, zero: list[str]) -> list[str]:
    way = own_way(case) or other_way(case, 1e-3)
    fit(case, way.optimizer, steps=_STEPS)
    case.backward(case.loss())
    now = case.parameters()
    return [name for name in zero if now[name].grad is None or _is_zero(now[name].grad)]


def _is_offset(name: str, named: Mapping[str, torch.Tensor], zero: list[str]) -> bool:
    """A bias that cancels out (in a difference of outputs, before a softmax) while its layer learns."""
    layer = name.rpartition(".")[0]
    return named[name].dim() < 2 and any(other.rpartition(".")[0] == layer and other not in zero for other in named)


def _told(none: list[str], zero: list[str], total: int) -> str:
    parts = [f"{len(none)} of {total} parameters get no gradient: {_listed(none)}"] if none else []
    parts += [f"{len(zero)} of {total} get a gradient of zero, also after {_STEPS} steps: {_listed(zero)}"] * bool(zero)
    return "; ".join(parts) + "."


def _advice(none: list[str]) -> str:
    if none:
        return (
            "Nothing of the loss depends on them. Look in `forward` for a layer that is not called, or a "
            "result that is not used or is cut off by detach(), .data, .item(), argmax or no_grad."
        )
    return "What they make is multiplied by zero further on: a dead ReLU, a mask, a weight of 0 in the loss."


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _is_zero(gradient: torch.Tensor | None) -> bool:
    return gradient is not None and not bool(_numbers(gradient).any())


def _is_finite(gradient: torch.Tensor) -> bool:
    return bool(_numbers(gradient).isfinite().all())


def _numbers(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.coalesce().values() if gradient.is_sparse else gradient


# Parameters that a batch passes by: of layers which the forward knows and did not run this time.
@contextmanager
def runs_noted(case: Case) -> Iterator[set[int]]:
    """The ids of the modules that run inside."""
    ran: set[int] = set()

    def note(module: nn.Module, *_: object) -> None:
        ran.add(id(module))

    handles = [module.register_forward_hook(note) for module in case.modules()]
    try:
        yield ran
    finally:
        for handle in handles:
            handle.remove()


def is_passed_by(case: Case, name: str, ran: set[int]) -> bool:
    """Whether a layer on the way to this parameter did not run, though lines of the user's speak of it."""
    root, *parts = name.split(".")
    module = case.models[root]
    for part in parts[:-1]:
        child = getattr(module, part)
        holds_others = isinstance(module, (nn.ModuleList, nn.ModuleDict))
        if id(child) not in ran and not isinstance(child, (nn.ModuleList, nn.ModuleDict)):
            return holds_others or not is_never_read(module, part)
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
    _require_rows(case, count)
    leak, how = _leak(case, count), ""
    if leak is not None and any(module.training for module in case.modules()):
        how = " (in eval mode; in train mode they mix, as BatchNorm is meant to)"
        with case.evaluating():
            leak = _leak(case, count)
    if leak is not None and _has_norm_over_batch(case.output()):
        raise NotPossibleError(
            "The model computes deviations over the batch, by which its samples depend on each other."
        )
    return _judged(leak, count, how if leak is None else "")


def _judged(leak: tuple[int, int] | None, count: int, how: str) -> TrialResult:
    if leak is None:
        return passed(BATCH_INDEPENDENCE_NAME, f"The output of no sample depends on the inputs of the others{how}.")
    sample, other = leak
    return failed(
        BATCH_INDEPENDENCE_NAME,
        f"The output of sample {sample} depends on the input of sample {other}{how}: the samples mix.",
        "Look in `forward` for a view, reshape, softmax, mean or norm that works over the first dimension "
        f"({count}, the batch) where another one is meant.",
        sample=sample,
        other=other,
    )


def _require_rows(case: Case, count: int) -> None:
    for module in case.modules():
        if isinstance(module, _SEQUENCES) and not module.batch_first:
            kind = type(module).__name__
            raise NotPossibleError(f"{kind} has batch_first off: the first dimension of the input may be time.")
        if any(tuple(each.shape) == (count, count) for each in module.buffers(recurse=False)):
            raise NotPossibleError(f"The model holds a matrix of {count} by {count}: its rows may be nodes of a graph.")
    shapes = [tuple(each.shape) for each in tensors_in(case.call) if each.dim()]
    if any(shape[0] != count or shape == (count, count) for shape in shapes):
        raise NotPossibleError(f"Not all that the model is given has a row for each of {count} samples: {shapes}.")


def _leak(case: Case, count: int) -> tuple[int, int] | None:
    """The first two samples of which one reaches the other, by gradients or, of whole numbers, by trying."""
    if any(each.is_floating_point() for each in tensors_in(case.call)):
        return _leak_by_gradient(case, count)
    return _leak_by_change(case, count)


def _leak_by_gradient(case: Case, count: int) -> tuple[int, int] | None:
    call = case.changed(lambda each: each.requires_grad_() if each.is_floating_point() else each)
    given = [each for each in tensors_in(call) if each.requires_grad]
    rows = [each for each in _rows(case.output(call), count) if each.requires_grad]
    if not rows:
        raise NotPossibleError("No output of the model has a row for each sample and a gradient to the input.")
    for sample in (0, count - 1):
        picked = sum(each[sample].sum() for each in rows)
        slopes = torch.autograd.grad(picked, given, retain_graph=True, allow_unused=True)  # type: ignore[arg-type]
        reached = [slope.reshape(count, -1).ne(0).any(1) for slope in slopes if slope is not None]
        others = [at for at in range(count) if at != sample and any(bool(each[at]) for each in reached)]
        if others:
            return sample, others[0]
    return None


def _leak_by_change(case: Case, count: int) -> tuple[int, int] | None:
    restore = keep_randomness(case.modules())
    with torch.no_grad():
        plain = list(_rows(case.output(), count))
        restore()
        other = list(_rows(case.output(_with_first_replaced(case)), count))
    if not plain:
        raise NotPossibleError("No output of the model has a row for each sample.")
    for one, two in zip(plain, other, strict=True):
        difference = (one - two).abs().reshape(count, -1).amax(1)[1:]
        if bool((difference > _SAME * one.abs().max()).any()):
            return int(difference.argmax()) + 1, 0
    return None


def _with_first_replaced(case: Case) -> Call:
    def replaced(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim():
            tensor[0] = tensor[-1]
        return tensor

    return case.changed(replaced)


def _has_norm_over_batch(output: Any) -> bool:
    """A deviation over the first dimension: written on purpose, unlike a softmax over it."""
    roots = [each.grad_fn for each in tensors_in(output) if each.grad_fn is not None]
    nodes = [node for root in roots for node in walk_nodes(root, _MOST_NODES)[0]]
    return any(op_name(node) in _DEVIATIONS and _goes_over_batch(node) for node in nodes)


def _goes_over_batch(node: Any) -> bool:
    dimensions = saved(node, "_saved_dim")
    whole = saved(node, "_saved_self")
    if not dimensions or not isinstance(whole, torch.Tensor):
        return True  # over all there is
    return 0 in {int(signed(each)) % whole.dim() for each in dimensions}


def _rows(output: Any, count: int) -> Iterator[torch.Tensor]:
    for each in tensors_in(output):
        if each.is_floating_point() and each.dim() and each.shape[0] == count:
            yield each
