"""TD601: the first NaN or Inf, and the operation that made it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, NonFinite, Place, Record, Scalars

_ADVICE = {
    "log": "Keep the input above 0: `torch.log(x.clamp_min(1e-8))`; for probabilities of a softmax use "
    "`F.log_softmax`, for those of a sigmoid `F.logsigmoid`.",
    "sqrt": "Add a small number under the root: `torch.sqrt(x + 1e-8)`; below 0 it is NaN, at 0 its "
    "gradient is Inf.",
    "root of a negative": "The input goes below 0, where a root is NaN: find out what made it negative. A "
    "log-variance becomes a deviation by `torch.exp(0.5 * x)`; a variance is kept positive by `F.softplus(x)`.",
    "div": "Keep the divisor away from 0: `a / (b + 1e-8)`, or `b.clamp_min(1e-8)` where it is positive.",
    "exp": "Bound the exponent (`x.clamp(max=20)`), or use a form that does it for you: `F.softplus`, "
    "`torch.logsumexp`, `F.log_softmax`.",
    "pow": "Keep the base above 0 (`x.clamp_min(1e-8)`) where the exponent is no whole number or is negative.",
    "norm": "At exactly 0 a norm has no gradient: use `(x.pow(2).sum(dim) + 1e-8).sqrt()`.",
    "asin": "Keep the input inside the domain: `x.clamp(-1 + 1e-6, 1 - 1e-6)`.",
    "softmax": "A row that is -inf as a whole has no softmax: leave at least one place of each mask open.",
    "std": "The spread of a single value is not defined: pass `correction=0`, or skip batches of one.",
    "mean": "The mean of nothing is NaN: skip empty selections.",
    "grow": "The values grew until they left the range of the dtype: lower the learning rate, clip the "
    "gradients (`torch.nn.utils.clip_grad_norm_`), or scale the inputs.",
    "binary_cross_entropy": "Pass raw scores to `F.binary_cross_entropy_with_logits` instead of probabilities.",
}
_SAME = {
    "log2": "log", "log10": "log", "log1p": "log", "xlogy": "log", "rsqrt": "sqrt", "reciprocal": "div",
    "true_divide": "div", "floor_divide": "div", "remainder": "div", "expm1": "exp", "sinh": "exp",
    "cosh": "exp",
    "linalg_vector_norm": "norm", "linalg_norm": "norm", "cdist": "norm", "normalize": "norm", "acos": "asin",
    "atanh": "asin", "acosh": "asin", "log_softmax": "softmax", "scaled_dot_product_attention": "softmax",
    "var": "std", "var_mean": "std", "std_mean": "std", "addmm": "grow", "mm": "grow", "bmm": "grow",
    "matmul": "grow", "linear": "grow", "conv1d": "grow", "conv2d": "grow", "conv3d": "grow",
    "convolution": "grow", "mse_loss": "grow", "mul": "grow", "add": "grow", "sub": "grow", "sum": "grow",
}  # fmt: skip
_ORIGIN = {
    "forward": "in the forward pass",
    "loss": "between the model's output and the loss",
    "backward": "in the backward pass; the forward pass was finite",
    "input": "in the data: the batch itself is not finite",
    "weights": "in the weights: an earlier update left them so",
}


class LossNotFinite(Check):
    """The loss, a gradient or a weight became NaN or Inf.

    Symptom:
        The loss prints `nan` or `inf`; from then on every weight is NaN and nothing is learned.
    Evidence:
        The first value that was not finite, and where the step's evidence or its replay finds the
        operation that made it from finite inputs: module, operation, line and the operands' ranges.
    Fix:
        Keep the operation inside its domain (log, sqrt and division near 0, exp of large numbers), or
        lower the learning rate where values grew step by step.
    Known limits:
        A gradient that is not finite is reported only if the loss follows it: with mixed precision
        `GradScaler` skips such steps by design. Where the step could not be replayed, the operation is
        not known and the confidence is lower.
    """

    id = "TD601"
    name = "loss-not-finite"
    title = "the loss became NaN or Inf"
    reads = (NonFinite, Scalars)

    # The replay that names the operation needs some steps' time; after that the bare fact is reported.
    steps_to_wait = 5

    def __init__(self) -> None:
        self._fact: NonFinite | None = None
        self._lost: tuple[int, float] | None = None  # step and value of the first loss that was not finite
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, NonFinite):
            self._fact = self._fact or record
        elif isinstance(record, Scalars):
            loss = record.values.get("loss", 0.0)
            if self._lost is None and not math.isfinite(loss):
                self._lost = (record.step, loss)
        if not self._reported and (self._fact is not None or self._lost is not None):
            yield from self._report(state, ended=False)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if not self._reported:
            yield from self._report(state, ended=True)

    def _report(self, state: RunState, ended: bool) -> Iterable[Finding]:
        fact = self._fact
        if fact is not None and self._is_confirmed(fact):
            self._reported = True
            yield self._explained(fact)
        elif fact is not None and ended and fact.step >= state.step:
            yield self._explained(fact)  # the run ended before the loss could follow
        elif self._lost is not None and (ended or state.step >= self._lost[0] + self.steps_to_wait):
            self._reported = True
            yield self._bare(*self._lost, state)

    def _is_confirmed(self, fact: NonFinite) -> bool:
        """A gradient must be followed by the loss: GradScaler drops bad gradients by design."""
        if fact.what != "gradient":
            return True
        return self._lost is not None and self._lost[0] <= fact.step + self.steps_to_wait

    def _explained(self, fact: NonFinite) -> Finding:
        confirmed = self._is_confirmed(fact)
        return self.finding(
            severity="error" if confirmed else "warning",
            confidence=_confidence(fact) if confirmed else 0.6,
            message=_message(fact),
            why=_why(fact),
            fix=_fix(fact),
            where=_where(fact),
            first_step=fact.step,
            last_step=fact.step,
            evidence={
                "what": fact.what,
                "value": fact.value,
                "phase": fact.phase,
                "op": fact.op or "unknown",
                "operands": "; ".join(fact.operands),
                "parameters": ", ".join(fact.parameters[:5]),
            },
        )

    def _bare(self, step: int, value: float, state: RunState) -> Finding:
        site = next(iter(state.sites.values()), None)
        before = [point for point in state.losses.finite() if point[0] < step]
        last = f"; the last finite loss was {before[-1][1]:.4g} at step {before[-1][0]}" if before else ""
        return self.finding(
            severity="error",
            confidence=0.7,
            message=f"The loss became {value} at step {step}{last}.",
            why="What made it could not be seen: no closer look at that step was possible.",
            fix="Look at the operations that can leave the range of numbers: log, sqrt, division, exp. "
            "If the loss grew before, lower the learning rate.",
            where=site.place if site else Place(),
            first_step=step,
            last_step=step,
            evidence={"what": "loss", "value": str(value), "op": "unknown"},
        )


def _confidence(fact: NonFinite) -> float:
    if fact.op is not None:
        return 0.97 if fact.replayed else 0.9
    return 0.85 if fact.module is not None or fact.phase == "input" else 0.7


def _message(fact: NonFinite) -> str:
    where = f" in `{fact.module}`" if fact.module else ""
    line = f" at {fact.place.file}:{fact.place.line}" if fact.place.file else ""
    start = f"The {fact.what} became {fact.value} at step {fact.step}: "
    if fact.op is not None:
        given = f", given {'; '.join(fact.operands)}" if fact.operands else ""
        made = f"the slope of `{fact.op}`" if fact.phase == "backward" else f"`{fact.op}`"
        return f"{start}{made}{where}{line} produced the first value that is not finite{given}."
    if fact.phase == "weights" and fact.parameters:
        return f"{start}`{fact.parameters[0]}` and {len(fact.parameters) - 1} more parameters were not finite."
    if fact.module:
        return f"{start}`{fact.module}` is the first module whose numbers were not finite ({fact.phase})."
    return f"{start}its origin is not known."


def _why(fact: NonFinite) -> str:
    origin = _ORIGIN.get(fact.phase)
    known = f"It began {origin}." if origin else "Where it began could not be seen."
    return known + " NaN spreads: one update with it makes every weight it touches NaN for good."


def _fix(fact: NonFinite) -> str:
    op = (fact.op or "").rstrip("_")
    family = _SAME.get(op, op)
    advice = _ADVICE.get("root of a negative" if family == "sqrt" and _goes_below_zero(fact) else family)
    if advice is not None:
        return advice
    if fact.phase == "input":
        return "Clean the data: find samples with NaN or Inf (`torch.isfinite(x).all()`), drop or fill them."
    return (
        "Look at the line named here for a log, root, division or exp near the edge of its range; if the loss "
        "grew before, lower the learning rate."
    )


def _where(fact: NonFinite) -> Place:
    place = fact.place if fact.place.file else fact.site
    return Place(place.file, place.line, fact.module, place.code)


def _goes_below_zero(fact: NonFinite) -> bool:
    """By more than rounding: "operand 1: float32 [64, 8], min -0.18, max 0.2"."""
    found = re.search(r"min (-[0-9.e+-]+)", fact.operands[0]) if fact.operands else None
    return found is not None and float(found.group(1)) < -1e-4
