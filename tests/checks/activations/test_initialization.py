from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import findings_of, judged, losses, model, only, place, rows
from torch_debugger.records import Finding, HandMadeWeights, ModelFact, Place, Record, TwinUnits

LAYERS = [f"net.{index}" for index in range(5)]
SHAPES = {f"{name}.weight": (64, 64) for name in LAYERS}
SCALE_NET = dataclasses.replace(
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


def scale(records: list[Record], curve: list[Record] | None = None, net: ModelFact = SCALE_NET) -> list[Finding]:
    return judged([net, *records, *(curve or FLAT)], "bad-init-scale")


def test_a_signal_that_grows_from_layer_to_layer() -> None:
    (finding,) = scale(signal(5.0, 8.0))
    assert finding.message == (
        "Before the first update the signal grows by a factor of 5 from layer to layer, from a deviation of 1 "
        "after `net.0` to 6.2e+02 after `net.4`."
    )
    assert finding.fix.startswith("Replace `nn.init.normal_(layer.weight, std=1.0)` by `nn.init.kaiming_normal_")
    assert (finding.severity, finding.where.line) == ("error", 17)


def test_a_signal_that_fades() -> None:
    assert "the signal shrinks by a factor of 0.1" in only(scale(signal(0.1, 0.14))).message


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
    assert not scale(records, curve)


def test_normalisation_undoes_the_scale() -> None:
    kinds = {"net": "Sequential", **dict.fromkeys(LAYERS, "Linear"), "net.5": "LayerNorm"}
    assert not scale(signal(5.0, 8.0), net=model(kinds, SHAPES))


def test_matrices_of_no_module_that_were_drawn_too_large() -> None:
    own = HandMadeWeights(4, 12.4, place(9, code="w = torch.randn(64, 256, requires_grad=True)"), 1)
    assert only(judged([own, *FLAT], "bad-init-scale")).message == (
        "Before the first update the 4 weight matrices at train.py:9 are 12 times the size that keeps a signal "
        "as it is: it grows by about that factor in each layer."
    )
    for healthy in (HandMadeWeights(4, 1.4, own.place, 1), HandMadeWeights(2, 12.4, own.place, 1)):
        assert not judged([healthy, *FLAT], "bad-init-scale")


SYMMETRY_NET = model({"net": "Net", "net.fc1": "Linear", "net.fc2": "Linear", "net.words": "Embedding"})
FILL = place(13, code="nn.init.constant_(layer.weight, 0.05)")
BOTH = ("net.fc1.weight", "net.fc2.weight")


def twins(step: int, alike: tuple[str, ...] = (), silent: tuple[str, ...] = (), where: Place = FILL) -> TwinUnits:
    return TwinUnits("optimizer", step, alike, silent, 2, where)


symmetry = findings_of("constant-init-symmetry", SYMMETRY_NET)


def test_units_alike_on_three_looks_name_the_line_that_fills_them() -> None:
    (finding,) = symmetry(*[twins(step, alike=BOTH) for step in (1, 2, 3)])
    assert finding.message == (
        "All units of `net.fc1.weight` and 1 more have the same weights and get the same gradient since step 1"
        ": they are copies of one unit and stay so."
    )
    assert finding.fix.startswith("Replace `nn.init.constant_(layer.weight, 0.05)` by random values")
    assert (finding.severity, finding.where.line, finding.where.module) == ("error", 13, "net.fc1")


def test_units_without_a_line_that_fills_them_or_without_a_gradient() -> None:
    # without a line that fills them the layer is named
    (finding,) = symmetry(*[twins(step, alike=BOTH[:1], where=Place()) for step in (1, 2, 3)])
    assert finding.where.line == 11
    assert finding.fix.startswith("Give the weights random values")
    (finding,) = symmetry(*[twins(step, silent=BOTH) for step in (1, 2, 3)])
    assert "get a gradient of exactly 0" in finding.message, "all matrices zero without a gradient"


def test_what_becomes_different_or_belongs_to_words_is_silent() -> None:
    assert not symmetry(twins(1, alike=BOTH), twins(2, alike=BOTH), twins(3))
    assert not symmetry(twins(1, alike=BOTH[:1]), twins(2, alike=BOTH[1:]), twins(3, alike=BOTH[:1]))
    assert not symmetry(*[twins(step, silent=BOTH[:1]) for step in (1, 2, 3)]), "a branch that is not used yet"
    assert not symmetry(*[twins(step, alike=("net.words.weight",)) for step in (1, 2, 3)])
