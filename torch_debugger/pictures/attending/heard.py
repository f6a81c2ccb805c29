"""The attention of a model, heard in one run of it that leaves no trace."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from torch_debugger.anatomy.layers import one_layer
from torch_debugger.anatomy.nested import copied, first_tensor, tensors_in
from torch_debugger.errors import UsageError
from torch_debugger.pictures.attending.choosing import Layers, Patterns, is_meant, none_of_these
from torch_debugger.pictures.attending.listening_mode import AttentionHeard
from torch_debugger.pictures.attending.maps import AttentionMaps, Weights, as_array, four_dimensional
from torch_debugger.pictures.devices import refuse_another_device
from torch_debugger.pictures.one_image import one_image_explained
from torch_debugger.pictures.runs_of_models import Inputs, call, for_a_picture

_MOST_BYTES = 4 << 30
_RETURNED = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


def heard_maps(model: nn.Module, inputs: Inputs, layers: Layers = None) -> AttentionMaps:
    """Of the layers that are meant, in the order in which they attend."""
    if inputs is None:
        raise UsageError("a model needs an input to attend to: `pictures.attention(model, inputs)`.")
    with for_a_picture(model) as inner, one_image_explained(inputs):
        refuse_another_device(inner, tensors_in(dict(inputs) if hasattr(inputs, "keys") else inputs))
        keeping = _Keeping(_patterns(inner, layers), _batch_size(inputs))
        with AttentionHeard(inner, keeping.hear):
            call(inner, inputs)
        if not keeping.names:
            _hear_what_is_returned(inner, inputs, keeping)
        return keeping.maps(type(inner).__name__)


class _Keeping:
    """Keeps what was asked for of what is heard, as arrays in main memory."""

    def __init__(self, patterns: Patterns, batch: int | None) -> None:
        self.names: list[str] = []
        self._patterns = patterns
        self._batch = batch
        self._kept: dict[str, Weights] = {}
        self._bytes = 0

    def hear(self, name: str, made: Callable[[], torch.Tensor]) -> None:
        self.names.append(name)
        if is_meant(name, len(self.names) - 1, self._patterns):
            weights = made()
            self._bytes += weights.numel() * 4
            if self._bytes > _MOST_BYTES:
                raise UsageError(
                    f"the attention weights up to `{name}` take more than {_MOST_BYTES >> 30} GiB: "
                    "choose some with `layers=`, or give fewer examples or a shorter input."
                )
            self._kept[name] = four_dimensional(as_array(weights), self._batch)

    def maps(self, model: str) -> AttentionMaps:
        if not self.names:
            raise UsageError(
                f"no attention was seen while {model} ran. Seen are nn.MultiheadAttention, "
                "F.scaled_dot_product_attention, and a softmax over the last dimension that is multiplied with "
                "values by matmul, bmm or einsum; not flex_attention, and not nested tensors. Where yours is "
                "made otherwise, give its weights: "
                "`pictures.attention(weights, input_tokens, output_tokens)`."
            )
        if not self._kept:
            raise UsageError(none_of_these(self.names))
        kept = _rows_joined(self._kept)
        return AttentionMaps(tuple(kept), tuple(kept.values()))


def _patterns(model: nn.Module, layers: Layers) -> Patterns:
    if layers is None:
        return None
    several = [layers] if isinstance(layers, (str, int, nn.Module)) else list(layers)
    return [one_layer(model, each)[0] if isinstance(each, nn.Module) else each for each in several]


def _rows_joined(kept: dict[str, Weights]) -> dict[str, Weights]:
    """A decoder that attends once for each word it says gives one row a call: together they are its map."""
    rows: dict[str, list[Weights]] = {}
    for name, weights in kept.items():
        rows.setdefault(name.partition("#")[0], []).append(weights)
    joined: dict[str, Weights] = {}
    for name, weights in kept.items():
        path = name.partition("#")[0]
        is_one_map = len(rows[path]) > 1 and {each.shape for each in rows[path]} == {weights.shape}
        if not is_one_map or weights.shape[2] > 1:
            joined[name] = weights
        elif path not in joined:
            joined[path] = np.concatenate(rows[path], axis=2)
    return joined


def _batch_size(inputs: Inputs) -> int | None:
    tensor = _first_input(inputs)
    return None if tensor is None or tensor.dim() < 2 else len(tensor)


def _first_input(inputs: Inputs) -> torch.Tensor | None:
    return first_tensor(dict(inputs) if hasattr(inputs, "keys") else inputs)


def _hear_what_is_returned(model: nn.Module, inputs: Inputs, keeping: _Keeping) -> None:
    """A Hugging Face model that attends in a way of its own may still return weights if it is asked to."""
    if "output_attentions" not in inspect.signature(model.forward).parameters:
        return
    given: Any = copied(dict(inputs) if hasattr(inputs, "keys") else inputs)
    asked = {"output_attentions": True}
    if isinstance(given, dict):
        output = model(**(given | asked))
    else:
        output = model(*(given if isinstance(given, (tuple, list)) else (given,)), **asked)
    for field in _RETURNED:
        for place, weights in enumerate(getattr(output, field, None) or ()):
            if isinstance(weights, torch.Tensor) and weights.dim() == 4:
                keeping.hear(f"{field}.{place}", functools.partial(torch.detach, weights))
