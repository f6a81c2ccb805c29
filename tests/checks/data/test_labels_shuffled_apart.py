from __future__ import annotations

from tests.fakes import judged, losses, optimizer, place
from torch_debugger.records import ShuffledPair

NAME = "labels-shuffled-apart"
GUESSING = losses([1.2, 1.15, 1.12, *[1.1] * 60])
LEARNING = losses([1.2 * 0.97**step for step in range(60)])


def pair(both: bool = False, index: str = "") -> ShuffledPair:
    return ShuffledPair("x", "y", both, place(18, code="rng.shuffle(x)"), 1, index)


def test_one_array_is_shuffled_alone_and_nothing_is_learned() -> None:
    (finding,) = judged([optimizer(), pair(), *GUESSING], NAME)
    assert finding.message == (
        "`x` is shuffled, and `y`, which is read side by side with it, is not: samples get the labels of "
        "others. Since its beginning the loss has fallen by 0%."
    )
    assert finding.fix == (
        "Draw one order and use it for both: `order = torch.randperm(len(x))`, then `x[order]` and `y[order]`."
    )
    assert (finding.severity, finding.where.line) == ("error", 18)


def test_two_orders_and_a_shuffled_index() -> None:
    (finding,) = judged([optimizer(), pair(both=True), *GUESSING], NAME)
    assert "are shuffled in two different orders" in finding.message
    (finding,) = judged([optimizer(), pair(index="rows"), *GUESSING], NAME)
    assert finding.fix == "Read both with the same index, in one order: `y[rows]`."


def test_a_loss_that_falls_several_optimizers_and_short_runs_are_silent() -> None:
    assert not judged([optimizer(), pair(), *LEARNING], NAME)
    assert not judged([optimizer(name="d"), optimizer(name="g"), pair(), *GUESSING], NAME)
    assert not judged([optimizer(), pair(), *GUESSING[:20]], NAME)
    assert not judged([optimizer(), *GUESSING], NAME)
