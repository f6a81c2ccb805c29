from __future__ import annotations

import pytest

from tests.checks.speed.profiles import product, profile, settings
from tests.fakes import findings_of, judged, model, only
from torch_debugger.checks.speed.tensor_cores import SizesNotMultipleOf8, Tf32Off
from torch_debugger.records import Finding, ProfileFact

CONVS = "convs-not-channels-last"
CONVOLUTION = product(0.03, "bfloat16", "aten::cudnn_convolution")
of_convolutions = findings_of(CONVS, settings())


def test_the_time_and_both_edits_are_told() -> None:
    [finding] = of_convolutions(profile(products=(CONVOLUTION,), layout_s=0.0125))
    assert finding.severity == "warning" and finding.where.line == 35
    assert finding.message == (
        "2.5 ms of the 10 ms of a step the device only puts the tensors of convolutions into another order "
        "and back (nchwToNhwc)."
    )
    assert "model.to(memory_format=torch.channels_last)" in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.375)


@pytest.mark.parametrize("others", [{"layout_s": 0.0016}, {"layout_s": 0.0125, "device_busy_s": 0.024}, {}])
def test_each_condition_of_channels_last_is_needed(others: dict[str, float]) -> None:
    assert of_convolutions(profile(products=(CONVOLUTION,), **others)) == []


AUTOCAST = "no-autocast"


def of_autocast(fact: ProfileFact, **switches: object) -> list[Finding]:
    return judged([settings(**switches), fact], AUTOCAST)


def test_it_is_a_note_with_the_share() -> None:
    [finding] = of_autocast(profile(products=(product(0.03), product(0.01, op="aten::cudnn_convolution"))))
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
def test_each_condition_of_autocast_is_needed(products: tuple[object, ...], switches: dict[str, object]) -> None:
    assert of_autocast(profile(products=products), **switches) == []


SIZES = "sizes-not-multiple-of-8"
GPT = model({"net": "Net", "net.head": "Linear"}, {"net.head.weight": (50257, 768), "net.small.weight": (10, 768)})
ODD = product(0.02, "bfloat16", "aten::mm", "[[8192, 768], [768, 50257]]")
of_sizes = findings_of(SIZES, settings(), GPT)


def test_the_layer_and_a_better_size_are_told() -> None:
    [finding] = of_sizes(profile(products=(ODD,)))
    assert finding.message == (
        "The size 50257 of `net.head.weight` is no multiple of 8: its products in bfloat16 take 4 ms of the "
        "10 ms of a step."
    )
    assert finding.fix.startswith("Make it 50304 instead of 50257")
    assert finding.where.module == "net.head"
    assert finding.evidence["expected_gain"] == pytest.approx(0.4 * SizesNotMultipleOf8.saved_if_odd)


def test_a_table_of_embeddings_is_not_what_is_multiplied() -> None:
    modules = {"net": "Net", "net.embed": "Embedding", "net.head": "Linear"}
    tied = model(modules, {"net.embed.weight": (50257, 768), "net.head.weight": (50257, 768)})
    assert only(judged([settings(), tied, profile(products=(ODD,))], SIZES)).where.module == "net.head"


@pytest.mark.parametrize(
    "given",
    [
        product(0.02, "float32", "aten::mm", "[[8192, 768], [768, 50257]]"),
        product(0.02, "bfloat16", "aten::mm", "[[8191, 768], [768, 50304]]"),  # the batch
        product(0.02, "bfloat16", "aten::mm", "[[8192, 768], [768, 10]]"),  # too small to matter
        product(0.02, "bfloat16", "aten::mm", "[[8192, 768], [768, 50257]]", calls=1200),
        product(0.02, "bfloat16", "aten::cudnn_convolution", "[[8, 50257, 9, 9], [768, 50257, 3, 3]]"),
        product(0.003, "bfloat16", "aten::mm", "[[8192, 768], [768, 50257]]"),
        product(0.02, "bfloat16", "aten::mm", "not shapes"),
    ],
)
def test_each_condition_of_odd_sizes_is_needed(given: object) -> None:
    assert of_sizes(profile(products=(given,))) == []


TF32 = "tf32-off"


def of_tf32(fact: ProfileFact, **switches: object) -> list[Finding]:
    return judged([settings(**{"tf32_matmul": False, **switches}), fact], TF32)


def test_the_share_and_the_switch_are_told() -> None:
    [finding] = of_tf32(profile(products=(product(0.03), product(0.0075, line=50))))
    assert finding.severity == "warning" and finding.where.line == 35
    assert finding.message == (
        "7.5 ms of the 10 ms of a step are matrix products in full float32: TF32 is off, so the tensor cores "
        "of the NVIDIA H200 stand still."
    )
    assert finding.fix.startswith('Write `torch.set_float32_matmul_precision("high")` at the start of the script.')
    assert finding.evidence["expected_gain"] == pytest.approx(0.75 * Tf32Off.saved)


def test_convolutions_have_a_switch_of_their_own() -> None:
    convolution = product(0.03, op="aten::cudnn_convolution")
    assert of_tf32(profile(products=(convolution,))) == []
    [finding] = of_tf32(profile(products=(convolution,)), tf32_cudnn=False)
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
def test_each_condition_of_tf32_is_needed(given: object, switches: dict[str, object]) -> None:
    assert of_tf32(profile(products=(given,)), **switches) == []


def test_nothing_is_said_before_the_switches_are_known() -> None:
    assert judged([profile(products=(product(0.03),))], TF32) == []
