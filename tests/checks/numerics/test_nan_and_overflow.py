from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterable

import numpy
import pytest

from tests.fakes import findings_of, judged, loss_site, losses, model, only, place, scalars
from torch_debugger.checks.trends import falling_share, find_growth, theil_sen
from torch_debugger.records import Edit, Finding, NonFinite, NonFiniteOutput, Operand, Origin, Record, Table, TensorRows
from torch_debugger.records.codec import from_plain, to_plain

P = Operand("p", "float32", (64, 10), low=0.0, high=0.9, zeros=12, limit=3.4e38, elements=640)
LOSS_LOG = Origin("forward", "net.head", "log", place(31, code="return torch.log(p)"), (P,), made="-inf")
SLOPE = dataclasses.replace(LOSS_LOG, phase="backward", op="sqrt", place=place(31, code="return torch.sqrt(p)"))


def nonfinite(step: int = 12, what: str = "loss", origin: Origin | None = LOSS_LOG, **others: object) -> NonFinite:
    site = place(40, code="loss.backward()")
    return NonFinite(step, what, "nan", site, origin, **{"how": "step", **others})  # type: ignore[arg-type]


of_loss = findings_of("loss-not-finite")


def test_the_op_its_line_its_operands_and_the_edit() -> None:
    (finding,) = of_loss(nonfinite())
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


def test_a_loss_survives_the_log() -> None:
    fact = nonfinite(update={"lr": math.inf}, parameters=("net.fc.weight",))
    restored = from_plain("NonFinite", to_plain(fact))
    assert restored is not None and of_loss(restored)[0].message == of_loss(fact)[0].message


def test_less_evidence_means_less_confidence() -> None:
    by_graph = nonfinite(how="graph")
    module_only = nonfinite(origin=Origin("forward", "net.head", None))
    nothing = nonfinite(origin=None, how="")
    sure = [of_loss(fact)[0].confidence for fact in (nonfinite(), by_graph, module_only, nothing)]
    assert sure == [0.97, 0.9, 0.85, 0.7]


def test_what_was_seen_late_is_dated_but_not_traced() -> None:
    (finding,) = of_loss(nonfinite(how="late", origin=None))
    assert finding.confidence == 0.7
    assert finding.message == "The loss became nan at step 12, seen some steps later."
    assert "--on-nan stop" in finding.fix and finding.where.line == 40


def test_a_gradient_made_in_backward_is_told_at_once_without_a_scaler() -> None:
    (finding,) = of_loss(*losses([1.0] * 12), nonfinite(what="gradient", origin=SLOPE), *losses([1.0] * 30, 13))
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
    (finding,) = of_loss(*before, gradient, scalars(13, loss=math.nan))
    assert finding.severity == "error" and finding.first_step == 12
    assert not of_loss(*before, gradient, *losses([1.0] * 30, 13)), "GradScaler skips such steps by design"


def test_a_gradient_acted_upon_is_told_although_no_loss_can_follow() -> None:
    gradient = nonfinite(what="gradient", origin=None, how="", policy="skip-step", parameters=("net.fc.weight",))
    (finding,) = of_loss(*losses([1.0] * 12), gradient, *losses([1.0] * 30, 13))
    assert finding.severity == "error"
    assert finding.message == (
        "The gradient of `net.fc.weight` became nan at step 12; the update of that step was skipped."
    )


def test_a_bad_gradient_in_the_last_step_is_a_warning() -> None:
    (finding,) = of_loss(*losses([1.0] * 12), nonfinite(what="gradient", origin=SLOPE, scaled=True))
    assert (finding.severity, finding.confidence) == ("warning", 0.6)


def test_a_loss_lost_long_after_a_skipped_gradient_has_its_own_cause() -> None:
    records = (*losses([1.0] * 2), nonfinite(step=2, what="gradient", scaled=True), *losses([1.0] * 50, 3))
    (finding,) = of_loss(*records, *losses([math.nan] * 9, 53))
    assert finding.first_step == 53 and finding.confidence == 0.7
    (finding,) = of_loss(*records, scalars(53, loss=math.nan), nonfinite(step=53))
    assert finding.first_step == 53 and finding.confidence == 0.97


def test_the_gradient_stays_the_cause_of_the_loss_it_spoils() -> None:
    weights = Origin("weights", None, None)
    gradient, loss = nonfinite(what="gradient", origin=SLOPE), nonfinite(step=13, origin=weights)
    (finding,) = of_loss(*losses([1.0] * 12), gradient, scalars(13, loss=math.nan), loss)
    assert finding.first_step == 12 and "torch.sqrt(p)" in finding.message


def test_a_bare_nan_is_reported_after_some_steps_or_at_the_end() -> None:
    known = [loss_site(), *losses([1.0, 0.5])]
    for steps in (1, 9):
        (finding,) = of_loss(*known, *losses([math.inf] * steps, first_step=3))
        assert finding.message == "The loss became inf at step 3; the last finite loss was 0.5 at step 2."
        assert finding.where.line == 40


def test_an_explanation_may_come_late_and_finite_losses_are_silent() -> None:
    # the explanation may come after the bare fact
    assert only(of_loss(*losses([1.0, math.nan, math.nan]), nonfinite(step=2))).evidence["op"] == "log"
    assert not of_loss(*losses([5.0, 1e30, -3.0, 0.0]), scalars(5, {"eval/loss": math.nan})), "finite losses"


OUTPUT_LOG = Origin("forward", "net.head", "log", place(31, code="return torch.log(p)"), (P,), made="nan")


def output(origin: Origin | None = OUTPUT_LOG, **others: object) -> NonFiniteOutput:
    fact = NonFinite(0, "output of `net`", "nan", place(40), origin, how="model")
    known = NonFiniteOutput("net", "Net", 3, 64, 64, True, False, fact)
    return dataclasses.replace(known, **others)  # type: ignore[arg-type]


of_output = findings_of("output-not-finite")


def test_the_op_its_line_and_the_edit() -> None:
    (finding,) = of_output(output(), output())
    assert (finding.severity, finding.confidence) == ("error", 0.97)
    assert finding.message.startswith("The output of `net` became nan: `torch.log(p)` in `net.head` at train.py:31")
    assert finding.why.startswith("Seen in call 3 of `net`, in evaluation mode; 64 of 64 samples of its output have")
    assert finding.edit is not None and (finding.where.line, finding.evidence["op"]) == (31, "log")


def test_rows_that_may_be_padding_make_it_a_warning() -> None:
    (finding,) = of_output(output(bad_rows=1, everywhere=False))
    assert finding.severity == "warning" and "1 of 64 samples of its output has NaN" in finding.why


def test_weights_that_were_loaded_so() -> None:
    (finding,) = of_output(output(Origin("weights", "net.fc", None, given="net.fc.weight")))
    assert finding.message == "The output of `net` became nan: `net.fc.weight` is not finite."
    assert "loaded" in finding.why and "--on-nan" not in finding.fix


def test_seen_too_late_it_claims_no_op() -> None:
    late = output(None, bad_rows=0, rows=0, everywhere=False)
    (finding,) = of_output(dataclasses.replace(late, fact=dataclasses.replace(late.fact, how="late")))
    assert (finding.confidence, finding.evidence["op"]) == (0.7, "unknown")
    assert finding.message == "The output of `net` became nan in its call 3."


def test_an_output_survives_the_log() -> None:
    restored = from_plain("NonFiniteOutput", to_plain(output()))
    assert restored is not None and of_output(restored) == of_output(output())


STEPS = range(10, 410, 20)


def looks(
    size: Callable[[int], float], steps: Iterable[int] = STEPS, dtype: str = "float16", **others: str
) -> list[Record]:
    """One deep look at each of these steps, with a flat loss between them."""
    table = Table(others.get("kind", "activation"), "net", ("net.h.7",), ("min", "max"), (dtype,))
    records: list[Record] = [model({"net": "Net", "net.h.7": "Block"}), *losses([2.0, 2.1] * 5)]
    for step in steps:
        records.append(TensorRows(step, table, numpy.array([[-size(step), 1.0]], dtype=numpy.float32)))
        records += losses([2.0 + 0.1 * (step % 3)], first_step=step)
    return records


def ahead(records: Iterable[Record]) -> list[Finding]:
    return judged(records, "overflow-ahead")


def doubling(every: float, start: float = 64.0) -> Callable[[int], float]:
    return lambda step: start * 2.0 ** (step / every)


def test_the_overflow_is_announced_before_it_comes() -> None:
    (finding,) = ahead(looks(doubling(40.0), range(10, 330, 10)))
    assert finding.message == (
        "The output of `net.h.7` (float16) loses 1 bit of headroom every 40 steps: 4.0 bits are left at "
        "step 240, Inf around step 400."
    )
    assert (finding.severity, finding.where.line) == ("warning", 11)
    assert finding.why.startswith("float16 ends at 65,504. The largest value rose steadily from")
    assert "`nn.LayerNorm`" in finding.fix and "bfloat16" in finding.fix


def test_growth_by_an_amount_and_a_trend_under_noise_are_told() -> None:
    # growth by an amount is told so
    (finding,) = ahead(looks(lambda step: 150.0 * step))
    assert "grows by 150 a step" in finding.message
    assert finding.evidence["inf_at_step"] == pytest.approx(65504 / 150, abs=3)
    rough = random.Random(0)
    (finding,) = ahead(looks(lambda step: doubling(40.0)(step) * rough.uniform(0.95, 1.05), range(10, 380, 10)))
    assert finding.evidence["inf_at_step"] == pytest.approx(400, rel=0.15), "noise of batches does not hide a trend"


@pytest.mark.parametrize(
    "size",
    [
        lambda step: 20000.0,
        lambda step: 20000.0 * (1 - math.exp(-step / 60)),
        lambda step: 30.0 * math.log2(step + 1) ** 3,
        lambda step: 8000.0 + 3000.0 * math.sin(step / 30),
        lambda step: 65504.0,  # a mask
        lambda step: 3.0 * 2.0 ** (min(step, 200) / 25),  # a warm-up, then rest
        doubling(40.0, start=0.5),  # all that happens far from the edge
        doubling(250.0, start=3500.0),  # further ahead than can be foreseen
        lambda step: (5000.0 if step < 310 else 20000.0) + step,  # another level, as a new stage brings
        lambda step: doubling(60.0, start=200.0)(step) * (1.5 if step % 40 == 10 else 0.7),  # up and down
    ],
)
def test_healthy_sizes_are_silent(size: Callable[[int], float]) -> None:
    assert not ahead(looks(size))


def test_growth_by_which_the_loss_falls_or_that_has_overflowed_is_left_alone() -> None:
    records = looks(doubling(40.0), range(10, 330, 10))
    falling = [
        scalars(record.step, loss=5.0 / (1 + record.step)) if hasattr(record, "time") else record for record in records
    ]
    assert not ahead(falling), "growth by which the loss falls is left alone"
    # what has overflowed begins anew
    sizes = doubling(40.0)
    assert not ahead(looks(lambda step: math.inf if step % 50 == 0 else sizes(step), range(10, 330, 10)))


def test_wide_dtypes_must_have_grown_a_million_times() -> None:
    assert not ahead(looks(doubling(40.0), range(10, 330, 10), dtype="bfloat16"))
    (finding,) = ahead(looks(doubling(4.0), range(10, 330, 10), dtype="float32"))
    assert "(float32) loses 1 bit of headroom every 4 steps" in finding.message
    assert "bfloat16" not in finding.fix


def test_gradients_under_a_scaler_grow_by_design() -> None:
    rows = looks(doubling(40.0), range(10, 330, 10), kind="output_gradient")
    assert only(ahead(rows)).message.startswith("The gradient of the output of `net.h.7`")
    assert not ahead([scalars(1, {"scaler/scale": 65536.0}), *rows])


def test_light_looks_count_as_deep_ones_do() -> None:
    assert ahead(looks(doubling(40.0), range(10, 330, 10), kind="range"))


def test_a_fit_is_not_moved_by_odd_points() -> None:
    points = [(step, 3.0 * step + 7.0) for step in range(0, 100, 5)]
    points[4] = (20, 900.0)
    points[11] = (55, -300.0)
    slope, start = theil_sen(points)
    assert (slope, start) == pytest.approx((3.0, 7.0))
    assert find_growth([(step, 5.0) for step in range(9)]) is None


def test_falling_pairs_of_noise_are_about_half() -> None:
    rough = random.Random(1)
    noise = [(step, rough.random()) for step in range(400)]
    assert falling_share(noise) == pytest.approx(0.5, abs=0.1)
    assert falling_share([(step, -float(step)) for step in range(400)]) == 1.0
