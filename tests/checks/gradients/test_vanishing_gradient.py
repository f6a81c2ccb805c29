from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from tests.fakes import judged, losses, model, optimizer, rows
from torch_debugger.records import Finding, Record, TensorRows

LAYERS = 6
ELEMENTS = 100.0
FLAT = losses([2.3] * 60)
STEPS = (1, 6, 11, 16, 21, 26)
FADED = tuple(0.1 * 30.0 ** -(LAYERS - 1 - layer) for layer in range(LAYERS))  # 0.1 at the last layer


def net(kind: str = "Sigmoid", extra: str = "Identity") -> Record:
    kinds = {"net": "Net", "net.extra": extra}
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(LAYERS):
        kinds |= {f"net.fc{layer}": "Linear", f"net.act{layer}": kind}
        shapes |= {f"net.fc{layer}.weight": (10, 10), f"net.fc{layer}.bias": (10,)}
    return model(kinds, shapes)


def gradients(step: int, rms: Sequence[float] = FADED, biases: float | None = None) -> TensorRows:
    """Layers with these gradient sizes, their biases alike unless told otherwise."""
    values: dict[str, list[float]] = {}
    for layer, size in enumerate(rms):
        values[f"net.fc{layer}.weight"] = [size * math.sqrt(ELEMENTS), 2.0, ELEMENTS]
        values[f"net.fc{layer}.bias"] = [(size if biases is None else biases) * math.sqrt(10.0), 1.0, 10.0]
    return rows(step, "parameter", ("grad_norm", "weight_norm", "elements"), values, root="optimizer")


def check(*records: Record) -> list[Finding]:
    return judged(records, "vanishing-gradient")


def test_a_steady_fade_with_a_flat_loss_is_an_error() -> None:
    (finding,) = check(optimizer("SGD", 0.1), net(), *FLAT, *map(gradients, STEPS))
    assert finding.severity == "error"
    assert finding.message == (
        "The gradient of `net.fc0.bias` is 2.4e+07 times smaller than that of `net.fc5.bias` "
        "(4.1e-09 against 0.1 per value) since step 1: the first layers do not learn."
    )
    assert finding.fix.startswith("Replace Sigmoid between the hidden layers by ReLU or GELU, and put a norm")
    assert finding.where.module == "net.fc0" and finding.where.line is not None


def test_the_advice_follows_the_modules_that_are_there() -> None:
    (finding,) = check(optimizer("SGD"), net("ReLU", "LayerNorm"), *FLAT, *map(gradients, STEPS))
    assert finding.fix.startswith("Use ReLU or GELU between the hidden layers (a sigmoid or tanh shrinks")
    assert "normalisation" not in finding.fix


def test_start_values_far_too_small_are_named_as_a_cause() -> None:
    small = [gradients(step) for step in STEPS]
    for record in small:
        record.values[:, 1] = 0.02 * math.sqrt(ELEMENTS)  # std 0.02 where 0.32 would keep the signal
    (finding,) = check(optimizer("SGD"), net(), *FLAT, *small)
    assert finding.fix.startswith("Start from larger weights: `nn.init.xavier_normal_(layer.weight)`")
    (usual,) = check(optimizer("SGD"), net(), *FLAT, *map(gradients, STEPS))
    assert "xavier" not in usual.fix


def test_biases_tell_what_small_inputs_hide_in_the_weights() -> None:
    rows_ = [gradients(step) for step in STEPS]
    for record in rows_:
        record.values[0::2, 0] = 1e-7  # every weight alike: a fading signal times a growing input
    assert check(optimizer("SGD"), net(), *FLAT, *rows_)


def test_biases_in_front_of_a_batch_norm_are_not_asked() -> None:
    normed = net("Sigmoid", "BatchNorm1d")
    assert check(optimizer("SGD"), normed, *FLAT, *(gradients(step, FADED, biases=1e-9) for step in STEPS))
    even = (0.1,) * LAYERS
    healthy = [gradients(step, even) for step in STEPS]
    for record in healthy:
        record.values[1::2, 0] = [1e-9 * 10.0**layer for layer in range(LAYERS)]
    assert not check(optimizer("SGD"), normed, *FLAT, *healthy)


def test_adam_lives_with_small_gradients_down_to_its_epsilon() -> None:
    mild = tuple(0.1 * 10.0 ** -(LAYERS - 1 - layer) for layer in range(LAYERS))  # 1e-6 at the first layer
    assert check(optimizer("SGD"), net(), *FLAT, *(gradients(step, mild) for step in STEPS))
    assert not check(optimizer("Adam"), net(), *FLAT, *(gradients(step, mild) for step in STEPS))
    assert check(optimizer("AdamW"), net(), *FLAT, *map(gradients, STEPS))


def test_a_loss_that_halved_is_no_victim() -> None:
    falling = losses([2.3 * 0.97**step for step in range(60)])
    assert not check(optimizer("SGD"), net(), *falling, *map(gradients, STEPS))


@pytest.mark.parametrize(
    "rms",
    [
        tuple(0.1 * 3.0 ** -(LAYERS - 1 - layer) for layer in range(LAYERS)),
        (1e-7, 0.1, 0.1, 0.09, 0.08, 0.1),
        (0.0,) * LAYERS,
        FADED[-3:],
        tuple(reversed(FADED)),
    ],
    ids=["mild", "one odd layer", "zero everywhere", "too few layers", "exploding"],
)
def test_other_profiles_are_silent(rms: tuple[float, ...]) -> None:
    assert not check(optimizer("SGD"), net(), *FLAT, *(gradients(step, rms) for step in STEPS))


def test_a_fade_must_last() -> None:
    healthy = gradients(11, (0.1,) * LAYERS)
    assert not check(optimizer("SGD"), net(), *FLAT, *map(gradients, (1, 6)))
    assert not check(optimizer("SGD"), net(), *FLAT, gradients(1), gradients(6), healthy, gradients(16), gradients(21))


def test_three_early_looks_and_a_flat_loss_are_enough_at_the_end() -> None:
    early = [optimizer("SGD"), net(), *map(gradients, (1, 6, 11))]
    assert check(*early, *FLAT)
    assert not check(*early, *losses([2.3 * 0.97**step for step in range(60)]))


def test_without_a_loss_there_is_no_judgement() -> None:
    assert not check(optimizer("SGD"), net(), *map(gradients, STEPS))


def test_unknown_gradients_are_left_out() -> None:
    holes = (math.nan, *FADED[1:])
    (finding,) = check(optimizer("SGD"), net(), *FLAT, *(gradients(step, holes) for step in STEPS))
    assert finding.where.module == "net.fc1"
