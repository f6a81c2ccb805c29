from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from tests.fakes import findings_of, judged, losses, model, only, optimizer, rows
from torch_debugger.records import Finding, ModelFact, Record, TensorRows

DEPTH = 6
ELEMENTS = 100.0
FLAT = losses([2.3] * 60)
STEPS = (1, 6, 11, 16, 21, 26)
FADED = tuple(0.1 * 30.0 ** -(DEPTH - 1 - layer) for layer in range(DEPTH))  # 0.1 at the last layer


def net(kind: str = "Sigmoid", extra: str = "Identity") -> Record:
    kinds = {"net": "Net", "net.extra": extra}
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(DEPTH):
        kinds |= {f"net.fc{layer}": "Linear", f"net.act{layer}": kind}
        shapes |= {f"net.fc{layer}.weight": (10, 10), f"net.fc{layer}.bias": (10,)}
    return model(kinds, shapes)


def fading(step: int, rms: Sequence[float] = FADED, biases: float | None = None) -> TensorRows:
    """Layers with these gradient sizes, their biases alike unless told otherwise."""
    values: dict[str, list[float]] = {}
    for layer, size in enumerate(rms):
        values[f"net.fc{layer}.weight"] = [size * math.sqrt(ELEMENTS), 2.0, ELEMENTS]
        values[f"net.fc{layer}.bias"] = [(size if biases is None else biases) * math.sqrt(10.0), 1.0, 10.0]
    return rows(step, "parameter", ("grad_norm", "weight_norm", "elements"), values, root="optimizer")


vanishing = findings_of("vanishing-gradient")


def test_a_steady_fade_with_a_flat_loss_is_an_error() -> None:
    (finding,) = vanishing(optimizer("SGD", 0.1), net(), *FLAT, *map(fading, STEPS))
    assert finding.severity == "error"
    assert finding.message == (
        "The gradient of `net.fc0.bias` is 2.4e+07 times smaller than that of `net.fc5.bias` "
        "(4.1e-09 against 0.1 per value) since step 1: the first layers do not learn."
    )
    assert finding.fix.startswith("Replace Sigmoid between the hidden layers by ReLU or GELU, and put a norm")
    assert finding.where.module == "net.fc0" and finding.where.line is not None


def test_the_advice_follows_the_modules_that_are_there() -> None:
    (finding,) = vanishing(optimizer("SGD"), net("ReLU", "LayerNorm"), *FLAT, *map(fading, STEPS))
    assert finding.fix.startswith("Use ReLU or GELU between the hidden layers (a sigmoid or tanh shrinks")
    assert "normalisation" not in finding.fix


def test_start_values_far_too_small_are_named_as_a_cause() -> None:
    small = [fading(step) for step in STEPS]
    for record in small:
        record.values[:, 1] = 0.02 * math.sqrt(ELEMENTS)  # std 0.02 where 0.32 would keep the signal
    (finding,) = vanishing(optimizer("SGD"), net(), *FLAT, *small)
    assert finding.fix.startswith("Start from larger weights: `nn.init.xavier_normal_(layer.weight)`")
    (usual,) = vanishing(optimizer("SGD"), net(), *FLAT, *map(fading, STEPS))
    assert "xavier" not in usual.fix


def test_biases_tell_what_small_inputs_hide_in_the_weights() -> None:
    rows_ = [fading(step) for step in STEPS]
    for record in rows_:
        record.values[0::2, 0] = 1e-7  # every weight alike: a fading signal times a growing input
    assert vanishing(optimizer("SGD"), net(), *FLAT, *rows_)


def test_biases_in_front_of_a_batch_norm_are_not_asked() -> None:
    normed = net("Sigmoid", "BatchNorm1d")
    assert vanishing(optimizer("SGD"), normed, *FLAT, *(fading(step, FADED, biases=1e-9) for step in STEPS))
    even = (0.1,) * DEPTH
    healthy = [fading(step, even) for step in STEPS]
    for record in healthy:
        record.values[1::2, 0] = [1e-9 * 10.0**layer for layer in range(DEPTH)]
    assert not vanishing(optimizer("SGD"), normed, *FLAT, *healthy)


def test_adam_lives_with_small_gradients_down_to_its_epsilon() -> None:
    mild = tuple(0.1 * 10.0 ** -(DEPTH - 1 - layer) for layer in range(DEPTH))  # 1e-6 at the first layer
    assert vanishing(optimizer("SGD"), net(), *FLAT, *(fading(step, mild) for step in STEPS))
    assert not vanishing(optimizer("Adam"), net(), *FLAT, *(fading(step, mild) for step in STEPS))
    assert vanishing(optimizer("AdamW"), net(), *FLAT, *map(fading, STEPS))


def test_a_loss_that_halved_or_is_not_known_is_no_victim() -> None:
    # a loss that halved is no victim
    falling = losses([2.3 * 0.97**step for step in range(60)])
    assert not vanishing(optimizer("SGD"), net(), *falling, *map(fading, STEPS))
    # without a loss there is no judgement
    assert not vanishing(optimizer("SGD"), net(), *map(fading, STEPS))


@pytest.mark.parametrize(
    "rms",
    [
        tuple(0.1 * 3.0 ** -(DEPTH - 1 - layer) for layer in range(DEPTH)),
        (1e-7, 0.1, 0.1, 0.09, 0.08, 0.1),
        (0.0,) * DEPTH,
        FADED[-3:],
        tuple(reversed(FADED)),
    ],
    ids=["mild", "one odd layer", "zero everywhere", "too few layers", "exploding"],
)
def test_other_profiles_are_silent(rms: tuple[float, ...]) -> None:
    assert not vanishing(optimizer("SGD"), net(), *FLAT, *(fading(step, rms) for step in STEPS))


def test_a_fade_must_last() -> None:
    healthy = fading(11, (0.1,) * DEPTH)
    assert not vanishing(optimizer("SGD"), net(), *FLAT, *map(fading, (1, 6)))
    assert not vanishing(
        optimizer("SGD"),
        net(),
        *FLAT,
        fading(1),
        fading(6),
        healthy,
        fading(16),
        fading(21),
    )


def test_three_early_looks_and_a_flat_loss_are_enough_at_the_end() -> None:
    early = [optimizer("SGD"), net(), *map(fading, (1, 6, 11))]
    assert vanishing(*early, *FLAT)
    assert not vanishing(*early, *losses([2.3 * 0.97**step for step in range(60)]))


def test_unknown_gradients_are_left_out() -> None:
    holes = (math.nan, *FADED[1:])
    (finding,) = vanishing(optimizer("SGD"), net(), *FLAT, *(fading(step, holes) for step in STEPS))
    assert finding.where.module == "net.fc1"


STUCK, LEARNED = losses([1.8] * 40), losses([1.8 * 0.9**step for step in range(40)])
MEMORY = model(
    {"net": "Memory", "net.rnn": "RNN", "net.head": "Linear"},
    {"net.rnn.weight_ih_l0": (32, 6), "net.rnn.weight_hh_l0": (32, 32), "net.head.weight": (6, 32)},
)
NAMES = [f"net.{index}" for index in range(5)]
STACK = model(
    {"net": "Sequential", **dict.fromkeys(NAMES, "Linear")},
    {f"{n}.weight": (8, 8) for n in NAMES},
)


def looks(rms: dict[str, float]) -> list[Record]:
    columns = ("grad_norm", "weight_norm", "elements")
    values = {name: [size * 8.0, 1.0, 64.0] for name, size in rms.items()}
    return [rows(step, "parameter", columns, values) for step in (1, 2, 3, 10)]


def exploding(net: ModelFact, records: list[Record], curve: Sequence[Record] = STUCK) -> list[Finding]:
    return judged([net, *records, *curve], "exploding-gradient")


def through_time(size: float, head: float = 0.01) -> list[Record]:
    return looks({"net.rnn.weight_ih_l0": size, "net.rnn.weight_hh_l0": size, "net.head.weight": head})


def test_a_recurrent_weight_is_to_be_clipped() -> None:
    (finding,) = exploding(MEMORY, through_time(100.0))
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
    grows = {f"{name}.weight": 10.0 ** (4 - 2 * index) for index, name in enumerate(NAMES)}
    assert "it grows from layer to layer" in only(exploding(STACK, looks(grows))).message
    one_odd = dict.fromkeys(grows, 0.01) | {"net.0.weight": 1e4}
    assert not exploding(STACK, looks(one_odd)), "one layer of another scale is no growth"


def test_what_learns_or_is_clipped_or_small_is_silent() -> None:
    assert not exploding(MEMORY, through_time(100.0), LEARNED)
    assert not exploding(MEMORY, through_time(0.1, head=1e-5)), "clipped: the ratio stays, the size does not"
    assert not exploding(MEMORY, through_time(100.0, head=1.0)), "a sum over a hundred time steps"
