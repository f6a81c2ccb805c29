"""Features are collected from every kind of model and batch, and the model stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    Segmenting,
    VisionTransformer,
    images,
    seeded,
    tokens,
)
from tests.untouched_models import model_untouched
from torch_debugger import SummaryWriter, pictures
from torch_debugger.system.errors import UsageError

LABELS = [0, 1, 2, 0, 1, 2, 0, 1]


def coloured(count: int = 24) -> tuple[torch.Tensor, torch.Tensor]:
    """Red, green and blue noise, and which it is."""
    classes = torch.arange(count) % 3
    noise = torch.rand(count, 3, 16, 16, generator=torch.Generator().manual_seed(2)) * 0.5
    noise[torch.arange(count), classes] += 0.5
    return noise, classes


def output_of(model: nn.Module, layer: nn.Module, *given: torch.Tensor) -> Any:
    kept: list[Any] = []
    handle = layer.register_forward_hook(lambda *told: kept.append(told[2]))
    with torch.no_grad():
        model.eval()(*given)
    handle.remove()
    return kept[0]


def test_features_over_a_loader_whose_order_stays_its_own() -> None:
    model = seeded(Convolutional).train()
    own = torch.Generator().manual_seed(1)
    inputs, classes = coloured()
    loader = DataLoader(TensorDataset(inputs, classes), 5, shuffle=True, generator=own)
    before = own.get_state()
    with model_untouched(model, inputs):
        seen = pictures.embeddings(model, loader, "conv2")
    assert torch.equal(own.get_state(), before)
    order = torch.cat([batch[1] for batch in loader]).tolist()
    assert seen.labels == order  # as the next epoch will be
    assert seen.features.shape == (24, 12) and seen.points.shape == (24, 2)
    assert seen.title == "Features of conv2 (mean over 64 places), principal components"
    assert_as_looked_at(seen, "embeddings")


def test_a_layer_of_a_convolution_is_averaged_over_places() -> None:
    model, given = seeded(Convolutional), images(8)
    expected = output_of(model, model.conv1, given).mean((2, 3))
    np.testing.assert_allclose(pictures.embeddings(model, given, "conv1").features, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("maker", "given", "layer", "how"),
    [
        (Recurrent, tokens(8), "lstm", "mean over 7 tokens"),
        (Recurrent, tokens(8), "fc", ""),
        (Language, tokens(8), "blocks.0", "mean over 7 tokens"),
        (VisionTransformer, images(8), "encoder.layers.1", "mean over 17 tokens"),
        (VisionTransformer, images(8), "patch", "mean over 16 places"),
        (Segmenting, images(8), "", "mean over 256 places"),
        (Convolutional, images(8), "relu", "mean over 64 places"),
    ],
)
def test_every_kind_of_layer(maker: type[nn.Module], given: torch.Tensor, layer: str, how: str) -> None:
    model = seeded(maker)
    with model_untouched(model, given):
        seen = pictures.embeddings(model, given, layer or model)
    assert seen.title == f"Features of {layer or 'the model'}{f' ({how})' if how else ''}, principal components"
    assert len(seen.features) == 8


class TimeFirst(nn.Module):
    """Eight words and eight sentences: only the layer knows which is which."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.gru = nn.Embedding(20, 6), nn.GRU(6, 5)
        self.blocks = nn.Sequential(nn.Conv1d(5, 4, 3), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.gru(self.embedding(x).transpose(0, 1))
        return self.blocks(states.permute(1, 2, 0))


def test_time_in_front_and_channels_in_the_middle() -> None:
    model, given = seeded(TimeFirst), tokens(8, length=8)
    states = output_of(model, model.gru, given)[0]
    np.testing.assert_allclose(pictures.embeddings(model, given, "gru").features, states.mean(0), atol=1e-6)
    rows = output_of(model, model.blocks, given)
    np.testing.assert_allclose(pictures.embeddings(model, given, "blocks.1").features, rows.mean(2), atol=1e-6)


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: Any = None) -> torch.Tensor:
        assert labels is None, "the labels would only be spent on a loss"
        return self.embedding(input_ids)


def test_padding_is_left_out_of_the_mean() -> None:
    model, ids = seeded(Masked), tokens(8)
    mask = (torch.arange(7) < torch.arange(8).clamp(min=1)[:, None]).long()
    seen = pictures.embeddings(
        model, [{"input_ids": ids, "attention_mask": mask, "labels": torch.tensor(LABELS)}], "embedding"
    )
    np.testing.assert_allclose(seen.features[3], model.embedding(ids[3, :3]).mean(0).detach(), atol=1e-6)
    assert seen.labels == LABELS and "attention mask" in seen.title


BATCHES = {
    "tuple": lambda x, y: (x, y),
    "list": lambda x, y: [x, y],
    "dictionary": lambda x, y: {"image": x, "label": y},
    "names of forward": lambda x, y: {"x": x, "targets": y, "path": ["a.png"] * len(y)},
    "one-hot": lambda x, y: (x, torch.nn.functional.one_hot(y)),
    "column": lambda x, y: (x, y[:, None]),
}


@pytest.mark.parametrize("form", BATCHES)
@pytest.mark.parametrize("by_hand", [True, False], ids=["given", "from a loader"])
def test_labels_are_found(form: str, by_hand: bool) -> None:
    batch = BATCHES[form](images(8), torch.tensor(LABELS))
    seen = pictures.embeddings(seeded(Convolutional), batch if by_hand else [batch], "fc")
    assert seen.labels == LABELS


def test_batches_without_labels() -> None:
    model = seeded(Convolutional)
    for data in (images(8), [images(4), images(4)], iter([images(8)]), (images(8), torch.rand(8, 16, 16))):
        seen = pictures.embeddings(model, data, "fc")
        assert seen.labels is None and len(seen.features) == 8
        assert seen.png()


@pytest.mark.parametrize("kind", ["compiled", "DataParallel", "bf16", "inference", "channels_last"])
def test_every_kind_of_model(kind: str) -> None:
    model, given = seeded(Convolutional), images(8)
    expected = pictures.embeddings(model, given, "conv2").features
    wrapped: nn.Module = model
    if kind == "compiled":
        wrapped = torch.compile(model)  # type: ignore[assignment]
    if kind == "DataParallel":
        wrapped = nn.DataParallel(model)
    if kind == "bf16":
        model.to(torch.bfloat16)
        given = given.to(torch.bfloat16)
    if kind == "channels_last":
        given = given.to(memory_format=torch.channels_last)
    with torch.inference_mode(kind == "inference"):
        seen = pictures.embeddings(wrapped, given, "conv2")
    np.testing.assert_allclose(seen.features, expected, atol=0.05 if kind == "bf16" else 1e-5)


def test_memory_is_bounded_and_an_endless_loader_ends() -> None:
    def endless() -> Any:
        while True:
            yield coloured(10)

    assert len(pictures.embeddings(seeded(Convolutional), endless(), "fc", most=25).features) == 25


def test_features_too_many_for_memory_end_the_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_debugger.pictures.embedding_features._MOST_NUMBERS", 30)
    seen = pictures.embeddings(seeded(Convolutional), [images(5)] * 9, "fc")
    assert len(seen.features) == 10
    assert seen.figure().axes[0].get_title(loc="left").endswith("more examples would not fit into memory")


def test_points_that_are_not_finite_are_left_out_and_said() -> None:
    given = images(8)
    given[3, 0, 0, 0] = float("nan")
    seen = pictures.embeddings(seeded(Convolutional), (given, torch.arange(8)), "fc")
    assert seen.left_out == 1 and seen.labels == [0, 1, 2, 4, 5, 6, 7]
    caption = seen.figure().axes[0].get_title(loc="left")
    assert caption.endswith("1 not finite and left out")


def test_neighbours_are_those_of_the_same_colour() -> None:
    inputs, classes = coloured()
    seen = pictures.embeddings(seeded(Convolutional), (inputs, classes), "conv1")
    near = seen.neighbours(4, k=3)
    assert {each.label for each in near} == {4 % 3} and 4 not in {each.index for each in near}
    assert near[0].similarity >= near[1].similarity >= near[2].similarity
    rows = torch.from_numpy(seen.features)
    alike = torch.nn.functional.cosine_similarity(rows[4][None], rows)
    assert [each.index for each in near] == alike.argsort(descending=True)[1:4].tolist()


def test_it_goes_to_the_projector(tmp_path: Path) -> None:
    inputs, classes = coloured()
    seen = pictures.embeddings(seeded(Convolutional), (inputs, classes), "conv2")
    with SummaryWriter(tmp_path) as writer:
        seen.log(writer, "features", 3)
    assert "features:00003" in (tmp_path / "projector_config.pbtxt").read_text()
    written = next(tmp_path.rglob("metadata.tsv")).read_text().split()
    assert written == [str(each) for each in classes.tolist()]
    assert next(tmp_path.rglob("sprite.png")).stat().st_size > 100


def test_labels_may_be_given_numbers_or_many() -> None:
    model = seeded(Convolutional)
    inputs, _ = coloured()
    assert pictures.embeddings(model, inputs, "fc", labels=torch.rand(24)).png()  # a colour bar
    many = pictures.embeddings(model, inputs, "fc", labels=[f"name {place}" for place in range(24)])
    legend = [text.get_text() for text in many.figure().axes[0].get_legend().get_texts()]
    assert legend[-1] == "4 others (4)"


def test_the_same_every_time() -> None:
    inputs, classes = coloured()
    first, second = (pictures.embeddings(seeded(Convolutional), (inputs, classes), "fc") for _ in range(2))
    np.testing.assert_array_equal(first.points, second.points)


def test_what_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model = seeded(Convolutional)
    with pytest.raises(UsageError, match=r"no layer `conv3` in this model\. There is `conv"):
        pictures.embeddings(model, images(8), "conv3")
    with pytest.raises(UsageError, match=r"method is one of 'pca', 'tsne', 'umap', but 'mds' came"):
        pictures.embeddings(model, images(8), "fc", method="mds")
    with pytest.raises(UsageError, match=r"there are 3 labels for 8 examples"):
        pictures.embeddings(model, images(8), "fc", labels=[1, 2, 3])
    with pytest.raises(UsageError, match=r"needs at least 3 examples, but of 2"):
        pictures.embeddings(model, images(2), "fc")
    with pytest.raises(UsageError, match=r"at least 3 examples, but most=0 came"):
        pictures.embeddings(model, images(8), "fc", most=0)
    with pytest.raises(UsageError, match=r"shape \[3, 16, 16\], which looks like one image"):
        pictures.embeddings(model, images()[0], "fc")
    with pytest.raises(UsageError, match=r"there was no batch"):
        pictures.embeddings(model, [], "fc")
    with pytest.raises(UsageError, match=r"expected a loader, a dataset or inputs, but got int"):
        pictures.embeddings(model, 3, "fc")
    with pytest.raises(UsageError, match=r"holds no tensor of examples"):
        pictures.embeddings(model, [["a.png", "b.png"]], "fc")
    for library in ("openTSNE", "sklearn.manifold", "umap"):
        monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(UsageError, match=r'method="tsne" needs openTSNE or scikit-learn: `pip install openTSNE`'):
        pictures.embeddings(model, images(8), "fc", method="tsne")
    with pytest.raises(UsageError, match=r'method="umap" needs umap-learn'):
        pictures.embeddings(model, images(8), "fc", method="umap")


def test_other_libraries_are_asked_with_a_fixed_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not installed for the tests: what they are given is looked at instead."""
    asked: dict[str, Any] = {}

    class Maker:
        def __init__(self, **keywords: Any) -> None:
            asked.update(keywords)

        def fit(self, rows: Any) -> Any:
            return rows[:, :2]

        fit_transform = fit

    for name, method in (("openTSNE", "tsne"), ("umap", "umap")):
        fake = type(torch)(name)
        fake.TSNE = fake.UMAP = Maker  # type: ignore[attr-defined]
        monkeypatch.setitem(__import__("sys").modules, name, fake)
        seen = pictures.embeddings(seeded(Convolutional), images(8), "fc", method=method)
        assert asked.pop("random_state") == 0 and seen.points.shape == (8, 2)
    assert asked["perplexity"] == pytest.approx(7 / 3) and asked["n_neighbors"] == 7


def test_classes_may_be_named_and_a_dataset_given() -> None:
    inputs, classes = coloured()
    names = ["red", "green", "blue"]
    seen = pictures.embeddings(seeded(Convolutional), TensorDataset(inputs, classes), "fc", labels=names)
    assert seen.labels == [names[each] for each in classes]
    with pytest.raises(UsageError, match=r"2 labels for 24 examples: give one for each, or the names of all"):
        pictures.embeddings(seeded(Convolutional), (inputs, classes), "fc", labels=names[:2])


def test_batches_of_tokens_may_differ_in_length() -> None:
    batches = [tokens()[:, :length] for length in (7, 5, 6)]
    seen = pictures.embeddings(seeded(Language), batches, "head")
    assert len(seen.features) == sum(map(len, batches))
    assert "mean over all tokens" in seen.title


def test_methods_are_known_however_they_are_written() -> None:
    inputs, _ = coloured()
    assert pictures.embeddings(seeded(Convolutional), inputs, "fc", method="PCA").title.endswith("components")
