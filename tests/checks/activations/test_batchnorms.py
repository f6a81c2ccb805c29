from __future__ import annotations

import pytest

from tests.fakes import judged, place, scalars
from torch_debugger.records import BatchNormLook, ModelFact, ModuleFact, PhaseFact, Record

EVALUATED = PhaseFact("net", False, False, 50)


def net(momentum: float = 0.1, code: str | None = None) -> ModelFact:
    modules = (
        ModuleFact("net", "Net", place(5)),
        ModuleFact("net.bn1", "BatchNorm2d", place(10, code=code), settings={"momentum": momentum}),
        ModuleFact("net.bn2", "BatchNorm2d", place(12), settings={"momentum": momentum}),
    )
    return ModelFact("net", "Net", place(5), modules, (), 1, place(15))


def look(step: int, *shape: int, name: str = "net.bn1", gap: float = 0.1, ratio: float = 1.0) -> BatchNormLook:
    return BatchNormLook(name, shape or (64, 12, 8, 8), gap, ratio, step)


def test_batches_of_one_in_a_model_that_is_evaluated() -> None:
    # The graph is read from the loss on, so the last layer is met first.
    looks = [look(step, 1, 12, 8, 8, name=name) for step in (1, 2, 3) for name in ("net.bn2", "net.bn1")]
    (finding,) = judged([net(), EVALUATED, *looks, scalars(60)], "batchnorm-tiny-batch")
    assert finding.message == (
        "`net.bn1` normalises each channel over 64 values of one sample since step 1, as 1 more layers do."
    )
    assert "`nn.GroupNorm(4, 12)`" in finding.fix
    assert (finding.severity, finding.where.line) == ("warning", 10)
    assert not judged([net(), EVALUATED, *looks, scalars(40)], "batchnorm-tiny-batch"), "a short try"
    assert not judged([net(), *looks, scalars(60)], "batchnorm-tiny-batch"), "never evaluated: it acts on the instance"


def test_two_values_a_channel_are_an_error_in_any_case() -> None:
    looks = [look(step, 2, 32) for step in (1, 2, 3)]
    (finding,) = judged([net(), *looks, scalars(60)], "batchnorm-tiny-batch")
    assert finding.severity == "error"
    assert "over 2 values of 2 samples" in finding.message


def test_one_larger_batch_is_enough_to_be_silent() -> None:
    looks = [look(1, 2, 32), look(2, 2, 32), look(3, 32, 32), look(10, 2, 32)]
    assert not judged([net(), EVALUATED, *looks], "batchnorm-tiny-batch")


def test_a_momentum_from_another_library() -> None:
    code = "self.bn1 = nn.BatchNorm2d(12, momentum=0.99)"
    (finding,) = judged([net(0.99, code), EVALUATED, look(1, 8, 12), look(10, 8, 12)], "batchnorm-stats-diverge")
    assert finding.severity == "warning"
    assert finding.message == (
        "`net.bn1` has `momentum=0.99`: its kept statistics are 99% those of the last batch alone."
    )
    assert finding.edit is not None and finding.edit.after == "self.bn1 = nn.BatchNorm2d(12, momentum=0.1)"


def test_one_batch_of_many_values_is_good_enough_for_a_note() -> None:
    (finding,) = judged([net(0.99), EVALUATED, look(10)], "batchnorm-stats-diverge")
    assert finding.severity == "note"


def test_a_momentum_too_slow_for_the_run_is_measured() -> None:
    (finding,) = judged([net(0.001), EVALUATED, look(300, gap=2.5)], "batchnorm-stats-diverge")
    assert "still 74% their start values at step 300, the means 2.5 deviations away" in finding.message


@pytest.mark.parametrize(
    "records",
    [
        [net(0.99), look(300)],
        [net(0.001), EVALUATED, look(300)],
        [net(0.001), EVALUATED, look(30, gap=2.5)],
        [net(0.01), EVALUATED, look(300, gap=2.5)],
        [net(0.1), EVALUATED, look(300, gap=2.5, ratio=20.0)],
    ],
    ids=["never evaluated", "close all the same", "too early", "had the time", "not momentum's fault"],
)
def test_what_is_not_known_to_be_wrong_is_silent(records: list[Record]) -> None:
    assert not judged(records, "batchnorm-stats-diverge")
