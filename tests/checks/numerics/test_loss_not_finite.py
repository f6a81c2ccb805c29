"""When a NaN or Inf is reported, how sure the check is, and where it points. The words have their own tests."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tests.fakes import judged, loss_site, losses, place, scalars
from torch_debugger.records import Edit, Finding, NonFinite, Operand, Origin, Record
from torch_debugger.records.codec import from_plain, to_plain

P = Operand("p", "float32", (64, 10), low=0.0, high=0.9, zeros=12, limit=3.4e38, elements=640)
LOG = Origin("forward", "net.head", "log", place(31, code="return torch.log(p)"), (P,), made="-inf")
SLOPE = dataclasses.replace(LOG, phase="backward", op="sqrt", place=place(31, code="return torch.sqrt(p)"))


def nonfinite(step: int = 12, what: str = "loss", origin: Origin | None = LOG, **others: object) -> NonFinite:
    site = place(40, code="loss.backward()")
    return NonFinite(step, what, "nan", site, origin, **{"how": "step", **others})  # type: ignore[arg-type]


def check(*records: Record) -> list[Finding]:
    return judged(records, "loss-not-finite")


def test_the_op_its_line_its_operands_and_the_edit() -> None:
    (finding,) = check(nonfinite())
    assert (finding.severity, finding.confidence) == ("error", 0.97)
    assert finding.message == (
        "The loss became nan at step 12: `torch.log(p)` in `net.head` at train.py:31 made the first -inf, "
        "because 12 of 640 values of `p` are 0."
    )
    assert finding.why == "log(0) is -inf."
    assert finding.fix == (
        "Write `torch.log(p.clamp_min(1e-8))` instead of `torch.log(p)`. If `p` comes out of a softmax or a "
        "sigmoid, use `F.log_softmax` or `F.logsigmoid` instead."
    )
    assert finding.edit == Edit("train.py", 31, "return torch.log(p)", "return torch.log(p.clamp_min(1e-8))")
    assert (finding.where.module, finding.where.line) == ("net.head", 31)
    assert finding.evidence == {
        "what": "loss", "value": "nan", "phase": "forward", "op": "log", "how": "step",
        "operands": "p (float32 [64, 10], from 0 to 0.9, 12 zeros)",
    }  # fmt: skip


def test_the_record_survives_the_log() -> None:
    fact = nonfinite(update={"lr": math.inf}, parameters=("net.fc.weight",))
    restored = from_plain("NonFinite", to_plain(fact))
    assert restored is not None and check(restored)[0].message == check(fact)[0].message


def test_less_evidence_means_less_confidence() -> None:
    by_graph = nonfinite(how="graph")
    module_only = nonfinite(origin=Origin("forward", "net.head", None))
    nothing = nonfinite(origin=None, how="")
    sure = [check(fact)[0].confidence for fact in (nonfinite(), by_graph, module_only, nothing)]
    assert sure == [0.97, 0.9, 0.85, 0.7]


def test_what_was_seen_late_is_dated_but_not_traced() -> None:
    (finding,) = check(nonfinite(how="late", origin=None))
    assert finding.confidence == 0.7
    assert finding.message == "The loss became nan at step 12, seen some steps later."
    assert "--on-nan stop" in finding.fix and finding.where.line == 40


def test_a_gradient_made_in_backward_is_told_at_once_without_a_scaler() -> None:
    (finding,) = check(*losses([1.0] * 12), nonfinite(what="gradient", origin=SLOPE), *losses([1.0] * 30, 13))
    assert finding.severity == "error"
    assert finding.message == (
        "A gradient became nan at step 12: the backward of `torch.sqrt(p)` in `net.head` at train.py:31 made "
        "the first -inf, because 12 of 640 values of `p` are 0."
    )


@pytest.mark.parametrize(
    "gradient",
    [
        nonfinite(what="gradient", origin=SLOPE, scaled=True),
        nonfinite(what="gradient", origin=None, how="late"),
        nonfinite(what="gradient", origin=SLOPE, how="graph"),
        nonfinite(what="gradient", origin=SLOPE, scaled=True, policy="skip-step"),
    ],
    ids=["scaled", "late", "read off the graph", "scaled and skipped"],
)
def test_any_other_gradient_counts_once_the_loss_follows(gradient: NonFinite) -> None:
    before = losses([1.0] * 12)
    (finding,) = check(*before, gradient, scalars(13, loss=math.nan))
    assert finding.severity == "error" and finding.first_step == 12
    assert not check(*before, gradient, *losses([1.0] * 30, 13)), "GradScaler skips such steps by design"


def test_a_gradient_acted_upon_is_told_although_no_loss_can_follow() -> None:
    gradient = nonfinite(what="gradient", origin=None, how="", policy="skip-step", parameters=("net.fc.weight",))
    (finding,) = check(*losses([1.0] * 12), gradient, *losses([1.0] * 30, 13))
    assert finding.severity == "error"
    assert finding.message == (
        "The gradient of `net.fc.weight` became nan at step 12; the update of that step was skipped."
    )


def test_a_bad_gradient_in_the_last_step_is_a_warning() -> None:
    (finding,) = check(*losses([1.0] * 12), nonfinite(what="gradient", origin=SLOPE, scaled=True))
    assert (finding.severity, finding.confidence) == ("warning", 0.6)


def test_a_loss_lost_long_after_a_skipped_gradient_has_its_own_cause() -> None:
    records = (*losses([1.0] * 2), nonfinite(step=2, what="gradient", scaled=True), *losses([1.0] * 50, 3))
    (finding,) = check(*records, *losses([math.nan] * 9, 53))
    assert finding.first_step == 53 and finding.confidence == 0.7
    (finding,) = check(*records, scalars(53, loss=math.nan), nonfinite(step=53))
    assert finding.first_step == 53 and finding.confidence == 0.97


def test_the_gradient_stays_the_cause_of_the_loss_it_spoils() -> None:
    weights = Origin("weights", None, None)
    gradient, loss = nonfinite(what="gradient", origin=SLOPE), nonfinite(step=13, origin=weights)
    (finding,) = check(*losses([1.0] * 12), gradient, scalars(13, loss=math.nan), loss)
    assert finding.first_step == 12 and "torch.sqrt(p)" in finding.message


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
