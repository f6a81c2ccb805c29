"""Axes that were mixed up, answers among the questions, and validation on another scale."""

from __future__ import annotations

from tests.checks.data.looks import batch, given, loader, target
from tests.fakes import judged, place
from torch_debugger.records import Finding, Record, RootInput

VIEW = place(22, code="images = batch.view(-1, 3, 12, 12)")


def mixed_up(before: tuple[int, ...], after: tuple[int, ...], steps: tuple[int, ...] = (1, 2)) -> list[Finding]:
    looks = [given(step, kind="Conv2d", shape=after, viewed=before, viewed_at=VIEW) for step in steps]
    return judged(looks, "reshape-instead-of-permute")


def test_channels_moved_by_a_view() -> None:
    [finding] = mixed_up((40, 12, 12, 3), (40, 3, 12, 12))
    assert finding.message == (
        "`net.0` (Conv2d) is given a tensor of shape [40, 12, 12, 3] read as [40, 3, 12, 12] at train.py:22: "
        "view() does not move axes, it mixes their contents."
    )
    assert finding.edit is not None
    assert finding.edit.after == "images = batch.permute(0, 3, 1, 2)"


def test_views_that_mix_nothing() -> None:
    assert not mixed_up((40, 12, 12, 1), (40, 1, 12, 12))
    assert not mixed_up((40, 144), (40, 1, 12, 12))
    assert not mixed_up((40, 3, 12, 12), (40, 3, 12, 12))
    assert not mixed_up((), (40, 3, 12, 12))
    assert not mixed_up((40, 12, 12, 3), (40, 3, 12, 12), steps=(1, 1))


def leaks(*columns: tuple[int, ...], width: int = 10, **others: object) -> list[Finding]:
    looks: list[Record] = []
    for step, copied in enumerate(columns, 1):
        looks += [given(step, shape=(8, width)), target(step, copied_to=copied, **others)]
    return judged(looks, "target-leakage")


def test_the_answer_is_a_column() -> None:
    [finding] = leaks((9,), (2, 9), (9,))
    assert finding.message == (
        "Column 9 of the 10 that `net.0` is given at train.py:24 is the target itself: equal for all 24 "
        "samples of 3 steps."
    )


def test_columns_that_agree_by_chance() -> None:
    assert not leaks((9,), (), (9,), ())
    assert not leaks((1,), (2,), (3,))
    assert not leaks((9,), (9,), (9,), labels={"1": 8})
    assert not leaks((9,), (9,), (9,), shape=(4,))
    assert not leaks((0,), (0,), (0,), width=1)


def fed(step: int, std: float, trained: bool = True, code: str = "pred = net(x)", size: int = 12) -> RootInput:
    return RootInput("net", trained, (32, size), 0.0, std, place(40 if trained else 50, code=code), step)


TRAINED = [fed(step, 1.0 + 0.1 * step) for step in (1, 2, 3)]


def scales(*records: Record) -> list[Finding]:
    return judged([loader(2, "val_loader"), *TRAINED, *records], "validation-scale-differs")


def test_validation_without_the_scaling_of_training() -> None:
    [finding] = scales(*(fed(step, 50.0, trained=False, code="pred = net(x_val)") for step in (10, 20, 30)))
    assert finding.severity == "error"
    assert finding.message == (
        "`net` is validated at train.py:50 on inputs with a deviation of 50, and trained at train.py:40 on "
        "inputs with 1.3: a factor of 38."
    )


def test_validation_is_known_by_its_loader() -> None:
    looks = [fed(step, 50.0, trained=False) for step in (10, 20, 30)]
    assert not scales(*looks)
    batches = [batch(range(8), step=step, loader=2, trained=False) for step in (10, 20, 30)]
    assert scales(*looks, *batches)


def test_the_same_scale_or_another_shape() -> None:
    code = "pred = net(x_val)"
    assert not scales(*(fed(step, 3.0, trained=False, code=code) for step in (10, 20, 30)))
    assert not scales(*(fed(step, 50.0, trained=False, code=code, size=7) for step in (10, 20, 30)))
    assert not scales(*(fed(step, std, trained=False, code=code) for step, std in ((10, 50.0), (20, 1.0), (30, 50.0))))
