"""Gradients that float16 rounds to zero, and custom backwards that are wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.trends import fallen_share
from torch_debugger.records import CrashFact, Finding, GradientCheckFact, Place, Record, Scalars, TensorRows


@dataclass(frozen=True)
class _Look:
    """One deep step in which gradients were lost."""

    step: int
    module: str  # the one nearest to the loss
    zeros: float  # share of its gradient
    faint: float  # of the others, the share on the last two steps above zero
    lost: int  # modules whose gradient is lost, of
    modules: int


class GradientUnderflow(Check):
    """Gradients in float16 are so small that they are rounded to zero.

    Symptom:
        With float16 the loss falls less than with float32, or not at all; nothing is NaN.
    Evidence:
        The output gradients of modules that compute in float16: the share that is zero, and how many of the
        others sit on the last two steps above zero (6e-8 and 1.2e-7). Where two of five do, about as many
        again have been rounded to zero.
    Fix:
        Scale the loss with `torch.amp.GradScaler`, or let it begin at a larger scale; or use bfloat16, which
        reaches as far down as float32.
    Known limits:
        Zeros alone say nothing: ReLU makes them too. Judged on three deep looks in a row, and only while the
        loss has not halved: near the end of a training gradients are small by right.
    """

    id = "TD603"
    name = "gradient-underflow"
    title = "float16 gradients are rounded to zero"
    reads = (TensorRows, Scalars)
    explains = ("vanishing-gradient",)

    # Where gradients spread over some six binades, this share on the last steps means that 15 to 20 % are gone.
    faint_share = 0.4
    # Of the modules that compute in float16.
    modules_share = 0.5
    looks_needed = 3
    steps_watched = 20
    # A loss that halved is no victim.
    healthy_fall = 0.5

    def __init__(self) -> None:
        self._looks: list[_Look] = []
        self._scale: float | None = None
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, TensorRows):
            if record.table.kind == "output_gradient" and "faint" in record.table.columns:
                look = self._look(record)
                self._looks = [] if look is None else [*self._looks, look]  # one without loss ends the streak
                del self._looks[1 : -self.looks_needed]
        elif isinstance(record, Scalars):
            self._scale = record.values.get("scaler/scale", self._scale)
            if self._looks and not self._reported:
                yield from self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if not self._reported:
            yield from self._judge(state)

    def _look(self, rows: TensorRows) -> _Look | None:
        table = rows.table
        pairs = zip(table.names, table.dtypes, rows.column("zeros"), rows.column("faint"), strict=True)
        half = [
            (name, zeros, faint / (1.0 - zeros) if zeros < 1.0 and not math.isnan(faint) else 0.0)
            for name, dtype, zeros, faint in pairs
            if dtype == "float16"
        ]
        lost = [each for each in half if each[1] == 1.0 or each[2] >= self.faint_share]
        # In the order of the backward pass: what is zero behind lost gradients is lost with them.
        if not lost or len(lost) < self.modules_share * len(half):
            return None
        name, zeros, faint = next((each for each in lost if each[2] >= self.faint_share), lost[0])
        return _Look(rows.step, name, zeros, faint, len(lost), len(half))

    def _judge(self, state: RunState) -> Iterable[Finding]:
        looks, fallen = self._looks, fallen_share(state.losses.finite())
        if len(looks) < self.looks_needed or state.step - looks[0].step < self.steps_watched:
            return
        if fallen is None or fallen >= self.healthy_fall or state.losses.finite()[-1][1] == 0:
            return
        self._reported = True
        look, site = looks[-1], state.loss_place
        shares = f"all of the gradient that reaches `{look.module}` is zero"
        if look.zeros != 1.0:
            shares = (
                f"of the gradient that reaches `{look.module}`, {_percent(look.zeros)} is zero and "
                f"{_percent(look.faint)} of the rest is at most 1.2e-7"
            )
        yield self.finding(
            severity="error" if fallen < 0.1 else "warning",
            confidence=0.9 if look.faint >= self.faint_share else 0.75,
            message=f"float16 rounds gradients to zero: {shares}. {look.lost} of {look.modules} modules "
            "that compute in float16 lose theirs so.",
            why="The smallest number above zero in float16 is 6e-8, and below 6e-5 it keeps fewer and fewer "
            "digits. A gradient under that is zero, and what it would have taught is lost.",
            fix=_fix(self._scale, site),
            where=site if state.sites else Place(module=look.module),
            steps=(looks[0].step, look.step),
            evidence={
                "module": look.module,
                "zeros": look.zeros,
                "faint": look.faint,
                "fallen": fallen,
                "scale": self._scale or 1.0,
            },
        )


def _percent(share: float) -> str:
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"


def _fix(scale: float | None, site: Place) -> str:
    line = at_line(site)
    if scale is not None:
        return (
            f"Let GradScaler begin at a larger scale than {scale:g}: leave out `init_scale` (65536), or raise "
            "it; where that is too much it is halved by itself. Or use `dtype=torch.bfloat16`."
        )
    return (
        f"Make a `scaler = torch.amp.GradScaler(device)`, and write `scaler.scale(loss).backward()`{line}, then "
        "`scaler.step(optimizer)` and `scaler.update()`. Or use `dtype=torch.bfloat16`, which has the range of float32."
    )


class WrongCustomGradient(Check):
    """The backward of a custom autograd Function does not compute the gradient of its forward.

    Symptom:
        The training runs, and learns badly or not at all: every update goes a wrong way. Nothing raises,
        because autograd believes what a custom `backward` returns.
    Evidence:
        With `--check-custom-gradients`, each Function of yours is checked once, on copies of inputs that it
        met in a deep step: what its backward returns, against differences of its forward in float64. The
        worst element is shown with both values, and the mistake it looks like. Where torch's own `gradcheck`
        has ended the script, what it compared is compared in the same way.
    Fix:
        Correct `backward`; `torch_debugger.gradcheck` and `torch-debugger gradcheck FILE` check it again in
        a second.
    Known limits:
        Only on the CPU, where the check can run in a process of its own. Gradients that are other than the
        forward's on purpose (straight-through, surrogate, reversal, clipping) get a note where they are
        recognised as such. Functions of installed libraries are not checked.
    """

    id = "TD610"
    name = "wrong-custom-gradient"
    title = "the backward of a custom Function does not belong to its forward"
    reads = (GradientCheckFact, CrashFact)
    explains = ("loss-not-finite", "overflow-ahead", "lr-too-high", "vanishing-gradient")

    def __init__(self) -> None:
        self._ended: GradientCheckFact | None = None

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CrashFact):
            if self._ended is not None:
                yield self._found(self._ended, "error", 0.97)
            return
        assert isinstance(record, GradientCheckFact)
        if record.ended:
            self._ended = record  # the crash follows, and this explains it
        elif record.outcome == "wrong":
            yield self._found(record, "error", 0.97)
        elif record.outcome == "deliberate":
            yield self._found(record, "note", 0.5)

    def _found(self, fact: GradientCheckFact, severity: str, confidence: float) -> Finding:
        return self.finding(
            severity=severity,
            confidence=confidence,
            message=_message(fact),
            why=fact.words[:1].upper() + fact.words[1:],
            fix=fact.advice,
            where=fact.place,
            steps=(fact.step, fact.step),
            evidence=_evidence(fact),
        )


def _message(fact: GradientCheckFact) -> str:
    if not fact.input:
        return f"`{fact.function}`: its backward does not compute the gradient of its forward."
    if fact.outcome == "deliberate":
        return f"The backward of `{fact.function}` gives `{fact.input}` another gradient than its forward has."
    names = ", ".join(f"`{name}`" for name in (fact.input, *fact.others))
    return (
        f"The backward of `{fact.function}` gives a wrong gradient for {names}: "
        f"d {fact.output_element} / d {fact.element} is {fact.analytical:.6g} by backward and "
        f"{fact.numerical:.6g} by differences of the forward (relative error {fact.relative_error:.2g})."
    )


def _evidence(fact: GradientCheckFact) -> dict[str, float | str]:
    found: dict[str, float | str] = {"function": fact.function, "inputs": fact.inputs, "pattern": fact.pattern}
    if fact.input:
        found |= {"element": fact.element, "by_backward": fact.analytical, "by_differences": fact.numerical}
        found["relative_error"] = fact.relative_error
    return found
