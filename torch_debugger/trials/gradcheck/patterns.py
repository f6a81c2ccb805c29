"""Which mistake a wrong gradient looks like, and what to change."""

from __future__ import annotations

from collections.abc import Callable

import torch

from torch_debugger.trials.gradcheck.factors import name_factor, name_missing_factor, name_missing_term
from torch_debugger.trials.gradcheck.result import Pattern
from torch_debugger.trials.gradcheck.sample import Sample


def recognise(sample: Sample) -> Pattern:
    for look in _LOOKS:
        pattern = look(sample)
        if pattern is not None:
            return pattern
    who = sample.culprit.leaf.name
    return Pattern(
        "unknown",
        "no common mistake was recognised.",
        f"Derive the gradient of `{who}` on paper for one element, and compare it with `backward` line by "
        "line.",
    )


def _detached(sample: Sample) -> Pattern | None:
    culprit = sample.culprit
    number = sample.point.x.index(culprit.leaf)
    if sample.point.pulled(culprit.weights)[number] is not None:
        return None
    who = culprit.leaf.name
    if culprit.output.name.startswith("gradient of"):
        advice = f"In `backward`, use `{who}` as it was saved, without `.detach()`, `.data` or `.item()`."
    else:
        advice = (
            "Look for `.detach()`, `.data`, `.item()`, `torch.no_grad()` or a new `torch.tensor(...)` between "
            f"`{who}` and the {culprit.output.name}. A custom `backward` must return its gradient, not None."
        )
    return Pattern(
        "detached",
        f"detached: no gradient arrives at `{who}`, although the {culprit.output.name} depends on it.",
        advice,
    )


def _not_finite(sample: Sample) -> Pattern | None:
    bad = int((~torch.isfinite(sample.analytical)).sum())
    if not bad:
        return None
    return Pattern(
        "not-finite",
        f"backward gives NaN or Inf for `{sample.culprit.leaf.name}`; the function itself is finite there.",
        "Look for a division by 0, a log or a root at 0 in `backward`.",
    )


def _constant_forward(sample: Sample) -> Pattern | None:
    if bool((sample.numerical.abs() > sample.tolerance * sample.analytical.abs().max()).any()):
        return None
    return Pattern(
        "straight-through",
        f"the {sample.culprit.output.name} does not change with `{sample.culprit.leaf.name}` around here (as "
        "with "
        "rounding, sign or a threshold), but backward gives a gradient.",
        "A straight-through or surrogate gradient is like this on purpose; then there is nothing to change. "
        "Otherwise return zeros, or make the forward depend on it.",
        deliberate=True,
    )


def _zero(sample: Sample) -> Pattern | None:
    if bool(sample.analytical.any()):
        return None
    who = sample.culprit.leaf.name
    return Pattern(
        "zero-gradient",
        f"backward gives zeros for `{who}`, although the {sample.culprit.output.name} depends on it.",
        f"Compute the gradient of `{who}` in `backward`; zeros are right only where the output does not "
        "change.",
    )


def _identity(sample: Sample) -> Pattern | None:
    """Forward hands its input on: whoever writes that, writes it for the sake of the backward."""
    culprit = sample.culprit
    inputs = sample.point.inputs[culprit.leaf.start : culprit.leaf.stop]
    outputs = sample.point.at_point[culprit.output.start : culprit.output.stop]
    if culprit.leaf.shape != culprit.output.shape or not torch.equal(inputs, outputs):
        return None
    return Pattern(
        "gradient-changed",
        f"forward returns `{culprit.leaf.name}` as it is, and backward changes the gradient on its way.",
        "Gradient reversal, scaling and clipping layers are like this on purpose; then there is nothing to "
        "change. Otherwise return the incoming gradient as it is.",
        deliberate=True,
    )


def _constant_factor(sample: Sample) -> Pattern | None:
    analytical, numerical = sample.analytical, sample.numerical
    factor = float((analytical @ numerical) / (numerical @ numerical))
    if factor == 0 or not bool(sample.agree(analytical, numerical * factor).all()):
        return None
    who = sample.culprit.leaf.name
    if abs(factor + 1) < 1e-3:
        return Pattern(
            "wrong-sign",
            f"wrong sign: backward gives minus the right gradient of `{who}`, everywhere.",
            f"Change the sign of what `backward` returns for `{who}`.",
        )
    return Pattern(
        "missing-factor",
        f"missing factor: backward gives {factor:.6g} times the right gradient of `{who}`, everywhere"
        f"{name_factor(sample, factor)}.",
        f"Multiply what `backward` returns for `{who}` by {1 / factor:.6g}.",
    )


def _transposed(sample: Sample) -> Pattern | None:
    leaf = sample.culprit.leaf
    if len(leaf.shape) < 2 or leaf.shape[-1] != leaf.shape[-2] or leaf.shape[-1] == 1 or leaf.complex:
        return None
    whole = sample.culprit.gradient.cpu()[leaf.start : leaf.stop].reshape(leaf.shape)
    turned = whole.transpose(-1, -2).reshape(-1)[sample.places - leaf.start]
    if not bool(sample.agree(turned, sample.numerical).all()):
        return None
    return Pattern(
        "transposed",
        f"transposed: backward gives the gradient of `{leaf.name}` with rows and columns exchanged.",
        f"Transpose what `backward` returns for `{leaf.name}`: for y = a @ b, the gradient of a is "
        "`grad_output @ b.t()` and that of b is `a.t() @ grad_output`.",
    )


def _varying_factor(sample: Sample) -> Pattern | None:
    named = name_missing_factor(sample)
    if named is None:
        return None
    who = sample.culprit.leaf.name
    return Pattern(
        "missing-factor",
        f"missing factor: the right gradient of `{who}` is {named} times what backward gives.",
        f"Multiply what `backward` returns for `{who}` by {named}: the chain rule has one more factor.",
    )


def _missing_term(sample: Sample) -> Pattern | None:
    named = name_missing_term(sample)
    if named is None:
        return None
    who = sample.culprit.leaf.name
    return Pattern(
        "missing-term",
        f"missing term: the right gradient of `{who}` is what backward gives plus {named}.",
        f"Add {named} to what `backward` returns for `{who}`.",
    )


def _one_side(sample: Sample) -> Pattern | None:
    values = sample.point.inputs.cpu()[sample.places]
    for word, side in (("negative", values < 0), ("positive", values > 0)):
        if bool(side.any()) and not bool(side.all()) and torch.equal(sample.wrong, side):
            return Pattern(
                "one-side",
                f"backward is wrong exactly where `{sample.culprit.leaf.name}` is {word}.",
                f"Look at the branch or mask of `backward` for {word} values.",
            )
    return None


def _few_elements(sample: Sample) -> Pattern | None:
    wrong = int(sample.wrong.sum())
    if not 0 < wrong <= max(1, len(sample.places) // 4):
        return None
    where = sample.culprit.leaf.spelled(sample.culprit.place)
    others = "all others are right" if sample.whole and wrong == 1 else "most others are right"
    return Pattern(
        "few-elements",
        f"few elements: `{where}` is wrong, {others}.",
        f"Look for what `backward` does to `{where}` alone: an index, a slice, a mask, a border.",
    )


_LOOKS: tuple[Callable[[Sample], Pattern | None], ...] = (
    _detached,
    _not_finite,
    _zero,
    _constant_forward,
    _identity,
    _constant_factor,
    _transposed,
    _one_side,
    _few_elements,
    _varying_factor,
    _missing_term,
)
