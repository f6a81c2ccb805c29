"""Examples of a loader that excite a unit most: found as by hand, with where in them it looks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import (
    Convolutional,
    Language,
    Recurrent,
    VisionTransformer,
    images,
    seeded,
    tokens,
)
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.pictures.model_runs import record_layers
from torch_debugger.system.errors import UsageError

WORDS = [*"abcdefghij", *(f"word{number} " for number in range(10))]


def squares(count: int = 24) -> torch.Tensor:
    """A bright square at a place and of a strength of its own on each image."""
    drawn = torch.zeros(count, 3, 16, 16)
    for number in range(count):
        top, left = 1 + number % 11, 1 + (3 * number) % 11
        drawn[number, :, top : top + 3, left : left + 3] = 0.2 + (7 * number % count) / count
    return drawn


def bright() -> nn.Module:
    model = nn.Sequential(nn.Conv2d(3, 2, 3, padding=1), nn.ReLU())
    with torch.no_grad():
        model[0].weight[:], model[0].bias[:] = 0.1, 0.0  # type: ignore[index, operator]
    return model


def loader(batch_size: int = 5) -> DataLoader[tuple[torch.Tensor, ...]]:
    return DataLoader(TensorDataset(squares(), torch.arange(24)), batch_size=batch_size)


def test_they_are_those_that_a_sort_of_everything_gives() -> None:
    model, given = seeded(Convolutional), images(40)
    found = pictures.top_examples(model, DataLoader(TensorDataset(given), batch_size=7), "conv2", 4, count=6)
    by_hand = (
        record_layers(model, given, "conv2", lambda module, output: output.clone())["conv2"][:, 4].flatten(1).amax(1)
    )
    order = by_hand.argsort(descending=True)[:6]
    assert found.arrays["numbers"].tolist() == order.tolist()
    assert np.allclose(found.arrays["strengths"], by_hand[order], rtol=1e-5)
    assert np.array_equal(found.arrays["examples"], given[order].numpy())


def test_the_frame_lies_around_what_excites() -> None:
    found = pictures.top_examples(bright(), loader(), "0", 0, count=4)
    for number, place, weights in zip(*(found.arrays[name] for name in ("numbers", "places", "weights")), strict=True):
        assert abs(place[0] - (2 + number % 11)) <= 1 and abs(place[1] - (2 + 3 * number % 11)) <= 1
        rows, columns = weights.nonzero()
        assert np.ptp(rows) == np.ptp(columns) == 2, "the kernel's own 3 by 3"
        assert abs(rows.mean() - place[0]) < 1 and abs(columns.mean() - place[1]) < 1


def test_only_the_strongest_are_kept_while_the_loader_is_read_in_order() -> None:
    asked: list[int] = []

    class Given:
        def __iter__(self) -> Iterator[torch.Tensor]:
            for start in range(0, 24, 4):
                asked.append(start)
                yield squares()[start : start + 4]

    found = pictures.top_examples(bright(), Given(), "0", 0, count=3)
    assert asked == list(range(0, 24, 4))
    assert found.arrays["strengths"].tolist() == sorted(found.arrays["strengths"], reverse=True)
    assert found.title.endswith("of 24 examples")


def test_nothing_is_left_on_the_model_or_the_loader() -> None:
    model, order = seeded(VisionTransformer).train(), torch.Generator().manual_seed(5)
    shuffled = DataLoader(TensorDataset(images(12)), batch_size=4, shuffle=True, generator=order)
    before = order.get_state().tolist()
    with model_untouched(model):
        pictures.top_examples(model, shuffled, "encoder.layers.0.linear1", (16, 31), count=2).png()
    assert order.get_state().tolist() == before


@pytest.mark.parametrize("layer", ["blocks.1", "blocks.0.qkv", "head"])
def test_the_token_of_a_text_is_marked(layer: str) -> None:
    model, given = seeded(Language), tokens(12)
    with model_untouched(model, given):
        found = pictures.top_examples(model, [(given, given)], layer, 3, count=2, words=WORDS)
    output = record_layers(model, given, layer, lambda module, output: output.clone())[layer][..., 3]
    best = int(output.amax(1).argmax())
    assert found.arrays["numbers"][0] == best
    assert found.arrays["places"][0].tolist() == [int(output[best].argmax())]
    assert np.allclose(found.arrays["weights"][0], output[best], atol=1e-5)


def test_a_layer_without_positions_marks_the_token_that_moves_it_most() -> None:
    class Second(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.fc = nn.Embedding(20, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(self.embedding(x)[:, 1])

    found = pictures.top_examples(seeded(Second), tokens(9), "fc", 1, count=3)
    assert (found.arrays["weights"].argmax(1) == 1).all()
    assert pictures.top_examples(seeded(Recurrent), tokens(9), "fc", 1, count=3).png()


def test_padding_is_never_the_strongest() -> None:
    given = {"tokens": tokens(6), "attention_mask": torch.ones(6, 7, dtype=torch.long)}
    given["attention_mask"][:, 3:] = 0
    found = pictures.top_examples(seeded(Language), [given], "blocks.0", 2, count=6)
    assert (found.arrays["places"] < 3).all()


def test_what_cannot_be_found_is_said() -> None:
    with pytest.raises(UsageError, match=r"layer `0` has 2 channels, 0 to 1: there is no channel 2"):
        pictures.top_examples(bright(), loader(), "0", 2)
    with pytest.raises(UsageError, match="there was no batch: the loader is empty"):
        pictures.top_examples(bright(), [], "0", 0)
    with pytest.raises(UsageError, match="no layer `conv`"):
        pictures.top_examples(bright(), loader(), "conv", 0)
    with pytest.raises(UsageError, match="count is how many examples to show"):
        pictures.top_examples(bright(), loader(), "0", 0, count=0)


def test_a_unit_that_never_answers_is_said_in_the_picture() -> None:
    dark = -1.0 - squares()  # beside a square NNPACK's convolution gives 2e-6 where 0 is meant
    found = pictures.top_examples(bright(), dark, "1", 0, count=2)
    assert [axes.get_title().partition("\n")[2] for axes in found.figure().axes] == ["0 here and everywhere"] * 2


def test_images_look_as_they_were_looked_at() -> None:
    assert_as_looked_at(pictures.top_examples(bright(), loader(), "0", 0, count=6), "top_examples_images")


def test_text_looks_as_it_was_looked_at() -> None:
    found = pictures.top_examples(seeded(Language), tokens(12, 16), "blocks.1", 3, count=4, words=WORDS)
    assert_as_looked_at(found, "top_examples_text")


def test_series_look_as_they_were_looked_at() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv1d(2, 4, 9), nn.ReLU(), nn.Conv1d(4, 4, 5))
        series = torch.randn(20, 2, 60).cumsum(2)
    assert_as_looked_at(pictures.top_examples(model, series, "2", 1, count=4), "top_examples_series")


def test_units_are_named_as_for_maximize() -> None:
    model, given = seeded(Convolutional), images(12)
    same = [
        pictures.top_examples(model, given, "conv2", 4),
        pictures.top_examples(model, given, "conv2", unit=4),
        pictures.top_examples(model, given, "conv2", channel=4),
        pictures.top_examples(model, given, "conv2", channel=-8),
    ]
    assert {each.title for each in same} == {"What excites channel 4 of layer conv2 most, of 12 examples"}
    assert len({str(each.arrays["numbers"]) for each in same}) == 1
    logit = pictures.top_examples(model, given, logit=3)
    assert logit.title.startswith("What excites logit 3 of the model's output")
    assert np.allclose(logit.arrays["strengths"][0], model.eval()(given)[:, 3].max().item())


def test_a_unit_that_was_not_said_or_said_twice_is_asked_for() -> None:
    model = seeded(Convolutional)
    with pytest.raises(UsageError, match=r"say which unit: top_examples\(model, loader, layer, 17\)"):
        pictures.top_examples(model, images(), "conv2")
    with pytest.raises(UsageError, match=r"shown for one unit at a time, but 2 came"):
        pictures.top_examples(model, images(), "conv2", channel=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"a unit has 3 numbers, .* One number is a channel as a whole"):
        pictures.top_examples(model, images(), "conv2", [1, 2])


def test_a_dataset_is_read_as_its_loader() -> None:
    dataset = TensorDataset(squares(), torch.arange(24))
    found = pictures.top_examples(bright(), dataset, "0", 1)
    assert found.arrays["numbers"].tolist() == (
        pictures.top_examples(bright(), loader(), "0", 1).arrays["numbers"].tolist()
    )


def test_a_long_title_above_text_is_whole() -> None:
    model = nn.Sequential(OrderedDict(a_language_model_of_letters=seeded(Language)))
    found = pictures.top_examples(model, tokens(), "a_language_model_of_letters.blocks.0.out", 3, words=WORDS)
    found_title = found.figure().axes[0].texts[0]
    assert found_title.get_window_extent().x1 <= found_title.figure.bbox.x1  # type: ignore[union-attr]
