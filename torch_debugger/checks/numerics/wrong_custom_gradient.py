"""TD610: a custom autograd Function whose backward does not belong to its forward."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, Finding, GradientCheckFact, Record


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
            first_step=fact.step,
            last_step=fact.step,
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
