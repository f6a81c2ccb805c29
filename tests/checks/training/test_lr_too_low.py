from __future__ import annotations

from collections.abc import Iterable

from tests.fakes import judged, loss_site, optimizer, rows, scalars
from torch_debugger.records import Finding, OptimizerFact, Record


def updates(ratio: float) -> list[Record]:
    return [rows(step, "update", ("ratio", "change"), {"net.fc1.weight": [ratio, ratio]}) for step in (1, 2, 3)]


def curve(values: Iterable[float], rates: Iterable[float]) -> list[Record]:
    return [
        scalars(step, {"lr/0": rate}, loss=value)
        for step, (value, rate) in enumerate(zip(values, rates, strict=True), 1)
    ]


FLAT = [1.732 - 0.00003 * step for step in range(300)]


def check(
    *records: Record, ratio: float = 1e-6, rate: float = 1e-7, made: OptimizerFact | None = None
) -> list[Finding]:
    known = made or optimizer("Adam", rate)
    return judged([known, *updates(ratio), *records], "lr-too-low")


def test_a_flat_loss_and_tiny_updates_name_the_rate_to_use() -> None:
    (finding,) = check(*curve(FLAT, [1e-7] * 300))
    assert finding.message == (
        "The loss went from 1.732 to 1.723 in 300 steps: with Adam at a learning rate of 1e-07 an update moves "
        "the weights by 1e-06 of their size."
    )
    assert finding.fix == "Raise `lr` of `optimizer` at train.py:28 from 1e-07 to 0.001."
    assert finding.edit is not None and "lr=0.001" in finding.edit.after
    assert (finding.severity, finding.where.line) == ("error", 28)


def test_losses_that_differ_from_batch_to_batch_hide_nothing() -> None:
    noisy = [1.4 + 0.09 * (-1) ** step + 0.00015 * step for step in range(300)]
    assert check(*curve(noisy, [1e-7] * 300))
    assert not check(*curve([value - 0.001 * at for at, value in enumerate(noisy)], [1e-7] * 300)), "it learns"


def test_what_is_slow_for_other_reasons_is_silent() -> None:
    assert not check(*curve(FLAT, [1e-5] * 300), rate=1e-5), "a rate for fine-tuning"
    assert not check(*curve(FLAT, [1e-7] * 300), ratio=1e-4), "the weights do move"
    assert not check(*curve([2.0 - 0.005 * step for step in range(300)], [1e-7] * 300)), "it learns"
    assert not check(*curve(FLAT[:50], [1e-7] * 50)), "too short to tell"
    rising = [1e-9 * (step + 1) for step in range(300)]
    assert not check(*curve(FLAT, rising)), "a warm-up that is not over"
    falling = [1e-3 * 0.9**step for step in range(300)]
    assert not check(*curve(FLAT, falling)), "the end of a schedule"
    assert not check(loss_site(), loss_site(50, "loss_d"), *curve(FLAT, [1e-7] * 300)), "several losses"
