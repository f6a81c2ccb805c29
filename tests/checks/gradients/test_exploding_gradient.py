from __future__ import annotations

from collections.abc import Sequence

from tests.fakes import judged, losses, model, rows
from torch_debugger.records import Finding, ModelFact, Record

FLAT, LEARNED = losses([1.8] * 40), losses([1.8 * 0.9**step for step in range(40)])
MEMORY = model(
    {"net": "Memory", "net.rnn": "RNN", "net.head": "Linear"},
    {"net.rnn.weight_ih_l0": (32, 6), "net.rnn.weight_hh_l0": (32, 32), "net.head.weight": (6, 32)},
)
LAYERS = [f"net.{index}" for index in range(5)]
STACK = model({"net": "Sequential", **dict.fromkeys(LAYERS, "Linear")}, {f"{n}.weight": (8, 8) for n in LAYERS})


def gradients(rms: dict[str, float]) -> list[Record]:
    columns = ("grad_norm", "weight_norm", "elements")
    values = {name: [size * 8.0, 1.0, 64.0] for name, size in rms.items()}
    return [rows(step, "parameter", columns, values) for step in (1, 2, 3, 10)]


def check(net: ModelFact, records: list[Record], curve: Sequence[Record] = FLAT) -> list[Finding]:
    return judged([net, *records, *curve], "exploding-gradient")


def through_time(size: float, head: float = 0.01) -> list[Record]:
    return gradients({"net.rnn.weight_ih_l0": size, "net.rnn.weight_hh_l0": size, "net.head.weight": head})


def test_a_recurrent_weight_is_to_be_clipped() -> None:
    (finding,) = check(MEMORY, through_time(100.0))
    assert finding.message == (
        "The gradient of `net.rnn.weight_hh_l0` is 1e+04 times that of `net.head.weight` on 4 looks: it grows "
        "through the time steps. The loss has fallen by 0%."
    )
    assert finding.fix == (
        "Call `torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)` right before the optimizer's `step()` "
        "and start from `nn.init.orthogonal_(net.rnn.weight_hh_l0)`."
    )
    assert (finding.severity, finding.where.line) == ("error", 11)


def test_growth_from_layer_to_layer() -> None:
    grows = {f"{name}.weight": 10.0 ** (4 - 2 * index) for index, name in enumerate(LAYERS)}
    (finding,) = check(STACK, gradients(grows))
    assert "it grows from layer to layer" in finding.message
    one_odd = dict.fromkeys(grows, 0.01) | {"net.0.weight": 1e4}
    assert not check(STACK, gradients(one_odd)), "one layer of another scale is no growth"


def test_what_learns_or_is_clipped_or_small_is_silent() -> None:
    assert not check(MEMORY, through_time(100.0), LEARNED)
    assert not check(MEMORY, through_time(0.1, head=1e-5)), "clipped: the ratio stays, the size does not"
    assert not check(MEMORY, through_time(100.0, head=1.0)), "a sum over a hundred time steps"
