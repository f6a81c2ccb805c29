from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tests.fakes import findings_of, judged, loss_site, losses, model, optimizer, place, rows, scalars
from torch_debugger.records import CheckpointLoad, OptimizerFact, Place, Record, TensorRows

TRAINING = losses([0.7 * 0.97**step for step in range(200)])
RISING = [0.68, 0.62, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]


def evaluations(values: Iterable[float], tag: str = "eval/CrossEntropyLoss") -> list[Record]:
    return [scalars(20 * number, {tag: value}) for number, value in enumerate(values, 1)]


overfits = findings_of("overfits-training-data", optimizer())


def test_a_validation_loss_that_rises_for_long() -> None:
    (finding,) = overfits(*TRAINING, *evaluations(RISING))
    assert finding.message == (
        "The validation loss (`CrossEntropyLoss`) was lowest at step 60 with 0.6 and is 1.1 now, while the "
        "training loss fell from 0.155 to 0.00218."
    )
    assert finding.fix.startswith("Stop at step 60, or keep a copy of the weights")
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 28, 60)


def test_a_number_the_script_logs_counts_by_its_name() -> None:
    assert overfits(*TRAINING, *evaluations(RISING, "user/val/loss"))
    assert not overfits(*TRAINING, *evaluations(RISING, "user/train/loss"))


def load(step: int) -> CheckpointLoad:
    return CheckpointLoad("Net", place(50), 4, 4, 0, (), (), "fc", "", Place(), step)


def test_what_is_not_overfitting_is_silent() -> None:
    assert not overfits(*TRAINING, *evaluations(RISING), load(200)), "the best weights are put back"
    assert overfits(*TRAINING, *evaluations(RISING), load(1)), "a start from a checkpoint is no such thing"
    flat = [0.68, 0.62, 0.6, 0.61, 0.63, 0.6, 0.62, 0.61, 0.64, 0.63]
    assert not overfits(*TRAINING, *evaluations(flat))
    assert not overfits(*TRAINING, *evaluations(RISING[:5])), "too few evaluations"
    both_rise = losses([0.5 + 0.01 * step for step in range(200)])
    assert not overfits(*both_rise, *evaluations(RISING)), "the training loss rises too: not by heart"
    other_scale = [100 * value for value in RISING]
    assert not overfits(*TRAINING, *evaluations(other_scale)), "another kind of number"
    assert not overfits(loss_site(), loss_site(50, "loss_d"), *TRAINING, *evaluations(RISING))


NAME = "weight-decay-on-norms"
NET = model({"net": "Net", "net.fc": "Linear", "net.norm": "LayerNorm"})
NET = dataclasses.replace(NET, modules=tuple(dataclasses.replace(module, parameters=16) for module in NET.modules))
RUN = losses([1.0] * 200)
HELD = ("net.fc.weight", "net.fc.bias", "net.norm.weight", "net.norm.bias")


def adamw(decay: float, lr: float = 1e-2, parameters: tuple[str, ...] = HELD, kind: str = "AdamW") -> OptimizerFact:
    return optimizer(kind, lr, parameters, weight_decay=decay)


def test_strong_decay_on_everything() -> None:
    (note,) = judged([NET, adamw(0.1), *RUN], NAME)
    assert note.message == (
        "`weight_decay=0.1` of `optimizer` at train.py:28 also pulls `net.norm.weight` of normalisation layers "
        "and 2 biases towards zero."
    )
    assert note.severity == "note" and "'weight_decay': 0.0" in note.fix


def test_weak_decay_short_runs_models_without_norms_and_groups_are_silent() -> None:
    def silent(*records: Record) -> bool:
        return not judged([NET, *records], NAME)

    assert silent(adamw(0.01), *RUN)
    assert silent(adamw(0.1), *RUN[:3])
    assert silent(adamw(0.1, parameters=HELD[:2]), *RUN)
    assert silent(adamw(5e-4, kind="SGD"), *RUN)
    groups = ({"lr": 1e-2, "weight_decay": 0.1}, {"lr": 1e-2, "weight_decay": 0.0})
    assert silent(dataclasses.replace(adamw(0.1), groups=groups), *RUN)


def looks(norms: Iterable[float], gradient: float = 1.0, elements: float = 100.0) -> list[TensorRows]:
    columns = ("grad_norm", "weight_norm", "elements")
    return [
        rows(
            step,
            "parameter",
            columns,
            {"net.fc1.weight": [gradient, norm, elements], "net.fc1.bias": [5.0, 0.1, 8.0]},
            root="optimizer",
        )
        for step, norm in enumerate(norms, 1)
    ]


FLAT = losses([1.4] * 30)
SHRINKING = [8.0 * 0.8**step for step in range(12)]
overwhelming = findings_of("weight-decay-overwhelming")


def test_decay_that_outweighs_the_gradients() -> None:
    (finding,) = overwhelming(optimizer("SGD", weight_decay=1.0), *looks(SHRINKING), *FLAT)
    assert finding.severity == "error"
    assert finding.message == (
        "`weight_decay=1` of `optimizer` at train.py:28 outweighs the gradients 4.1 times: the weights shrank "
        "from norm 8 to 0.694 by step 12, and the loss did not fall."
    )
    assert finding.fix == "Lower `weight_decay` of `optimizer` at train.py:28 from 1 to 0.0001."


def test_decoupled_decay_is_measured_against_the_step() -> None:
    heavy = [100 * norm for norm in SHRINKING]
    (finding,) = overwhelming(optimizer("AdamW", weight_decay=1.0), *looks(heavy, gradient=1e9), *FLAT)
    assert finding.fix.endswith("from 1 to 0.01.")
    assert not overwhelming(optimizer("AdamW", weight_decay=0.1), *looks(SHRINKING, gradient=1e-9), *FLAT)


def test_decay_that_does_no_harm_is_silent() -> None:
    heavy = optimizer("SGD", weight_decay=1.0)
    assert not overwhelming(optimizer("SGD", weight_decay=1e-4), *looks(SHRINKING), *FLAT)
    assert not overwhelming(heavy, *looks(SHRINKING, gradient=50.0), *FLAT)
    assert not overwhelming(heavy, *looks([8.0] * 12), *FLAT)
    assert not overwhelming(heavy, *looks(SHRINKING), *losses([1.4 * 0.9**step for step in range(30)]))
    assert not overwhelming(heavy, *looks(SHRINKING))


def test_groups_without_decay_beside_the_one_that_has_it() -> None:
    whole = optimizer("SGD", weight_decay=1.0)
    free = dict(whole.groups[0], weight_decay=0.0)
    mild = dict(whole.groups[0], weight_decay=1e-4)
    assert overwhelming(dataclasses.replace(whole, groups=(*whole.groups, free)), *looks(SHRINKING), *FLAT)
    assert not overwhelming(dataclasses.replace(whole, groups=(*whole.groups, mild)), *looks(SHRINKING), *FLAT)
