from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import judged, losses, model, place, rows
from torch_debugger.records import Finding, HandMadeWeights, ModelFact, Record

LAYERS = [f"net.{index}" for index in range(5)]
SHAPES = {f"{name}.weight": (64, 64) for name in LAYERS}
NET = dataclasses.replace(
    model({"net": "Sequential", **dict.fromkeys(LAYERS, "Linear")}, SHAPES),
    filled=place(17, code="nn.init.normal_(layer.weight, std=1.0)"),
)
FLAT, LEARNED = losses([2.1] * 40), losses([2.1 * 0.9**step for step in range(60)])


def signal(factor: float, spread: float, names: list[str] = LAYERS, step: int = 1) -> list[Record]:
    """The parameter's norm is spread * sqrt(64 outputs)."""
    stds = {name: [factor**index] for index, name in enumerate(names)}
    weights = {f"{name}.weight": [1.0, spread * 8.0, 4096.0] for name in names}
    columns = ("grad_norm", "weight_norm", "elements")
    return [rows(step, "parameter", columns, weights), rows(step, "activation", ("std",), stds)]


def check(records: list[Record], curve: list[Record] | None = None, net: ModelFact = NET) -> list[Finding]:
    return judged([net, *records, *(curve or FLAT)], "bad-init-scale")


def test_a_signal_that_grows_from_layer_to_layer() -> None:
    (finding,) = check(signal(5.0, 8.0))
    assert finding.message == (
        "Before the first update the signal grows by a factor of 5 from layer to layer, from a deviation of 1 "
        "after `net.0` to 6.2e+02 after `net.4`."
    )
    assert finding.fix.startswith("Replace `nn.init.normal_(layer.weight, std=1.0)` by `nn.init.kaiming_normal_")
    assert (finding.severity, finding.where.line) == ("error", 17)


def test_a_signal_that_fades() -> None:
    (finding,) = check(signal(0.1, 0.14))
    assert "the signal shrinks by a factor of 0.1" in finding.message


@pytest.mark.parametrize(
    ("records", "curve"),
    [
        (signal(0.41, 0.58), FLAT),
        (signal(5.0, 0.6), FLAT),
        (signal(0.1, 0.14), LEARNED),
        (signal(5.0, 8.0, LAYERS[:3]), FLAT),
        (signal(5.0, 8.0, step=40), FLAT),
    ],
    ids=["torch's own", "not the weights' doing", "learns", "few layers", "not the start"],
)
def test_start_values_that_may_be_are_silent(records: list[Record], curve: list[Record]) -> None:
    assert not check(records, curve)


def test_normalisation_undoes_the_scale() -> None:
    kinds = {"net": "Sequential", **dict.fromkeys(LAYERS, "Linear"), "net.5": "LayerNorm"}
    assert not check(signal(5.0, 8.0), net=model(kinds, SHAPES))


def test_matrices_of_no_module_that_were_drawn_too_large() -> None:
    own = HandMadeWeights(4, 12.4, place(9, code="w = torch.randn(64, 256, requires_grad=True)"), 1)
    (finding,) = judged([own, *FLAT], "bad-init-scale")
    assert finding.message == (
        "Before the first update the 4 weight matrices at train.py:9 are 12 times the size that keeps a signal "
        "as it is: it grows by about that factor in each layer."
    )
    for healthy in (HandMadeWeights(4, 1.4, own.place, 1), HandMadeWeights(2, 12.4, own.place, 1)):
        assert not judged([healthy, *FLAT], "bad-init-scale")
