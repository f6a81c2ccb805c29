"""Models that are called without a graph beside one that is trained."""

from __future__ import annotations

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.records import QuietModel


def teacher_net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))


def told(teacher: nn.Module, average: bool = False, feeds: bool = False) -> list[QuietModel]:
    student = nn.Linear(2 if feeds else 4, 2)
    with watched() as seen:
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(4):
            x = torch.randn(16, 4)
            with torch.no_grad():
                wanted = teacher(x)
            made = student(wanted) if feeds else student(x)
            (made - wanted).square().mean().backward()
            optimizer.step()
            if average:
                with torch.no_grad():
                    next(teacher.parameters()).mul_(0.99)
    return seen.of(QuietModel)


def test_a_teacher_in_training_mode() -> None:
    first, *_, last = told(teacher_net())
    assert (first.step, last.step, first.name, first.calls) == (2, 4, "teacher", 1)
    assert (first.training, first.dropouts, first.norms, first.moves, first.feeds) == (True, 1, 1, False, False)
    assert (first.call.code, first.twin) == ("wanted = teacher(x)", "")


def test_what_it_does_besides_is_told() -> None:
    assert not told(teacher_net().eval())[0].training
    assert told(teacher_net(), average=True)[0].moves
    assert told(teacher_net(), feeds=True)[0].feeds


def test_a_frozen_model_needs_no_guard_around_it() -> None:
    frozen, student = teacher_net().requires_grad_(False), nn.Linear(4, 2)
    with watched() as seen:
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.randn(16, 4)
            (student(x) - frozen(x)).square().mean().backward()
            optimizer.step()
    assert [look.name for look in seen.of(QuietModel)] == ["frozen", "frozen"]


def test_a_model_without_two_modes_is_of_no_interest() -> None:
    assert told(nn.Linear(4, 2)) == []
