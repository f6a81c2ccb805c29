"""TD610 as its records tell it: the sentence, the severity, and silence for what is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy
import pytest

from tests.fakes import findings_of, loss_site, losses, scalars
from torch_debugger.checks.judge import Judge
from torch_debugger.records import CrashFact, Finding, GradientCheckFact, Place, Record, Table, TensorRows

COLUMNS = ("mean", "std", "min", "max", "zeros", "subnormal", "faint")


def look(step: int, shares: Mapping[str, tuple[float, float]], dtype: str = "float16") -> TensorRows:
    """zeros and faint, both as shares of all values, by module from the loss backward."""
    table = Table("output_gradient", "net", tuple(shares), COLUMNS, (dtype,) * len(shares))
    values = [[0.0, 1e-7, -1e-7, 1e-7, zeros, 1 - zeros, faint] for zeros, faint in shares.values()]
    return TensorRows(step, table, numpy.array(values, dtype=numpy.float32))


LOST = {"net.head": (0.6, 0.3), "net.body": (0.98, 0.02)}
FINE = {"net.head": (0.5, 0.02), "net.body": (0.7, 0.05)}
check = findings_of("gradient-underflow")


def run(shares: Mapping[str, tuple[float, float]] = LOST, curve: Iterable[float] = (1.0,) * 40) -> list[Record]:
    return [loss_site(), *(look(step, shares) for step in (1, 2, 3)), *losses(curve)]


def test_lost_gradients_are_told_with_their_shares_and_the_way_out() -> None:
    (finding,) = check(*run())
    assert finding.message == (
        "float16 rounds gradients to zero: of the gradient that reaches `net.head`, 60 % is zero and 75 % of "
        "the rest is at most 1.2e-7. 2 of 2 modules that compute in float16 lose theirs so."
    )
    assert (finding.severity, finding.confidence, finding.where.line) == ("error", 0.9, 40)
    assert "`scaler.scale(loss).backward()` at train.py:40" in finding.fix


def test_a_scaler_changes_the_fix_and_zeros_alone_the_confidence() -> None:
    # with a scaler its scale is what to raise
    (finding,) = check(scalars(1, {"scaler/scale": 2.0}), *run())
    assert finding.fix.startswith("Let GradScaler begin at a larger scale than 2: leave out `init_scale`")
    # nothing but zeros is less sure
    (finding,) = check(*run({"net.head": (1.0, 0.0), "net.body": (1.0, 0.0)}))
    assert "all of the gradient that reaches `net.head` is zero" in finding.message
    assert finding.confidence == 0.75


@pytest.mark.parametrize(
    "records",
    [
        run(FINE),
        run({"net.head": (0.95, 0.0), "net.body": (0.99, 0.0)}),  # ReLU, dropout and masks make zeros
        run(LOST | {"net.a": (0.1, 0.0), "net.b": (0.1, 0.0), "net.c": (0.1, 0.0)}),
        run(curve=[1.0 / (1 + step) for step in range(40)]),  # it learns all the same
        run(curve=[0.0] * 40),  # nothing is left to learn
        run(curve=[1.0] * 4),  # too early to tell
        [*run(curve=[1.0] * 10), look(11, FINE), *losses([1.0] * 30, first_step=12)],
        [loss_site(), *(look(step, LOST, "bfloat16") for step in (1, 2, 3)), *losses([1.0] * 40)],
    ],
)
def test_healthy_gradients_are_silent(records: list[Record]) -> None:
    assert not check(*records)


BACKWARD = Place("train.py", 16, None, "def backward(ctx, grad_output):")


def fact(outcome: str, **details: object) -> GradientCheckFact:
    return GradientCheckFact("Cube", outcome, BACKWARD, 1, "x [4, 5]", **details)


def judged_alone(record: GradientCheckFact) -> list[Finding]:
    judge = Judge()
    judge.see(record)
    return judge.findings


WRONG = fact(
    "wrong", input="x", element="x[1, 2]", output_element="output[1, 2]", analytical=1.0, numerical=3.0,
    relative_error=0.6667, pattern="missing-factor",
    words="missing factor: backward gives 0.333333 times the right gradient of `x`, everywhere.",
    advice="Multiply what `backward` returns for `x` by 3.",
)  # fmt: skip


def test_a_wrong_gradient_is_an_error_with_both_values() -> None:
    (finding,) = judged_alone(WRONG)
    assert (finding.check, finding.name, finding.severity) == ("TD610", "wrong-custom-gradient", "error")
    assert finding.message == (
        "The backward of `Cube` gives a wrong gradient for `x`: d output[1, 2] / d x[1, 2] is 1 by backward and 3 by "
        "differences of the forward (relative error 0.67)."
    )
    assert finding.why.startswith("Missing factor: backward gives 0.333333 times")
    assert finding.fix == "Multiply what `backward` returns for `x` by 3."
    assert finding.where == BACKWARD
    assert finding.evidence["by_differences"] == 3.0


def test_a_fault_without_an_element() -> None:
    (finding,) = judged_alone(
        fact("wrong", pattern="wrong-count", words="backward returns 1 gradient.", advice="Return 2.")
    )
    assert finding.message == "`Cube`: its backward does not compute the gradient of its forward."
    assert finding.why == "Backward returns 1 gradient."


def test_what_is_done_on_purpose_gets_a_note() -> None:
    (finding,) = judged_alone(
        fact("deliberate", input="x", pattern="straight-through", words="constant.", advice="Fine.")
    )
    assert finding.severity == "note"
    assert finding.message == "The backward of `Cube` gives `x` another gradient than its forward has."


def test_silence_about_the_others() -> None:
    assert judged_alone(fact("right")) == []
    assert judged_alone(fact("unchecked", words="it took too long")) == []


def test_one_that_ended_the_script_explains_the_crash() -> None:
    judge = Judge()
    judge.see(dataclasses.replace(WRONG, ended=True))
    assert judge.findings == []
    judge.see(CrashFact("GradcheckError", "Jacobian mismatch", (), Place("train.py", 30), None, "", 1))
    assert [finding.name for finding in judge.findings] == ["wrong-custom-gradient"]
