"""convs-not-channels-last: the time in which cuDNN only turns tensors round."""

from __future__ import annotations

import pytest

from tests.checks.speed.profiles import product, profile, settings
from tests.fakes import judged
from torch_debugger.records import Finding, ProfileFact

NAME = "convs-not-channels-last"
CONVOLUTION = product(0.03, "bfloat16", "aten::cudnn_convolution")


def found(fact: ProfileFact) -> list[Finding]:
    return judged([settings(), fact], NAME)


def test_the_time_and_both_edits_are_told() -> None:
    [finding] = found(profile(products=(CONVOLUTION,), layout_s=0.0125))
    assert finding.severity == "warning" and finding.where.line == 35
    assert finding.message == (
        "2.5 ms of the 10 ms of a step the device only puts the tensors of convolutions into another order "
        "and back (nchwToNhwc)."
    )
    assert "model.to(memory_format=torch.channels_last)" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.375)


@pytest.mark.parametrize("others", [{"layout_s": 0.0016}, {"layout_s": 0.0125, "device_busy_s": 0.024}, {}])
def test_each_condition_is_needed(others: dict[str, float]) -> None:
    assert found(profile(products=(CONVOLUTION,), **others)) == []
