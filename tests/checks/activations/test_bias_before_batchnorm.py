from __future__ import annotations

import dataclasses

from tests.fakes import judged, place
from torch_debugger.records import BatchNormLook, ModelFact, ModuleFact, Place


def net(made: Place) -> ModelFact:
    modules = (
        ModuleFact("net", "Net", place(5)),
        ModuleFact("net.conv1", "Conv2d", made),
        ModuleFact("net.bn1", "BatchNorm2d", place(10)),
    )
    return ModelFact("net", "Net", place(5), modules, (), 1, place(15))


def looks(biased: str, steps: int = 3) -> list[BatchNormLook]:
    return [BatchNormLook("net.bn1", (64, 12, 8, 8), 0.1, 1.0, step, biased) for step in range(1, steps + 1)]


def test_a_bias_right_in_front_of_a_batch_norm() -> None:
    own = net(place(9, code="self.conv1 = nn.Conv2d(1, 12, 3)"))
    (note,) = judged([own, *looks("net.conv1")], "bias-before-batchnorm")
    assert note.message == (
        "`net.conv1` (Conv2d) adds a bias that `net.bn1` right behind it subtracts again: it has no effect."
    )
    assert note.fix == "Write `self.conv1 = nn.Conv2d(1, 12, 3, bias=False)`."
    assert (note.severity, note.where.line) == ("note", 9)


def test_a_line_that_cannot_be_rewritten_gets_the_words_alone() -> None:
    several = net(place(9, code="self.conv1, self.conv2 = nn.Conv2d(1, 12, 3), nn.Conv2d(12, 12, 3)"))
    (note,) = judged([several, *looks("net.conv1")], "bias-before-batchnorm")
    assert note.fix == "Make `net.conv1` with `bias=False`." and note.edit is None


def test_layers_without_a_bias_of_a_library_or_seen_once_are_silent() -> None:
    own = net(place(9))
    assert not judged([own, *looks("")], "bias-before-batchnorm")
    assert not judged([own, *looks("net.conv1", steps=1)], "bias-before-batchnorm")
    assert not judged([net(Place()), *looks("net.conv1")], "bias-before-batchnorm")


def test_several_models_get_one_note_together() -> None:
    modules = [ModuleFact(f"{root}.fc", "Linear", place(9)) for root in ("online", "target")]
    models = [ModelFact(fact.path[:-3], "Net", place(5), (fact,), (), 1, place(15)) for fact in modules]
    modules.insert(0, ModuleFact("online.first", "Linear", place(8)))  # met after the note was made
    models[0] = dataclasses.replace(models[0], modules=(*models[0].modules, modules[0]))
    looks = [BatchNormLook("n", (64, 8), 0.1, 1.0, step, fact.path) for step in (1, 2) for fact in modules[1:]]
    looks += [BatchNormLook("n", (64, 8), 0.1, 1.0, 3, "online.first")]
    (note,) = judged([*models, *looks], "bias-before-batchnorm")
    assert note.message == (
        "`online.fc` (Linear) adds a bias that `n` right behind it subtracts again, and so do 2 more "
        "layers: these biases have no effect."
    )
