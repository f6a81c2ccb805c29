from __future__ import annotations

import math
from collections.abc import Iterable

import numpy
import pytest

from tests.fakes import findings_of, judged, loss_site, model, only, place, scalars
from torch_debugger.records import Edit, Finding, Scalars, ScalerMisuse, Table, TensorRows

check = findings_of("scale-collapse")


def steps(left_out: Iterable[bool], scale: float = 65536.0, loss: float = 0.7) -> list[Scalars]:
    """A run whose scale is halved with every step left out."""
    found = []
    for step, skipped in enumerate(left_out, 1):
        values = {"scaler/scale": scale, "time/step_s": 0.1} | ({"scaler/skipped": 1.0} if skipped else {})
        found.append(scalars(step, values, loss=loss))
        scale *= 0.5 if skipped else 1.0
    return found


def rows(step: int, kind: str, values: dict[str, tuple[float, float]]) -> TensorRows:
    table = Table(kind, "net", tuple(values), ("mean", "max"), ("float16",) * len(values))
    return TensorRows(step, table, numpy.array(list(values.values()), dtype=numpy.float32))


def test_a_scale_that_falls_below_one_is_told_with_the_module_it_began_in() -> None:
    gradients = rows(
        3, "output_gradient", {"net.out": (0.0, 1.0), "net.mid": (math.nan, math.nan), "net.in": (math.nan, 0.0)}
    )
    (finding,) = check(model({"net": "Net", "net.mid": "Linear"}), gradients, *steps([True] * 30))
    assert finding.message == (
        "GradScaler left out 18 of the last 18 steps; its scale fell from 65536 to 0.5. The first gradient of "
        "the output that is not finite is that of `net.mid` (float16)."
    )
    assert (finding.severity, finding.first_step, finding.where.line) == ("error", 1, 11)
    assert finding.fix.startswith("Look at what is computed from `net.mid`")


def test_an_overflow_of_the_forward_pass_comes_first() -> None:
    seen = [
        rows(2, "activation", {"net.fine": (0.0, -math.inf), "net.large": (math.nan, math.inf)}),
        rows(2, "output_gradient", {"net.out": (math.nan, math.nan)}),
    ]
    (finding,) = check(*seen, *steps([True] * 30))
    assert "The first output that is not finite is that of `net.large` (float16)" in finding.message
    assert finding.fix.startswith("float16 ends at 65504: run `net.large` in float32")


def test_less_is_known_without_a_deep_look_or_where_some_steps_were_made() -> None:
    # without a deep look the backward line is all there is
    (finding,) = check(loss_site(), *steps([True] * 30))
    assert finding.where.line == 40
    assert "detect_anomaly" in finding.fix
    # most steps left out are enough where the scale was set high
    assert only(check(*steps([True, True, True, False] * 12, scale=2.0**60))).confidence == 0.85


def test_finding_the_scale_and_a_loss_that_is_not_finite_are_silent() -> None:
    assert not check(*steps([True] * 12 + [False] * 80))
    assert not check(*steps(([False] * 19 + [True]) * 10, scale=2.0**60))
    assert not check(*steps([True, False] * 40, scale=2.0**60)), "growth_interval=1"
    assert not check(*steps([True] * 17 + [False] * 40)), "a scale below 1 that works"
    assert not check(*steps([True] * 30, loss=math.nan)), "a loss that is not finite speaks for itself"


def misuse(fault: str, step: int = 1, scale: float = 65536.0, **others: object) -> ScalerMisuse:
    code = {"clipped": "clip_grad_norm_(net.parameters(), 1.0)", "stepped": "    opt.step()"}.get(
        fault, "loss.backward()"
    )
    facts: dict[str, object] = {"optimizer": "opt", "place": place(31, code=code)}
    return ScalerMisuse(step=step, fault=fault, scale=scale, **{**facts, **others})  # type: ignore[arg-type]


def clipped(limit: float = 1.0, norm: float = 98304.0, scale: float = 65536.0) -> list[Finding]:
    return judged([misuse("clipped", scale=scale, limit=limit, norm=norm)], "clip-before-unscale")


def test_a_clip_of_scaled_gradients() -> None:
    (finding,) = clipped()
    assert finding.message == (
        "The gradients were clipped to 1 at train.py:31 while they were still multiplied by 65536: their norm "
        "was 9.83e+04, which is 1.5 without the scale."
    )
    assert finding.why.endswith("what is left of a gradient is at most 1.5e-05, whatever it was before.")
    assert finding.fix == "Call `scaler.unscale_(opt)` before the line that clips."
    assert only(clipped(norm=math.nan)).message.endswith("multiplied by 65536.")


@pytest.mark.parametrize(
    ("limit", "norm", "scale"),
    [
        (65536.0, 98304.0, 65536.0),  # the limit was scaled too
        (math.nan, 98304.0, 65536.0),  # nobody knows
        (1.0, 0.5, 65536.0),  # nothing was clipped
        (1.0, 20.0, 2.0),  # the scale is as good as none
    ],
)
def test_clips_that_do_no_harm(limit: float, norm: float, scale: float) -> None:
    assert not clipped(limit, norm, scale)


def test_an_optimizer_that_steps_by_itself() -> None:
    (finding,) = judged([misuse("stepped", step) for step in (1, 2, 3)], "scaled-gradients-in-step")
    assert finding.message == (
        "`opt.step()` at train.py:31 uses gradients that are still multiplied by the scale of a GradScaler, 65536."
    )
    assert (finding.first_step, finding.last_step) == (1, 3)
    assert finding.edit == Edit("train.py", 31, "    opt.step()", "    scaler.step(opt)\n    scaler.update()")
    assert not judged([misuse("stepped", scale=1.0)], "scaled-gradients-in-step")


def test_a_loss_that_was_not_scaled() -> None:
    (finding,) = judged([misuse("not scaled", step) for step in (1, 2)], "loss-not-scaled")
    assert finding.message == (
        "The loss whose backward pass begins at train.py:31 was not scaled, but `scaler.step` divides its "
        "gradients by 65536."
    )
    assert finding.fix == "Begin the backward pass at the scaled loss: `scaler.scale(loss).backward()`."
    assert not judged([misuse("not scaled")], "loss-not-scaled"), "once may be an odd step"


def test_each_misuse_has_one_check() -> None:
    for fault, name in (("clipped", "clip-before-unscale"), ("stepped", "scaled-gradients-in-step")):
        records = [misuse(fault, step, limit=1.0, norm=9e4, scaler="amp") for step in (1, 2)]
        (finding,) = judged(records)
        assert finding.name == name
        assert "`amp." in finding.fix
