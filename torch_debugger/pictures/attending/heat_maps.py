"""Which tokens look at which: attention weights as heat maps, given or heard in a run of a model."""

from __future__ import annotations

from typing import Any

from torch import nn

from torch_debugger.pictures.attending.choosing import Heads, Layers, chosen_heads, chosen_layers, patterns_of
from torch_debugger.pictures.attending.drawing import drawn
from torch_debugger.pictures.attending.given import given_maps
from torch_debugger.pictures.attending.heard import heard_maps
from torch_debugger.pictures.attending.layer_maps import LayerMaps
from torch_debugger.pictures.attending.maps import AttentionMaps, Weights
from torch_debugger.pictures.attending.tokens import Tokens, tokens_of_axes
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Inputs


class AttentionPicture(Picture):
    """`weights` has one array [N, heads, out, in] for each name in `layers`."""

    layers: tuple[str, ...]
    weights: list[Weights]


def attention(
    source: Any,
    inputs: Inputs | Tokens = None,
    output_tokens: Tokens = None,
    *,
    input_tokens: Tokens = None,
    tokens: Tokens = None,
    layers: Layers = None,
    heads: Heads = None,
    sample: int = 0,
) -> AttentionPicture:
    """Heat maps of attention: weights that you have, or those of every layer and head of a model.

        pictures.attention(weights, input_tokens, output_tokens)        # [out, in], [heads, out, in] ...
        seen = pictures.attention(model, token_ids, tokens=["the", "cat", "sat"])
        seen.weights[0]                                                 # [N, heads, out, in] of seen.layers[0]
        pictures.attention(model, token_ids, layers="encoder.layers.0", heads=[0, 3])

    Weights may also be a list with one tensor for each layer, as Hugging Face models return them. A model is
    run once, in evaluation mode and without a trace; fused attention, which returns no weights, is recomputed
    from its queries and keys. `layers` are paths, patterns, modules or places counted from 0; `heads` are
    places, or "mean" or "max" for one map of all. `sample` is the example of the batch that is drawn.
    """
    words = next((each for each in (input_tokens, tokens) if each is not None), None)
    if isinstance(source, nn.Module):
        maps = heard_maps(source, inputs, layers)
    else:
        maps = chosen_layers(given_maps(source), patterns_of(layers))
        words = inputs if words is None else words
    shapes = {
        name: (each.shape[2], each.shape[3]) for name, each in zip(maps.layers, maps.weights, strict=True)
    }
    axes = tokens_of_axes(shapes, words, output_tokens, by_name=isinstance(source, nn.Module))
    shown = []
    for name, weights in zip(maps.layers, maps.of_sample(sample), strict=True):
        shown.append(LayerMaps(name, *chosen_heads(weights, heads, name), axes[name]))
    return _picture(maps, shown, _title(shown) + maps.example(sample))


def _picture(maps: AttentionMaps, shown: list[LayerMaps], title: str) -> AttentionPicture:
    arrays = dict(zip(maps.layers, maps.weights, strict=True))
    picture = AttentionPicture(title, arrays, lambda: drawn(title, shown))
    picture.layers, picture.weights = maps.layers, list(maps.weights)
    return picture


def _title(shown: list[LayerMaps]) -> str:
    if len(shown) > 1:
        return f"Attention of {len(shown)} layers"
    only = shown[0]
    name = "Attention" if only.layer == "attention" else f"Attention of {only.layer}"
    return f"{name}, {only.heads[0]}" if len(only.heads) == 1 and only.heads != ["head 0"] else name
