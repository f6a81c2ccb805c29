"""tf32-off: large float32 products that tensor cores could do."""

from __future__ import annotations

import pytest

from tests.checks.speed.profiles import product, profile, settings
from tests.fakes import judged
from torch_debugger.checks.speed.tensor_cores import Tf32Off
from torch_debugger.records import Finding, ProfileFact

NAME = "tf32-off"


def found(fact: ProfileFact, **switches: object) -> list[Finding]:
    return judged([settings(**{"tf32_matmul": False, **switches}), fact], NAME)


def test_the_share_and_the_switch_are_told() -> None:
    [finding] = found(profile(products=(product(0.03), product(0.0075, line=50))))
    assert finding.severity == "warning" and finding.where.line == 35
    assert finding.message == (
        "7.5 ms of the 10 ms of a step are matrix products in full float32: TF32 is off, so the tensor cores "
        "of the NVIDIA H200 stand still."
    )
    assert finding.fix.startswith('Write `torch.set_float32_matmul_precision("high")` at the start of the script.')
    assert finding.evidence["expected_gain"] == pytest.approx(0.75 * Tf32Off.saved)


def test_convolutions_have_a_switch_of_their_own() -> None:
    convolution = product(0.03, op="aten::cudnn_convolution")
    assert found(profile(products=(convolution,))) == []
    [finding] = found(profile(products=(convolution,)), tf32_cudnn=False)
    assert "`torch.backends.cudnn.allow_tf32 = True`" in finding.fix and "convolutions in full" in finding.message


@pytest.mark.parametrize(
    ("given", "switches"),
    [
        (product(0.03), {"tf32_matmul": True}),
        (product(0.03), {"capability": (7, 5)}),
        (product(0.03, dtype="bfloat16"), {}),
        (product(0.03, calls=1001), {}),  # 29.97 us each
        (product(0.003), {}),  # saves under 5 %
    ],
)
def test_each_condition_is_needed(given: object, switches: dict[str, object]) -> None:
    assert found(profile(products=(given,)), **switches) == []


def test_nothing_is_said_before_the_switches_are_known() -> None:
    assert judged([profile(products=(product(0.03),))], NAME) == []
