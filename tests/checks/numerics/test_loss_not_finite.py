from __future__ import annotations

import math

import pytest

from tests.fakes import judged, loss_site, losses, place, scalars
from torch_debugger.records import Finding, NonFinite, Record


def nonfinite(**others: object) -> NonFinite:
    facts: dict[str, object] = {
        "step": 12,
        "what": "loss",
        "value": "nan",
        "module": "net.head",
        "phase": "forward",
        "op": "log",
        "place": place(31, code="return torch.log(x)"),
        "operands": ("input: min 0, max 3.2, zeros 12",),
        "parameters": (),
        "replayed": True,
        "site": place(40, code="loss.backward()"),
    }
    return NonFinite(**{**facts, **others})  # type: ignore[arg-type]


def check(*records: Record) -> list[Finding]:
    return judged(records, "loss-not-finite")


def test_the_operation_its_line_and_its_operands_are_named() -> None:
    (finding,) = check(nonfinite())
    assert (finding.severity, finding.confidence) == ("error", 0.97)
    assert finding.message == (
        "The loss became nan at step 12: `log` in `net.head` at train.py:31 produced the first value that is "
        "not finite, given input: min 0, max 3.2, zeros 12."
    )
    assert finding.fix.startswith("Keep the input above 0: `torch.log(x.clamp_min(1e-8))`")
    assert (finding.where.module, finding.where.line) == ("net.head", 31)


@pytest.mark.parametrize(
    ("op", "advice"),
    [
        ("log2", "Keep the input above 0"),
        ("rsqrt", "Add a small number under the root"),
        ("div_", "Keep the divisor away from 0"),
        ("exp", "Bound the exponent"),
        ("pow", "Keep the base above 0"),
        ("linalg_vector_norm", "At exactly 0 a norm has no gradient"),
        ("acos", "Keep the input inside the domain"),
        ("softmax", "A row that is -inf"),
        ("addmm", "The values grew until"),
        ("binary_cross_entropy", "Pass raw scores"),
        ("something_new", "Look at the line named here"),
    ],
)
def test_every_operation_gets_its_own_advice(op: str, advice: str) -> None:
    (finding,) = check(nonfinite(op=op))
    assert finding.fix.startswith(advice)


def test_less_evidence_means_less_confidence() -> None:
    known = check(nonfinite())[0].confidence
    module_only = check(nonfinite(op=None))[0].confidence
    nothing = check(nonfinite(op=None, module=None, phase="unknown"))[0].confidence
    assert known > module_only > nothing


def test_bad_weights_and_bad_data_are_told_apart() -> None:
    (weights,) = check(
        nonfinite(op=None, module=None, phase="weights", parameters=("net.fc.weight", "net.fc.bias"))
    )
    assert "`net.fc.weight` and 1 more parameters were not finite" in weights.message
    (data,) = check(nonfinite(op=None, module=None, phase="input"))
    assert data.fix.startswith("Clean the data")


def test_a_bad_gradient_counts_once_the_loss_follows() -> None:
    gradient = nonfinite(what="gradient", phase="backward", op="sqrt")
    before, after = losses([1.0] * 12), losses([1.0] * 30, first_step=13)
    (finding,) = check(*before, gradient, scalars(13, loss=math.nan))
    assert finding.severity == "error"
    assert finding.message.startswith("The gradient became nan at step 12: the slope of `sqrt` in `net.head`")
    assert not check(*before, gradient, *after), "GradScaler skips such steps and the training goes on"


def test_a_bad_gradient_in_the_last_step_is_a_warning() -> None:
    (finding,) = check(*losses([1.0] * 12), nonfinite(what="gradient", phase="backward"))
    assert finding.severity == "warning"


def test_a_loss_lost_long_after_a_skipped_gradient_has_its_own_cause() -> None:
    gradient = nonfinite(step=2, what="gradient")
    (finding,) = check(*losses([1.0] * 2), gradient, *losses([1.0] * 50, 3), *losses([math.nan] * 9, 53))
    assert finding.first_step == 53 and finding.confidence == 0.7


def test_a_bare_nan_is_reported_after_some_steps_or_at_the_end() -> None:
    known = [loss_site(), *losses([1.0, 0.5])]
    for steps in (1, 9):
        (finding,) = check(*known, *losses([math.inf] * steps, first_step=3))
        assert finding.message == "The loss became inf at step 3; the last finite loss was 0.5 at step 2."
        assert finding.where.line == 40


def test_the_explanation_may_come_after_the_bare_fact() -> None:
    (finding,) = check(*losses([1.0, math.nan, math.nan]), nonfinite(step=2))
    assert finding.evidence["op"] == "log"


def test_finite_losses_are_silent() -> None:
    assert not check(*losses([5.0, 1e30, -3.0, 0.0]), scalars(5, {"eval/loss": math.nan}))
