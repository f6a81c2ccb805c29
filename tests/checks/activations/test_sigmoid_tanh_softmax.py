from __future__ import annotations

import dataclasses

from tests.fakes import findings_of, judged, losses, model, place
from torch_debugger.records import MultipliedMask, Squasher

NAME = "mask-multiplied-into-scores"


def looks(count: int = 3, **others: object) -> list[MultipliedMask]:
    usual = MultipliedMask((32, 4, 16, 16), True, 0.47, False, place(27), 1)
    return [dataclasses.replace(usual, step=step, **others) for step in range(1, count + 1)]  # type: ignore[arg-type]


def test_a_mask_of_zeros_and_ones_in_front_of_a_softmax() -> None:
    (finding,) = judged(looks(), NAME)
    assert finding.message == (
        "The scores of a softmax at train.py:27 are multiplied with a mask of zeros and ones: 47% of them "
        "become 0, which a softmax does not leave out."
    )
    assert (finding.severity, finding.where.line, finding.last_step) == ("error", 27, 3)


def test_scales_and_masks_that_are_used_again_are_silent() -> None:
    assert not judged(looks(binary=False), NAME)
    assert not judged(looks(again=True), NAME)
    assert not judged(looks(1), NAME)


NET = model({"net": "Net", "net.fc1": "Linear", "net.fc2": "Linear", "net.out": "Linear"})
FLAT = losses([1.8] * 80)
HALVED = losses([1.8] * 10 + [0.7] * 70)
LEARNED = losses([1.8 * 0.9**step for step in range(80)])


def squasher(step: int, saturated: float, source: str = "net.fc1", function: str = "tanh") -> Squasher:
    return Squasher(source, function, (64, 32), saturated, step)


check = findings_of("saturated-sigmoid-or-tanh", NET)


def test_the_first_saturated_layer_is_named_with_its_share() -> None:
    looks = [squasher(step, 0.97, source) for step in (1, 2, 3, 10, 30) for source in ("net.fc2", "net.fc1")]
    (finding,) = check(*looks, *FLAT)
    assert finding.message == (
        "97% of the outputs of the tanh after `net.fc1` are at -1 or 1 since step 1, as those after 1 more of "
        "them; the loss has fallen by 0%."
    )
    assert "nn.init.xavier_normal_(net.fc1.weight)" in finding.fix
    assert (finding.severity, finding.where.line, finding.first_step) == ("error", 11, 1)


def test_a_loss_that_only_halved_is_a_warning_at_the_end() -> None:
    looks = [squasher(step, 0.95, function="sigmoid") for step in (1, 2, 3, 10)]
    (finding,) = check(*looks, *HALVED)
    assert finding.severity == "warning"
    assert "at 0 or 1" in finding.message


def test_what_learns_or_saturates_later_is_silent() -> None:
    assert not check(*[squasher(step, 0.97) for step in (1, 2, 3, 10, 30)], *LEARNED)
    assert not check(squasher(1, 0.1), *[squasher(step, 0.97) for step in (2, 3, 10, 30, 100)], *FLAT)
    assert not check(*[squasher(step, 0.7) for step in (1, 2, 3, 10, 30)], *FLAT)
    assert not check(*[squasher(step, 0.97) for step in (1, 2, 3)], *FLAT), "three steps are the start"
    assert not check(*[squasher(step, 0.97) for step in (1, 2, 3, 10, 30)]), "no loss, no judgement"
