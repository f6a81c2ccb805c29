"""Attention weights that somebody has become heat maps with their words."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Language, VisionTransformer, images, seeded, tokens
from torch_debugger import pictures
from torch_debugger.pictures.attention_heatmaps import AxisTokens, LayerMaps, path_label, sheet, tokens_of_axes, written
from torch_debugger.system.errors import UsageError

ENGLISH, FRENCH = ["the", "cat", "sat"], ["le", "chat", "assis", "."]


def weights(*shape: int, sharp: float = 2.0) -> torch.Tensor:
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(1)) * sharp).softmax(-1)


def texts(picture: pictures.Picture) -> list[list[str]]:
    """The words below and beside each map."""
    axes = [each for each in picture.figure().axes if each.get_xlabel()]
    return [[label.get_text() for label in axis.get_ticklabels()] for axis in (axes[0].xaxis, axes[0].yaxis)]


def test_one_map_with_input_and_output_tokens() -> None:
    by_place = pictures.attention(weights(4, 3), ENGLISH, FRENCH)
    by_name = pictures.attention(weights(4, 3), input_tokens=ENGLISH, output_tokens=FRENCH)
    assert texts(by_place) == texts(by_name) == [ENGLISH, FRENCH]
    assert by_place.weights[0].shape == (1, 1, 4, 3) and by_place.layers == ("attention",)
    assert_as_looked_at(by_place, "attention_given")


@pytest.mark.parametrize(
    ("given", "layers", "shape"),
    [
        (weights(3, 3), 1, (1, 1, 3, 3)),
        (weights(2, 3, 3), 1, (1, 2, 3, 3)),
        (weights(5, 2, 3, 3), 1, (5, 2, 3, 3)),
        (weights(4, 5, 2, 3, 3), 4, (5, 2, 3, 3)),
        ([weights(5, 2, 3, 3)] * 4, 4, (5, 2, 3, 3)),
        (weights(3, 3).numpy(), 1, (1, 1, 3, 3)),
        ([[0.5, 0.5], [0.1, 0.9]], 1, (1, 1, 2, 2)),
        (weights(3, 3).to(torch.bfloat16).requires_grad_(), 1, (1, 1, 3, 3)),
    ],
    ids=["map", "heads", "batch", "stacked layers", "list of layers", "numpy", "plain lists", "bf16"],
)
def test_every_form_of_weights(given: Any, layers: int, shape: tuple[int, ...]) -> None:
    seen = pictures.attention(given)
    assert len(seen.layers) == layers and {each.shape for each in seen.weights} == {shape}


def test_a_sheet_of_layers_and_heads() -> None:
    causal = torch.tril(torch.ones(12, 12))
    made = [(weights(1, 6, 12, 12) * causal + 1e-4) * causal for _ in range(4)]
    assert_as_looked_at(pictures.attention([each / each.sum(-1, keepdim=True) for each in made]), "attention_sheet")


def test_few_heads_show_their_words() -> None:
    words = ["internationalisation", "of", "$5", "Ġhello"]
    seen = pictures.attention(weights(2, 4, 4), words)
    assert texts(seen)[0] == ["international…", "of", "$5", "Ġhello"]
    assert_as_looked_at(seen, "attention_heads")


def test_heads_put_together() -> None:
    given = weights(3, 4, 4)
    axes = pictures.attention(given, heads="max").figure().axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), given.max(0).values.numpy(), atol=1e-6)


def test_many_tokens_are_written_so_that_they_can_be_read() -> None:
    across, _ = texts(pictures.attention(weights(400, 400), [f"word{place}" for place in range(400)]))
    assert across[:2] == ["word0", "word4"]
    assert all(len(each) == 128 for each in texts(pictures.attention(weights(128, 128), ["a"] * 128)))


def test_a_single_bright_token_of_a_thousand_is_still_seen() -> None:
    """Drawn point by point, most pixels of a small tile would be left out."""
    spiked = torch.full((8, 1000, 1000), 0.0005)
    spiked[3, 517, 333] = 0.5
    figure = pictures.attention(spiked).figure()
    brightest = [axes.images[0].get_array().max() for axes in figure.axes[:8]]
    assert brightest[3] == pytest.approx(0.5) and max(brightest[:3]) < 0.001
    assert "each point is the greatest of up to 8 by 8" in figure.get_supxlabel()


def test_words_are_on_one_line() -> None:
    assert [written(each) for each in ("\n", "\t.", 7, "a" * 20)] == ["\\n", "\\t.", "7", "a" * 13 + "…"]


def test_words_of_a_model() -> None:
    words = [f"w{place}" for place in range(7)]
    seen = pictures.attention(seeded(Language), tokens(), tokens=words, layers=0, heads=0, sample=1)
    assert texts(seen) == [words, words]
    assert seen.title == "Attention of blocks.0, example 1 of 2"


def test_a_translating_model_has_its_words_on_the_right_sides() -> None:
    """Also where both sentences are equally long, and only the name tells who looks at whom."""
    shapes = {"encoder.0.self_attn": (3, 3), "decoder.0.self_attn": (3, 3), "decoder.0.multihead_attn": (3, 3)}
    english, french = ["a", "b", "c"], ["x", "y", "z"]
    found = tokens_of_axes(shapes, english, french, by_name=True)
    assert [tuple(pair) for pair in found.values()] == [(english, english), (french, french), (french, english)]


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(UsageError, match=r"there are 4 input tokens, but in `attention` 4 outputs look at 3 inputs"):
        pictures.attention(weights(4, 3), FRENCH, FRENCH)
    with pytest.raises(UsageError, match=r"there are 3 output tokens, but"):
        pictures.attention(weights(4, 3), ENGLISH, ENGLISH)
    with pytest.raises(UsageError, match=r"holds None: a model with fused attention returns none\. Give the model"):
        pictures.attention((None, None))
    with pytest.raises(UsageError, match=r"but got an empty tuple"):
        pictures.attention(())
    with pytest.raises(UsageError, match=r"but one has shape \[3\]"):
        pictures.attention(torch.ones(3))
    with pytest.raises(UsageError, match=r"but got str.*give `output\.attentions`"):
        pictures.attention("weights")
    with pytest.raises(UsageError, match=r"put together as 'mean', 'max', 'min', but heads='sum' came"):
        pictures.attention(weights(3, 3), heads="sum")
    with pytest.raises(UsageError, match=r"counted from 0: `layer 0`, `layer 1`"):
        pictures.attention([weights(3, 3)] * 2, layers=2)


def test_nan_is_drawn_and_kept() -> None:
    broken = weights(3, 3)
    broken[1] = float("nan")
    seen = pictures.attention(broken)
    assert np.isnan(seen.weights[0][0, 0, 1]).all() and seen.png()


def test_layers_of_a_model_as_a_picture() -> None:
    assert_as_looked_at(pictures.attention(seeded(VisionTransformer), images()), "attention_model")


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("layers.0.self_attn", "layers.0.self_attn"),
        ("encoder.block.0.layer.0.SelfAttention", "encoder.b.0.l.0.SelfAttention"),
        ("decoder.block.0.layer.0.SelfAttention", "decoder.b.0.l.0.SelfAttention"),
        ("model.decoder.layers.0.encoder_attn", "model.decoder.l.0.encoder_attn"),
        ("first.AttentionOfVeryManyLettersInOneName", "…ionOfVeryManyLettersInOneName"),
    ],
)
def test_long_paths_beside_a_map_stay_different(path: str, label: str) -> None:
    assert path_label(path, 30) == label


def test_the_names_of_layers_are_whole() -> None:
    names = [f"encoder.albert_layer_groups.0.albert_layers.{place}.attention" for place in range(4)]
    maps = [
        LayerMaps(name, [f"head {head}" for head in range(3)], np.random.rand(3, 5, 5), AxisTokens(None, None))
        for name in names
    ]
    figure = sheet("Attention", maps, "weight")
    figure.savefig(io.BytesIO(), format="png")
    written = figure.axes[0].get_yticklabels()
    assert all(each.get_window_extent().x0 >= 0 for each in written)
    assert len({each.get_text() for each in written}) == 4
