"""What a model is given, looked at."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.text import Text
from PIL import Image
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    TensorDataset,
    get_worker_info,
)

from tests.pictures.goldens import assert_as_looked_at
from torch_debugger.pictures import show_batch
from torch_debugger.system.errors import UsageError

MEAN, STD = (
    torch.tensor([0.485, 0.456, 0.406])[:, None, None],
    torch.tensor([0.229, 0.224, 0.225])[:, None, None],
)


def blobs(count: int = 16, size: int = 20) -> torch.Tensor:
    """Coloured spots on a dark ground, between 0 and 1."""
    draw = torch.Generator().manual_seed(2)
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    spots = []
    for _ in range(count):
        red, green, blue, across, down = torch.rand(5, generator=draw).tolist()
        spot = torch.exp(-6 * ((x - across + 0.5) ** 2 + (y - down + 0.5) ** 2))
        spots.append(torch.stack([spot * red, spot * green, spot * blue]) + 0.05)
    return torch.stack(spots).clamp(0, 1)


CLASSES = torch.tensor([0, 2, 1, 1, 0, 2, 2, 0] * 2)


def randomness() -> tuple[Any, ...]:
    numpy_state: Any = np.random.get_state()
    return torch.get_rng_state().tolist(), numpy_state[1].tolist(), random.getstate()


def test_images_are_as_they_were_looked_at() -> None:
    images = (blobs() - MEAN) / STD
    images[3] = 0.1
    images[5] = images[2]
    images[7, 0, :3, :3] = float("nan")
    batch = show_batch((images, CLASSES), labels=["cat", "dog", "bird"], most=12)
    assert_as_looked_at(batch, "show_batch")
    assert batch.remarks == (
        "inputs: [16, 3, 20, 20] float32, -1.9 to 2.336, mean -1.42, std 0.651",
        "labels: [16] int64, 3 classes: cat x6, bird x6, dog x4",
        "Odd: NaN or Inf: 9 values, in sample 7.",
        "Odd: Constant, one value everywhere: sample 3.",
        "Odd: Twice in the batch: sample 5 (as 2).",
    )


# The loader


class _Drawing(Dataset[Any]):
    """Every sample draws from each generator there is."""

    def __init__(self) -> None:
        self.own = np.random.default_rng(5)

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        noise = torch.rand(()) + np.random.rand() + random.random() + self.own.random()
        return torch.full((3, 8, 8), float(index)) + float(noise), index


@pytest.mark.parametrize("generator", [None, torch.Generator().manual_seed(9)], ids=["global", "its own"])
def test_it_is_the_batch_that_the_training_will_get_and_nothing_moves(generator: Any) -> None:
    loader = DataLoader(_Drawing(), 6, shuffle=True, generator=generator)
    own = loader.dataset.own.bit_generator  # type: ignore[attr-defined]
    before, state = randomness(), (generator.get_state().tolist() if generator else None, str(own.state))
    shown = show_batch(loader).arrays
    assert randomness() == before
    assert (generator.get_state().tolist() if generator else None, str(own.state)) == state
    images, labels = next(iter(loader))
    assert shown["labels"].tolist() == labels.tolist()
    assert np.allclose(shown["inputs"], images)


class _Counting(Sampler[int]):
    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Iterator[int]:
        self.passes += 1
        return iter(range(8))

    def __len__(self) -> int:
        return 8


def test_a_sampler_that_counts_its_passes_counts_none_of_ours() -> None:
    sampler = _Counting()
    show_batch(DataLoader(TensorDataset(blobs(8)), 4, sampler=sampler))
    assert sampler.passes == 0


def test_workers_are_not_started() -> None:
    loader = DataLoader(TensorDataset(blobs(), CLASSES), 4, num_workers=2, persistent_workers=True)
    assert show_batch(loader).arrays["labels"].tolist() == CLASSES[:4].tolist()
    assert loader._iterator is None and loader.num_workers == 2


class _OnlyInWorkers(Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        return torch.full((3, 8, 8), 1.0 / (1 + index)), info.num_workers  # type: ignore[union-attr]


def test_a_dataset_that_needs_a_worker_gets_one() -> None:
    loader = DataLoader(_OnlyInWorkers(), 4, num_workers=2)
    before = randomness()
    assert show_batch(loader).arrays["inputs"].shape == (4, 3, 8, 8)
    assert randomness() == before


class _Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter((torch.full((4,), float(place)), place) for place in range(100))


def test_every_form_of_loader_and_dataset_gives_a_batch() -> None:
    data = TensorDataset(blobs(), CLASSES)
    assert show_batch(DataLoader(_Stream(), 5)).arrays["labels"].tolist() == [0, 1, 2, 3, 4]
    assert show_batch(DataLoader(data, batch_size=None, sampler=[[1, 2]])).arrays["labels"].tolist() == [2, 1]
    assert show_batch(DataLoader(data, batch_sampler=[[4, 5], [6]])).arrays["labels"].tolist() == [0, 2]
    assert show_batch(DataLoader(data, 4, sampler=RandomSampler(data, num_samples=4))).arrays["labels"].size == 4
    assert show_batch(data, most=4).arrays["labels"].tolist() == CLASSES[[0, 5, 10, 15]].tolist()
    assert show_batch(Subset(data, [3, 4])).arrays["labels"].tolist() == [1, 0]
    assert show_batch([(blobs(2), CLASSES[:2]), (blobs(2), CLASSES[2:4])]).arrays["labels"].tolist() == [0, 2]
    assert show_batch([(blobs(1)[0], 4), (blobs(1)[0], 5)]).arrays["labels"].tolist() == [4, 5]
    assert show_batch(_Stream(), most=3).arrays["inputs"].shape == (3, 4)


def test_what_would_be_consumed_is_refused() -> None:
    with pytest.raises(UsageError, match="gives each batch once, and showing one would take it away"):
        show_batch(iter(DataLoader(TensorDataset(blobs()), 4)))
    with pytest.raises(UsageError, match="there is nothing to show"):
        show_batch(DataLoader(TensorDataset(torch.zeros(0, 3)), 4))
    with pytest.raises(UsageError, match="expected a loader, a dataset or a batch, but got int"):
        show_batch(3)
    with pytest.raises(UsageError, match="samples along its first dimension, but got a single value"):
        show_batch(torch.tensor(3.0))
    with pytest.raises(UsageError, match="the samples differ in length: pad them into one tensor"):
        show_batch(([torch.tensor([1, 2, 3]), torch.tensor([1])], torch.tensor([0, 1])))


# Kinds of batches

TIME = torch.linspace(0, 9, 120)
KINDS = [
    ("images", blobs()),
    ("images", (blobs() * 255).to(torch.uint8)),
    ("images", blobs().permute(0, 2, 3, 1)),
    ("images", blobs()[:, :1]),
    ("images", blobs()[:, 0]),
    ("images", torch.rand(4, 12, 9, 9)),
    ("images", torch.rand(2, 8, 3, 9, 9)),
    ("images", torch.rand(2, 1, 8, 9, 9)),
    ("images", (blobs().to(torch.bfloat16), CLASSES)),
    ("images", ([blobs()[0], blobs()[1, :, :9]], [{"boxes": torch.tensor([[1.0, 2, 9, 8]])}, {"boxes": []}])),
    ("images", ((blobs()[0], blobs()[1, :, :9]), ({"boxes": torch.ones(1, 4)}, {"boxes": []}))),
    ("images", blobs()[0]),
    ("images", {"pixel_values": blobs(), "labels": CLASSES}),
    ("images", (blobs(), torch.randint(5, (16, 20, 20)))),
    ("tokens", torch.randint(50, (4, 9))),
    ("tokens", {"input_ids": torch.randint(50, (4, 9)), "attention_mask": torch.ones(4, 9)}),
    ("tokens", [torch.randint(50, (4, 9)), torch.ones(4, 9), torch.zeros(4, 9)]),
    ("texts", (["a fine film for $5 or $6", "bad\nvery 坏"], torch.tensor([1, 0]))),
    ("series", torch.sin(TIME)[None].repeat(5, 1) * torch.arange(1, 6)[:, None]),
    ("series", torch.randn(4, 2, 60)),
    ("series", torch.randn(4, 60, 9)),
    ("table", torch.randn(7, 40)),
    ("table", torch.randn(7)),
    ("table", {"age": torch.rand(5), "income": torch.rand(5), "y": torch.zeros(5)}),
    ("table", (np.random.RandomState(0).rand(6, 4), np.zeros((6, 2)))),
]


@pytest.mark.parametrize(("kind", "batch"), KINDS, ids=[f"{place}: {kind}" for place, (kind, _) in enumerate(KINDS)])
def test_the_kind_is_found_and_drawn(kind: str, batch: Any) -> None:
    picture = show_batch(batch)
    assert kind in picture.title
    assert picture.png(dpi=40)


def test_a_kind_that_is_said_is_believed() -> None:
    assert "series" in show_batch(torch.randn(3, 8), kind="series").title
    with pytest.raises(UsageError, match="kind= is one of images, tokens, texts, series, table, not 'video'"):
        show_batch(blobs(), kind="video")


def test_pillow_images_of_several_sizes_are_shown() -> None:
    pictures = [Image.new("RGB", (9, 12), "red"), Image.new("RGB", (12, 9), "blue")]
    picture = show_batch((pictures, [0, 1]))
    assert picture.remarks[0] == "inputs: 2 of different sizes, 12x9x3, 9x12x3"
    assert labels_of(picture)[:2] == ["0: 0", "1: 1"]
    red = (picture.pixels(50) == (255, 0, 0)).all(axis=2).sum()
    assert red > 100


@pytest.mark.parametrize(
    ("images", "word"),
    [
        ((blobs() - MEAN) / STD, "the normalisation with ImageNet's mean and deviation is undone"),
        (blobs() * 2 - 1, r"moved from -1\.\.1 to 0\.\.1"),
        (blobs() * 255, "divided by 255"),
        (blobs() * 7 - 5, r"stretched from -4\.\S+ to 0\.\.1"),
    ],
)
def test_for_showing_the_normalisation_is_undone_and_said(images: torch.Tensor, word: str) -> None:
    plain, shown = show_batch(blobs()), show_batch(images)
    texts = " ".join(text.get_text().replace("\n", " ") for text in shown.figure().axes[0].texts)
    assert re.search(word, texts), texts
    tiles = [[image.get_array() for image in each.figure().axes[0].images] for each in (plain, shown)]
    if "stretched" not in word:
        assert np.allclose(tiles[0], tiles[1], atol=1e-5)
    assert np.allclose(shown.arrays["inputs"], images)


# Words


def odd(batch: Any, **options: Any) -> list[str]:
    return [remark.removeprefix("Odd: ") for remark in show_batch(batch, **options).remarks if "Odd" in remark]


def test_a_healthy_batch_gets_silence() -> None:
    assert show_batch((blobs(), CLASSES)).remarks[2:] == ("Nothing looks odd.",)
    assert odd((torch.randn(8, 5), torch.randn(8))) == []
    assert odd(torch.randint(9, (8, 20))) == []


def test_what_looks_odd_is_said() -> None:
    assert odd(blobs() * 255) == [
        f"Values reach {float(blobs().max()) * 255:.4g}: not normalised. Divide by 255, or normalise, before the model."
    ]
    assert odd(blobs().permute(0, 2, 3, 1)) == ["Channels come last; torch's convolutions take [N, C, H, W]."]
    assert odd((blobs().double(), CLASSES)) == ["float64: a model of float32 refuses it."]
    assert odd((blobs(), torch.full((16,), 3))) == ["All 16 labels are 3."]
    assert odd((blobs(), CLASSES.sort()[0])) == ["The labels come in order: is the training data shuffled?"]
    assert odd((blobs(), CLASSES[:9])) == ["16 inputs but 9 labels."]
    table = torch.rand(9, 4)
    table[:, 2], table[:, 1] = 7.0, torch.linspace(0, 1e5, 9)
    constant, spread = odd(table)
    assert constant == "Constant: column 2."
    assert spread.startswith("Column 1 spreads ") and spread.endswith("scale the columns.")
    ids = torch.randint(1, 9, (4, 12))
    ids[:, 8:], ids[2] = 0, 0
    assert odd(ids) == ["Constant, the same id throughout: sample 2."]
    assert "padding, as it seems id 0" in show_batch(ids).remarks[0]


def test_a_dataset_that_is_sorted_is_not_said_to_be_shown_in_order() -> None:
    """Its samples are evenly spaced; a loader may well shuffle it."""
    assert odd(TensorDataset(blobs(), CLASSES.sort()[0])) == []


def labels_of(picture: Any) -> list[str]:
    return [text.get_text() for text in picture.figure().axes[0].texts][:4]


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        (torch.tensor([0, 1, 1, 0]), {0: "cat", 1: "dog"}, ["0: cat", "1: dog", "2: dog", "3: cat"]),
        (torch.eye(4), ["a", "b", "c", "d"], ["0: a", "1: b", "2: c", "3: d"]),
        (torch.tensor([[1, 1], [0, 0], [0, 1], [1, 0]]), None, ["0: 0+1", "1: none", "2: 1", "3: 0"]),
        (torch.tensor([0.25, 1.5, 3.0, -1.0]), None, ["0: 0.25", "1: 1.5", "2: 3", "3: -1"]),
        (["red", "blue", "red", "green"], None, ["0: red", "1: blue", "2: red", "3: green"]),
    ],
)
def test_labels_are_read_in_every_form(labels: Any, names: Any, expected: list[str]) -> None:
    assert labels_of(show_batch((blobs(4), labels), labels=names)) == expected


def test_labels_can_be_given_beside_the_images() -> None:
    assert labels_of(show_batch(blobs(4), labels=torch.tensor([3, 2, 1, 0])))[0] == "0: 3"


class _Tokenizer:
    def decode(self, ids: list[int]) -> str:
        return "-".join(map(str, ids))


@pytest.mark.parametrize(
    ("decode", "line"),
    [
        (None, "2 0 1"),
        (["a", "b", "cc"], "cc a b"),
        ({0: "a", 1: "b", 2: "c"}, "cab"),
        ({"a": 0, "b": 1, "word": 2}, "word a b"),
        (lambda ids: f"{sum(ids)} together", "3 together"),
        (_Tokenizer(), "2-0-1"),
    ],
)
def test_ids_become_words(decode: Any, line: str) -> None:
    figure = show_batch(torch.tensor([[2, 0, 1], [1, 1, 0]]), decode=decode).figure()
    assert line in [text.get_text() for text in figure.texts]


# Augmentation


class _Augmented(Dataset[Any]):
    """As torchvision's datasets: `transform` is called where there is one."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        image = Image.fromarray((blobs(12)[index].permute(1, 2, 0) * 255).byte().numpy())
        return (self.transform(image) if self.transform else image), index


def flipped(image: Any) -> torch.Tensor:
    values = torch.tensor(np.asarray(image)).permute(2, 0, 1) / 255
    return values.flip(-1) if random.random() < 0.5 else values + 0.2 * torch.rand(())


@pytest.mark.parametrize(
    "wrap", [lambda data: data, lambda data: DataLoader(data, 4), lambda data: Subset(data, range(12))]
)
def test_augmentation_is_shown_beside_what_it_is_made_from(wrap: Any) -> None:
    data = _Augmented(flipped)
    before = randomness()
    picture = show_batch(wrap(data), augmented=True, most=4)
    assert randomness() == before
    assert data.transform is flipped
    assert list(picture.arrays) == ["sample 0", "sample 11"]
    assert picture.arrays["sample 0"].shape == (4, 3, 20, 20)
    assert picture.remarks[0].startswith("From draw to draw a value varies by ")
    tiles = picture.figure().axes[0].images
    assert len(tiles) == 2 * (1 + 4)
    plain = blobs(12)[0].permute(1, 2, 0)
    assert np.allclose(tiles[0].get_array(), plain, atol=0.01)


def test_augmentation_that_changes_nothing_is_said() -> None:
    still = show_batch(_Augmented(lambda image: torch.tensor(np.asarray(image))), augmented=3, most=2)
    assert still.remarks == (
        "Nothing varies: all draws of a sample are equal. Is augmentation on, and its seed not fixed?",
    )
    assert "no `.transform` to leave out" in show_batch(TensorDataset(blobs(4)), augmented=2).remarks[1]
    with pytest.raises(
        UsageError, match="augmented= draws samples from a dataset, or a loader of one, not from a Tensor"
    ):
        show_batch(blobs(), augmented=True)


class _Signals(Dataset[Any]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return {"signal": torch.sin(TIME * (1 + index)) + 0.1 * torch.randn(120), "label": index}


def test_augmented_signals_are_drawn_over_each_other() -> None:
    picture = show_batch(_Signals(), augmented=5, most=4)
    assert picture.arrays["sample 0"].shape == (5, 120) and picture.png(dpi=40)


def test_an_empty_list_is_said() -> None:
    with pytest.raises(UsageError, match="nothing to show: the loader, dataset or list gives no batch"):
        show_batch([])


def test_pairs_of_inputs_have_the_label_behind_them() -> None:
    same = torch.tensor([1, 0] * 8)
    shown = show_batch(((blobs(), blobs().flip(0)), same))
    assert np.array_equal(shown.arrays["labels"], same.numpy())


def test_noise_on_an_image_is_not_taken_for_a_normalisation() -> None:
    noisy = blobs() * 1.2 - 0.15
    assert "stretched from" in written_below(show_batch(noisy))
    assert "ImageNet" in written_below(show_batch((blobs() - MEAN) / STD))


def test_a_batch_of_nan_is_said_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = show_batch(torch.full((2, 3, 8, 8), float("nan")))
        assert shown.png() and any("NaN or Inf: 384 values" in each for each in shown.remarks)


def test_one_sample_is_one() -> None:
    assert show_batch(blobs(1)).title == "Batch, images: 1 sample"


def written_below(picture: Any) -> str:
    figure = picture.figure()
    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")
