"""no-autocast: float32 products that decide how long a step takes, with TF32 on already."""

from __future__ import annotations

import pytest

from tests.checks.speed.profiles import product, profile, settings
from tests.fakes import judged
from torch_debugger.records import Finding, ProfileFact

NAME = "no-autocast"


def found(fact: ProfileFact, **switches: object) -> list[Finding]:
    return judged([settings(**switches), fact], NAME)


def test_it_is_a_note_with_the_share() -> None:
    [finding] = found(profile(products=(product(0.03), product(0.01, op="aten::cudnn_convolution"))))
    assert finding.severity == "note" and finding.where.line == 35
    assert finding.message == (
        "8 ms of the 10 ms of a step are matrix products and convolutions in float32, and nothing runs under autocast."
    )
    assert 'torch.autocast("cuda", dtype=torch.bfloat16)' in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.36)


@pytest.mark.parametrize(
    ("products", "switches"),
    [
        ((product(0.04),), {"tf32_matmul": False}),  # that comes first
        ((product(0.04),), {"capability": (7, 5)}),
        ((product(0.016),), {}),  # under a third of the step
        ((product(0.03), product(0.004, dtype="float16")), {}),  # autocast is at work
        ((product(0.04, calls=2000),), {}),  # small products
    ],
)
def test_each_condition_is_needed(products: tuple[object, ...], switches: dict[str, object]) -> None:
    assert found(profile(products=products), **switches) == []
