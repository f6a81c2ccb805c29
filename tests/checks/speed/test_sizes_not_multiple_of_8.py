"""sizes-not-multiple-of-8: half-precision products with an odd size of the model's own."""

from __future__ import annotations

import pytest

from tests.checks.speed.profiles import product, profile, settings
from tests.fakes import judged, model
from torch_debugger.checks.speed.tensor_cores import SizesNotMultipleOf8
from torch_debugger.records import Finding, ProfileFact

NAME = "sizes-not-multiple-of-8"
GPT = model({"net": "Net", "net.head": "Linear"}, {"net.head.weight": (50257, 768), "net.small.weight": (10, 768)})
ODD = product(0.02, "bfloat16", "aten::mm", "[[8192, 768], [768, 50257]]")


def found(fact: ProfileFact) -> list[Finding]:
    return judged([settings(), GPT, fact], NAME)


def test_the_layer_and_a_better_size_are_told() -> None:
    [finding] = found(profile(products=(ODD,)))
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
    [finding] = judged([settings(), tied, profile(products=(ODD,))], NAME)
    assert finding.where.module == "net.head"


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
def test_each_condition_is_needed(given: object) -> None:
    assert found(profile(products=(given,))) == []
