from __future__ import annotations

from tests.fakes import judged, model, place
from torch_debugger.records import Finding, Place, Record, TwinUnits

NET = model({"net": "Net", "net.fc1": "Linear", "net.fc2": "Linear", "net.words": "Embedding"})
FILL = place(13, code="nn.init.constant_(layer.weight, 0.05)")
BOTH = ("net.fc1.weight", "net.fc2.weight")


def twins(step: int, alike: tuple[str, ...] = (), silent: tuple[str, ...] = (), where: Place = FILL) -> TwinUnits:
    return TwinUnits("optimizer", step, alike, silent, 2, where)


def check(*records: Record) -> list[Finding]:
    return judged([NET, *records], "constant-init-symmetry")


def test_units_alike_on_three_looks_name_the_line_that_fills_them() -> None:
    (finding,) = check(*[twins(step, alike=BOTH) for step in (1, 2, 3)])
    assert finding.message == (
        "All units of `net.fc1.weight` and 1 more have the same weights and get the same gradient since step 1"
        ": they are copies of one unit and stay so."
    )
    assert finding.fix.startswith("Replace `nn.init.constant_(layer.weight, 0.05)` by random values")
    assert (finding.severity, finding.where.line, finding.where.module) == ("error", 13, "net.fc1")


def test_without_a_line_that_fills_them_the_layer_is_named() -> None:
    (finding,) = check(*[twins(step, alike=BOTH[:1], where=Place()) for step in (1, 2, 3)])
    assert finding.where.line == 11
    assert finding.fix.startswith("Give the weights random values")


def test_all_matrices_zero_without_a_gradient() -> None:
    (finding,) = check(*[twins(step, silent=BOTH) for step in (1, 2, 3)])
    assert "get a gradient of exactly 0" in finding.message


def test_what_becomes_different_or_belongs_to_words_is_silent() -> None:
    assert not check(twins(1, alike=BOTH), twins(2, alike=BOTH), twins(3))
    assert not check(twins(1, alike=BOTH[:1]), twins(2, alike=BOTH[1:]), twins(3, alike=BOTH[:1]))
    assert not check(*[twins(step, silent=BOTH[:1]) for step in (1, 2, 3)]), "a branch that is not used yet"
    assert not check(*[twins(step, alike=("net.words.weight",)) for step in (1, 2, 3)])
