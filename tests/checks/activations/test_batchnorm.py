from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import judged, only, place, scalars
from torch_debugger.records import BatchNormLook, ModelFact, ModuleFact, PhaseFact, Place, Record

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


def test_one_batch_of_many_values_is_a_note_and_a_slow_momentum_is_measured() -> None:
    (finding,) = judged([net(0.99), EVALUATED, look(10)], "batchnorm-stats-diverge")
    assert finding.severity == "note", "one batch of many values is good enough for a note"
    # a momentum too slow for the run is measured
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


def conv_net(made: Place) -> ModelFact:
    modules = (
        ModuleFact("net", "Net", place(5)),
        ModuleFact("net.conv1", "Conv2d", made),
        ModuleFact("net.bn1", "BatchNorm2d", place(10)),
    )
    return ModelFact("net", "Net", place(5), modules, (), 1, place(15))


def biased(layer: str, steps: int = 3) -> list[BatchNormLook]:
    return [BatchNormLook("net.bn1", (64, 12, 8, 8), 0.1, 1.0, step, layer) for step in range(1, steps + 1)]


def test_a_bias_right_in_front_of_a_batch_norm() -> None:
    own = conv_net(place(9, code="self.conv1 = nn.Conv2d(1, 12, 3)"))
    (note,) = judged([own, *biased("net.conv1")], "bias-before-batchnorm")
    assert note.message == (
        "`net.conv1` (Conv2d) adds a bias that `net.bn1` right behind it subtracts again: it has no effect."
    )
    assert note.fix == "Write `self.conv1 = nn.Conv2d(1, 12, 3, bias=False)`."
    assert (note.severity, note.where.line) == ("note", 9)


def test_a_line_that_cannot_be_rewritten_gets_the_words_alone() -> None:
    several = conv_net(place(9, code="self.conv1, self.conv2 = nn.Conv2d(1, 12, 3), nn.Conv2d(12, 12, 3)"))
    (note,) = judged([several, *biased("net.conv1")], "bias-before-batchnorm")
    assert note.fix == "Make `net.conv1` with `bias=False`." and note.edit is None


def test_layers_without_a_bias_of_a_library_or_seen_once_are_silent() -> None:
    own = conv_net(place(9))
    assert not judged([own, *biased("")], "bias-before-batchnorm")
    assert not judged([own, *biased("net.conv1", steps=1)], "bias-before-batchnorm")
    assert not judged([conv_net(Place()), *biased("net.conv1")], "bias-before-batchnorm")


def test_several_models_get_one_note_together() -> None:
    modules = [ModuleFact(f"{root}.fc", "Linear", place(9)) for root in ("online", "target")]
    models = [ModelFact(fact.path[:-3], "Net", place(5), (fact,), (), 1, place(15)) for fact in modules]
    modules.insert(0, ModuleFact("online.first", "Linear", place(8)))  # met after the note was made
    models[0] = dataclasses.replace(models[0], modules=(*models[0].modules, modules[0]))
    looks = [BatchNormLook("n", (64, 8), 0.1, 1.0, step, fact.path) for step in (1, 2) for fact in modules[1:]]
    looks += [BatchNormLook("n", (64, 8), 0.1, 1.0, 3, "online.first")]
    assert only(judged([*models, *looks], "bias-before-batchnorm")).message == (
        "`online.fc` (Linear) adds a bias that `n` right behind it subtracts again, and so do 2 more "
        "layers: these biases have no effect."
    )
