from __future__ import annotations

import dataclasses

from tests.fakes import judged, place
from torch_debugger.records import QuietModel

NAME = "teacher-in-train-mode"


def look(step: int, **others: object) -> QuietModel:
    usual = QuietModel(step, "teacher", "Net", True, 1, 2, 0, False, False, "", place(35), ())
    return dataclasses.replace(usual, **others)  # type: ignore[arg-type]


def looks(**others: object) -> list[QuietModel]:
    return [look(step, **others) for step in (2, 3, 9)]


def test_a_frozen_teacher_with_dropout() -> None:
    (finding,) = judged(looks(), NAME)
    assert finding.message == (
        "`teacher` (Net) is not trained, but called in training mode at train.py:35 since step 2: 2 layers "
        "with dropout of it acted in all 3 looks."
    )
    assert finding.fix.startswith("Call `teacher.eval()` before the training loop")
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 35, 2)


def test_the_line_that_switches_it_back_comes_first() -> None:
    (finding,) = judged(looks(trains=(place(30),)), NAME)
    assert finding.where.line == 30


def test_a_frozen_encoder_is_noted() -> None:
    (finding,) = judged(looks(feeds=True, norms=1), NAME)
    assert finding.severity == "note"


def test_averages_samplers_copies_and_evaluation_mode_are_silent() -> None:
    assert not judged(looks(moves=True), NAME)
    assert not judged(looks(calls=10), NAME)
    assert not judged(looks(twin="student"), NAME)
    assert not judged(looks(training=False), NAME)
    assert not judged([*looks(), look(12, moves=True), look(13), look(14)], NAME)  # one side of a game rests
    assert not judged([look(2), look(3, training=False), look(4)], NAME)
