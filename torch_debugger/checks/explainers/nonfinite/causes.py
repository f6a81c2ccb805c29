"""Which explainers know an op, and what they say of one that made a NaN or Inf."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from torch_debugger.checks.explainers.nonfinite import (
    angles,
    arithmetic,
    exponentials,
    logarithms,
    loss_functions,
    masks,
    norms,
    overflows,
    quotients,
    reductions,
    roots,
    selections,
    special_ops,
)
from torch_debugger.checks.explainers.nonfinite.case import Case, Story, read_case
from torch_debugger.checks.explainers.nonfinite.wording import described
from torch_debugger.records import Origin

Explain = Callable[[Case], Story | None]

_FAMILIES: dict[Explain, tuple[str, ...]] = {
    logarithms.explain_log: ("log", "log2", "log10", "xlogy"),
    logarithms.explain_log1p: ("log1p",),
    logarithms.explain_logit: ("logit",),
    roots.explain_root: ("sqrt", "rsqrt"),
    roots.explain_power: ("pow",),
    norms.explain_norm: ("norm", "cdist", "pairwise_distance"),
    norms.explain_hypot: ("hypot",),
    norms.explain_unit_vector: ("normalize", "cosine_similarity"),
    quotients.explain_quotient: ("div", "reciprocal", "remainder", "floor_divide"),
    quotients.explain_angle_of_origin: ("atan2",),
    exponentials.explain_exponential: ("exp", "expm1", "exp2", "sinh", "cosh"),
    angles.explain_angle: ("acos", "asin", "atanh", "erfinv"),
    angles.explain_acosh: ("acosh",),
    reductions.explain_spread: ("std", "var"),
    reductions.explain_product: ("prod", "cumprod"),
    reductions.explain_normalization: ("layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm"),
    masks.explain_class_loss: ("cross_entropy", "nll_loss"),
    loss_functions.explain_binary_cross_entropy: ("binary_cross_entropy",),
    loss_functions.explain_kl_divergence: ("kl_div",),
    loss_functions.explain_gaussian_nll: ("gaussian_nll_loss",),
    loss_functions.explain_poisson_nll: ("poisson_nll_loss",),
    loss_functions.explain_ctc: ("ctc_loss",),
    special_ops.explain_gamma: ("lgamma", "digamma", "polygamma"),
    special_ops.explain_decomposition: ("svd", "eigh", "eig"),
    special_ops.explain_determinant: ("inv", "logdet", "slogdet"),
}
_BY_OP = {op: explain for explain, ops in _FAMILIES.items() for op in ops}
_BEFORE: tuple[Explain, ...] = (masks.explain_masked_row, reductions.explain_empty)
_AFTER: tuple[Explain, ...] = (
    arithmetic.explain_infinite,
    overflows.explain_overflow,
    special_ops.explain_constant,
)


def explain_op(origin: Origin) -> tuple[Case, Story]:
    """What the operands prove; where they prove nothing, what is known and no more."""
    case = read_case(origin, origin.op or "")
    if origin.selected_by:
        forward = dataclasses.replace(case, origin=dataclasses.replace(origin, phase="forward"))
        return case, selections.explain_selected(case, _explained(forward) or _explained(case))
    return case, _explained(case) or _inner_story(case) or _general(case)


def _explained(case: Case) -> Story | None:
    known = _BY_OP.get(case.op)
    explainers = (*_BEFORE, *([known] if known else []), *_AFTER)
    return next((story for explain in explainers if (story := explain(case)) is not None), None)


def is_custom(origin: Origin) -> bool:
    """Ops of torch are written small; an autograd.Function goes by the name of its class."""
    return origin.phase == "backward" and (origin.op or "")[:1].isupper()


def _inner_story(case: Case) -> Story | None:
    """Of an op that no explainer knows: the op inside it, where the line shows that one."""
    origin = case.origin
    if not origin.inner or case.op in _BY_OP:
        return None
    forward = dataclasses.replace(origin, phase="forward" if is_custom(origin) else origin.phase)
    inner = read_case(forward, origin.inner)
    return _explained(inner) if inner.written.node is not None else None


def _general(case: Case) -> Story:
    if not case.finite:
        return _of_not_finite(case)
    given = [described(operand, case.name(index)) for index, operand in enumerate(case.origin.operands[:3])]
    inside = f"Inside it, `{case.origin.inner}` made it. " if case.origin.inner else ""
    grown = "a division, root or log near 0, or numbers that grew out of the range of the dtype"
    shown = "These numbers alone do not show why" if given else "What went into it is not known"
    why = f"{inside}{shown}: look for {grown}."
    spot = "its backward" if is_custom(case.origin) else "this line"
    fix = (
        f"Look at what goes into {spot}: `torch-debugger run --on-nan break` stops there with a prompt. "
        "If the loss grew before, lower the learning rate."
    )
    return Story(f"given {' and '.join(given)}" if given else "", why, fix)


def _of_not_finite(case: Case) -> Story:
    """An op whose input had been let through, as a later `nanmean` would have left it out."""
    held = enumerate(case.origin.operands)
    bad = [(index, operand) for index, operand in held if operand.nans or operand.infs]
    given = [described(operand, case.name(index)) for index, operand in bad[:2]]
    slope = (
        ", and neither is the slope there: 0 times NaN is NaN, so leaving the result out later does not help"
    )
    why = f"What went into it was not finite already{slope if case.backward else ''}."
    name = case.bare_name(bad[0][0])
    fix = (
        "Leave those values out before this op, not after it: select the ones that are finite with a mask, or "
        "fill the others, as `torch.where(torch.isfinite(x), x, 0.0)` does for a tensor `x` that goes into "
        f"{f'`{name}`' if name not in 'xy' else 'it'}."
    )
    return Story(f"given {' and '.join(given)}", why, fix)
