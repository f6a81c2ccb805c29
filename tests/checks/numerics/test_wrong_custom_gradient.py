"""TD610 as its records tell it: the sentence, the severity, and silence for what is right."""

from __future__ import annotations

import dataclasses

from torch_debugger.checks.judge import Judge
from torch_debugger.records import CrashFact, Finding, GradientCheckFact, Place

BACKWARD = Place("train.py", 16, None, "def backward(ctx, grad_output):")


def fact(outcome: str, **details: object) -> GradientCheckFact:
    return GradientCheckFact("Cube", outcome, BACKWARD, 1, "x [4, 5]", **details)


def judged(record: GradientCheckFact) -> list[Finding]:
    judge = Judge()
    judge.see(record)
    return judge.findings


WRONG = fact(
    "wrong",
    input="x",
    element="x[1, 2]",
    output_element="output[1, 2]",
    analytical=1.0,
    numerical=3.0,
    relative_error=0.6667,
    pattern="missing-factor",
    words="missing factor: backward gives 0.333333 times the right gradient of `x`, everywhere.",
    advice="Multiply what `backward` returns for `x` by 3.",
)


def test_a_wrong_gradient_is_an_error_with_both_values() -> None:
    (finding,) = judged(WRONG)
    assert (finding.check, finding.name, finding.severity) == ("TD610", "wrong-custom-gradient", "error")
    assert finding.message == (
        "The backward of `Cube` gives a wrong gradient for `x`: d output[1, 2] / d x[1, 2] is 1 by backward "
        "and 3 "
        "by differences of the forward (relative error 0.67)."
    )
    assert finding.why.startswith("Missing factor: backward gives 0.333333 times")
    assert finding.fix == "Multiply what `backward` returns for `x` by 3."
    assert finding.where == BACKWARD
    assert finding.evidence["by_differences"] == 3.0


def test_a_fault_without_an_element() -> None:
    (finding,) = judged(fact("wrong", pattern="wrong-count", words="backward returns 1 gradient.", advice="Return 2."))
    assert finding.message == "`Cube`: its backward does not compute the gradient of its forward."
    assert finding.why == "Backward returns 1 gradient."


def test_what_is_done_on_purpose_gets_a_note() -> None:
    (finding,) = judged(fact("deliberate", input="x", pattern="straight-through", words="constant.", advice="Fine."))
    assert finding.severity == "note"
    assert finding.message == "The backward of `Cube` gives `x` another gradient than its forward has."


def test_silence_about_the_others() -> None:
    assert judged(fact("right")) == []
    assert judged(fact("unchecked", words="it took too long")) == []


def test_one_that_ended_the_script_explains_the_crash() -> None:
    judge = Judge()
    judge.see(dataclasses.replace(WRONG, ended=True))
    assert judge.findings == []
    judge.see(CrashFact("GradcheckError", "Jacobian mismatch", (), Place("train.py", 30), None, "", 1))
    assert [finding.name for finding in judge.findings] == ["wrong-custom-gradient"]
