from __future__ import annotations

from collections.abc import Iterable

from tests.fakes import judged, loss_site, losses, optimizer, place, scalars
from torch_debugger.records import CheckpointLoad, Finding, Place, Record

TRAINING = losses([0.7 * 0.97**step for step in range(200)])
RISING = [0.68, 0.62, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]


def evaluations(values: Iterable[float], tag: str = "eval/CrossEntropyLoss") -> list[Record]:
    return [scalars(20 * number, {tag: value}) for number, value in enumerate(values, 1)]


def check(*records: Record) -> list[Finding]:
    return judged([optimizer(), *records], "overfits-training-data")


def test_a_validation_loss_that_rises_for_long() -> None:
    (finding,) = check(*TRAINING, *evaluations(RISING))
    assert finding.message == (
        "The validation loss (`CrossEntropyLoss`) was lowest at step 60 with 0.6 and is 1.1 now, while the "
        "training loss fell from 0.155 to 0.00218."
    )
    assert finding.fix.startswith("Stop at step 60, or keep a copy of the weights")
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 28, 60)


def test_a_number_the_script_logs_counts_by_its_name() -> None:
    assert check(*TRAINING, *evaluations(RISING, "user/val/loss"))
    assert not check(*TRAINING, *evaluations(RISING, "user/train/loss"))


def load(step: int) -> CheckpointLoad:
    return CheckpointLoad("Net", place(50), 4, 4, 0, (), (), "fc", "", Place(), step)


def test_what_is_not_overfitting_is_silent() -> None:
    assert not check(*TRAINING, *evaluations(RISING), load(200)), "the best weights are put back"
    assert check(*TRAINING, *evaluations(RISING), load(1)), "a start from a checkpoint is no such thing"
    flat = [0.68, 0.62, 0.6, 0.61, 0.63, 0.6, 0.62, 0.61, 0.64, 0.63]
    assert not check(*TRAINING, *evaluations(flat))
    assert not check(*TRAINING, *evaluations(RISING[:5])), "too few evaluations"
    both_rise = losses([0.5 + 0.01 * step for step in range(200)])
    assert not check(*both_rise, *evaluations(RISING)), "the training loss rises too: not by heart"
    other_scale = [100 * value for value in RISING]
    assert not check(*TRAINING, *evaluations(other_scale)), "another kind of number"
    assert not check(loss_site(), loss_site(50, "loss_d"), *TRAINING, *evaluations(RISING))
