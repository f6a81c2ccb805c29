"""Gradients clipped, used or divided while a GradScaler's scale was, or was not, in them."""

from __future__ import annotations

import math

import pytest

from tests.fakes import judged, place
from torch_debugger.records import Edit, Finding, ScalerMisuse


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
    (unknown,) = clipped(norm=math.nan)
    assert unknown.message.endswith("multiplied by 65536.")


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
