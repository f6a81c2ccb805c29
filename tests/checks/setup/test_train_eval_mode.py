from __future__ import annotations

import dataclasses

from tests.fakes import findings_of, judged, only, place
from torch_debugger.records import ModeLook, PassCalls, PassFact, Place, QuietModel, Reseeding

EVAL = place(50, code="model.eval()")
UPDATE = place(44, code="optimizer.step()")


def mode(step: int, train: int = 0, evaluated: int = 0, **others: object) -> ModeLook:
    before = ModeLook(step, "model", 5, train, evaluated, 2, 1, False, 1.0, (EVAL,), (), UPDATE)
    return dataclasses.replace(before, **others)  # type: ignore[arg-type]


eval_mode = findings_of("eval-mode-in-training")


def test_a_model_that_stays_in_evaluation_mode_after_its_first_validation() -> None:
    looks = [mode(5, train=5), *(mode(step, evaluated=5) for step in range(10, 40, 5))]
    (finding,) = eval_mode(*looks)
    assert finding.message == (
        "`model` has been trained in evaluation mode since step 10: 2 layers with dropout and 1 batch norm "
        "layer of it did not act in the last 15 updates; `model.eval()` at train.py:50 was not taken back."
    )
    assert finding.fix == (
        "Call `model.train()` at the start of every epoch, before the loop over the batches that has the "
        "update at train.py:44."
    )
    assert (finding.severity, finding.where) == ("error", EVAL)


def test_the_fix_follows_the_calls_of_train() -> None:
    # a call of train outside the epoch is moved
    trains = (place(30, code="model.train()"),)
    looks = [mode(5, train=5), *(mode(step, evaluated=5, trains=trains) for step in range(10, 40, 5))]
    assert only(eval_mode(*looks)).fix.startswith("Move `model.train()` at train.py:30 into the epoch, before ")
    # a model that was never in training mode is a warning
    (finding,) = eval_mode(*[mode(step, evaluated=5) for step in range(5, 40, 5)])
    assert finding.severity == "warning"
    assert finding.fix == "Write `model.train()` in place of `model.eval()` at train.py:50."


def test_batch_norm_alone_may_keep_its_statistics_but_needs_some() -> None:
    kept = [mode(step, evaluated=5, dropouts=0) for step in range(5, 40, 5)]
    assert not eval_mode(*kept)
    assert eval_mode(*[dataclasses.replace(each, untouched=True) for each in kept])


def test_frozen_parts_and_calls_in_both_modes_are_silent() -> None:
    assert not eval_mode(*[mode(step, evaluated=5, share=0.5) for step in range(5, 80, 5)])
    assert not eval_mode(*[mode(step, train=5, evaluated=5) for step in range(5, 80, 5)])
    assert not eval_mode(*[mode(step, train=5 * (step % 2), evaluated=5) for step in range(5, 80, 5)])


def calls(**counts: int) -> PassCalls:
    none = {"train_grad": 0, "train_only": 0, "eval_grad": 0, "eval_only": 0, "dropouts": 1, "norms": 0}
    return PassCalls("model", **{**none, **counts}, trained=True)  # type: ignore[arg-type]


def over(loader: int, step: int, made: PassCalls, updates: int = 0, **others: object) -> PassFact:
    fact = PassFact(
        step, loader, place(60), 8, updates, updates, (made,), shuffled=True, age=step - updates, repeats=False
    )
    return dataclasses.replace(fact, **others)  # type: ignore[arg-type]


def epochs(validation: PassCalls, count: int = 3, number: int = 2, **others: object) -> list[PassFact]:
    """Passes over a training loader and over one for validation, in turn."""
    steps = [10 * epoch for epoch in range(1, count + 1)]
    training = [over(1, step, calls(train_grad=10), updates=10) for step in steps]
    return [
        fact
        for one, step in zip(training, steps, strict=True)
        for fact in (one, over(number, step, validation, **others))
    ]


train_mode = findings_of("train-mode-in-validation")


def test_a_validation_in_training_mode() -> None:
    (finding,) = train_mode(*epochs(calls(train_only=8, norms=2)))
    assert finding.severity == "error"
    assert finding.message == (
        "`model` is validated in training mode: 1 layer with dropout and 2 batch norm layers of it acted in "
        "all 8 batches of the loop at train.py:60, since step 10."
    )
    assert finding.fix == (
        "Call `model.eval()` before the loop at train.py:60, and `model.train()` before training goes on."
    )


def test_an_eval_without_its_parentheses_is_the_line_to_edit() -> None:
    bare = place(58, code="model.eval")
    (finding,) = train_mode(*epochs(calls(train_only=8, uncalled=bare)))
    assert finding.where == bare
    assert finding.fix == "Write `model.eval()` at train.py:58: without parentheses it calls nothing."


def test_passes_in_training_mode_on_purpose_are_silent() -> None:
    assert not train_mode(*epochs(calls(eval_only=8)))
    assert not train_mode(*epochs(calls(train_only=80)))  # samples of one prediction
    assert not train_mode(*epochs(calls(train_only=8, dropouts=0)))
    assert not train_mode(*epochs(dataclasses.replace(calls(train_only=8), trained=False)))
    assert not train_mode(*epochs(calls(train_only=8), number=1))  # statistics of the training data
    assert not train_mode(*epochs(calls(train_only=8), count=1))
    # a model that is evaluated as well is in training mode on purpose
    records = epochs(calls(train_only=8))
    evaluated = over(3, 10, calls(eval_only=8))
    assert not train_mode(records[0], evaluated, *records)


grad_enabled = findings_of("grad-enabled-in-validation")


def test_a_validation_that_builds_graphs() -> None:
    (finding,) = grad_enabled(*epochs(calls(eval_grad=8)))
    assert finding.severity == "warning"
    assert finding.message == (
        "Validation runs with autograd on: all 8 batches of the loop at train.py:60 built a graph of `model` "
        "that no backward() used, since step 10."
    )
    assert finding.fix == "Put the loop at train.py:60 inside `with torch.no_grad():`."


def test_a_small_validation_is_only_noted() -> None:
    (finding,) = grad_enabled(over(1, 5, calls(), updates=9, batches=900), *epochs(calls(eval_grad=8)))
    assert finding.severity == "note"


def test_graphs_that_are_wanted_are_silent() -> None:
    assert not grad_enabled(*epochs(calls(eval_only=8)))
    assert not grad_enabled(*epochs(calls(eval_grad=8), asks_gradients=True))
    assert not grad_enabled(*epochs(calls(eval_grad=8), backwards=1))


reseeded = findings_of("reseeded-each-epoch")


def repeated(count: int, **others: object) -> list[PassFact]:
    seed = place(58, code="torch.manual_seed(0)")
    made = calls(train_grad=10)
    facts = [over(1, step, made, 10, repeats=step > 10, seed=seed) for step in range(10, 10 * count + 1, 10)]
    return [dataclasses.replace(fact, **others) for fact in facts]  # type: ignore[arg-type]


def test_epochs_that_draw_the_same_random_numbers() -> None:
    (finding,) = reseeded(*repeated(4))
    assert finding.severity == "error"
    assert finding.message == (
        "Every epoch of the loop at train.py:60 draws the random numbers of the epoch before: `torch.manual_seed(0)` "
        "at train.py:58; since step 10 that has meant the same batches in the same order."
    )
    assert finding.fix == (
        "Move `torch.manual_seed(0)` at train.py:58 out of the epoch, before the loop over the epochs; or add "
        "the number of the epoch to its seed."
    )
    (finding,) = reseeded(*repeated(4, seed=Place(), shuffled=False))
    assert finding.message.endswith("since step 10 that has meant the same units dropped.")


def test_one_repetition_and_new_trainings_are_silent() -> None:
    assert not reseeded(*repeated(2))
    assert not reseeded(*repeated(6, age=0))
    assert not reseeded(*repeated(6, repeats=False))
    assert not reseeded(*repeated(6, shuffled=False, calls=(calls(train_grad=10, dropouts=0),)))
    assert not reseeded(*repeated(6, updates=0))


def seeded(count: int, **others: object) -> list[Reseeding]:
    seed = place(58, code="set_seed()")
    rows = [Reseeding(step, 7, seed, 10, True, True, step) for step in range(11, 10 * count + 2, 10)]
    return [dataclasses.replace(row, **others) for row in rows]  # type: ignore[arg-type]


def test_a_seed_that_is_set_again_without_a_loader() -> None:
    (finding,) = reseeded(*seeded(3))
    assert finding.message == (
        "`set_seed()` at train.py:58 sets the random generator back to seed 7 every 10 updates: since step 11 "
        "training has drawn the same random numbers each time."
    )
    assert finding.where.line == 58


def test_seeds_that_do_not_matter_are_silent() -> None:
    assert not reseeded(*seeded(1))
    assert not reseeded(*seeded(5, draws=False))
    assert not reseeded(*seeded(5, repeats=False))  # the state was forked, and put back
    assert not reseeded(*seeded(5, age=40))  # a new training each time
    assert not reseeded(*seeded(5, updates=1))
    assert not reseeded(*seeded(5), over(1, 60, calls(train_grad=10), 10))


NAME = "teacher-in-train-mode"


def quiet(step: int, **others: object) -> QuietModel:
    usual = QuietModel(step, "teacher", "Net", True, 1, 2, 0, False, False, "", place(35), ())
    return dataclasses.replace(usual, **others)  # type: ignore[arg-type]


def looks(**others: object) -> list[QuietModel]:
    return [quiet(step, **others) for step in (2, 3, 9)]


def test_a_frozen_teacher_with_dropout() -> None:
    (finding,) = judged(looks(), NAME)
    assert finding.message == (
        "`teacher` (Net) is not trained, but called in training mode at train.py:35 since step 2: 2 layers "
        "with dropout of it acted in all 3 looks."
    )
    assert finding.fix.startswith("Call `teacher.eval()` before the training loop")
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 35, 2)


def test_a_line_that_switches_it_back_comes_first_and_an_encoder_is_a_note() -> None:
    assert only(judged(looks(trains=(place(30),)), NAME)).where.line == 30, "the line that switches it back comes first"
    assert only(judged(looks(feeds=True, norms=1), NAME)).severity == "note", "a frozen encoder is noted"


def test_averages_samplers_copies_and_evaluation_mode_are_silent() -> None:
    assert not judged(looks(moves=True), NAME)
    assert not judged(looks(calls=10), NAME)
    assert not judged(looks(twin="student"), NAME)
    assert not judged(looks(training=False), NAME)
    assert not judged([*looks(), quiet(12, moves=True), quiet(13), quiet(14)], NAME)  # one side of a game rests
    assert not judged([quiet(2), quiet(3, training=False), quiet(4)], NAME)
