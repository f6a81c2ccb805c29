"""The attention of a model, heard in one run of it that leaves no trace."""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from torch_debugger.model.layers import clean_path, one_layer
from torch_debugger.model.nested_tensors import copied, first_tensor, tensors_in
from torch_debugger.pictures.attention_weights import (
    AttentionMaps,
    Layers,
    Patterns,
    Weights,
    as_array,
    four_dimensional,
    is_meant,
    none_of_these,
)
from torch_debugger.pictures.model_runs import Inputs, call, for_a_picture, one_image_explained, refuse_another_device
from torch_debugger.source.frames import frames, locals_of
from torch_debugger.system.errors import UsageError

_MOST_BYTES = 4 << 30
_RETURNED = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


def recorded_maps(model: nn.Module, inputs: Inputs, layers: Layers = None) -> AttentionMaps:
    """Of the layers that are meant, in the order in which they attend."""
    if inputs is None:
        raise UsageError("a model needs an input to attend to: `pictures.attention(model, inputs)`.")
    with for_a_picture(model) as inner, one_image_explained(inputs):
        patterns: Patterns = None
        if layers is not None:
            several = [layers] if isinstance(layers, (str, int, nn.Module)) else list(layers)
            patterns = [one_layer(inner, each)[0] if isinstance(each, nn.Module) else each for each in several]
        plain = dict(inputs) if hasattr(inputs, "keys") else inputs
        refuse_another_device(inner, tensors_in(plain))
        tensor = first_tensor(plain)
        keeping = _Keeping(patterns, None if tensor is None or tensor.dim() < 2 else len(tensor))
        with AttentionRecorder(inner, keeping.hear):
            call(inner, inputs)
        if not keeping.names:
            _hear_what_is_returned(inner, plain, keeping)
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


def _hear_what_is_returned(model: nn.Module, inputs: Inputs, keeping: _Keeping) -> None:
    """A Hugging Face model that attends in a way of its own may still return weights if it is asked to."""
    if "output_attentions" not in inspect.signature(model.forward).parameters:
        return
    arguments: Any = copied(inputs)
    if isinstance(arguments, dict):
        output = model(**{**arguments, "output_attentions": True})
    else:
        output = model(*(arguments if isinstance(arguments, (tuple, list)) else (arguments,)), output_attentions=True)
    for field in _RETURNED:
        for place, weights in enumerate(getattr(output, field, None) or ()):
            if isinstance(weights, torch.Tensor) and weights.dim() == 4:
                keeping.hear(f"{field}.{place}", functools.partial(torch.detach, weights))


# Attention heard while a model runs: every function call that weighs values, and the module that made it.
WeightsListener = Callable[[str, Callable[[], torch.Tensor]], None]  # the weights are made only for those who ask


class AttentionRecorder(TorchFunctionMode):
    """Tells `listener` of each attention, in order, with the path of its module (`attn`, then `attn#2`).

    Under such a mode torch leaves the fast path of its transformer layers, which no function call shows.
    """

    def __init__(self, model: nn.Module, listener: WeightsListener) -> None:
        super().__init__()
        self._paths = {id(module): clean_path(path) for path, module in model.named_modules()}
        self._name = type(model).__name__
        self._listener = listener
        self._calls: Counter[str] = Counter()
        self._trail = SoftmaxTrail()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        result = func(*args, **keywords)
        if func is functional.scaled_dot_product_attention:
            if not result.is_nested:
                self._tell(
                    lambda: zero_where_nothing_is_seen(
                        dot_product_weights(*args, **keywords), result.isfinite().all(-1)
                    )
                )
        elif func is functional.multi_head_attention_forward:

            def weights() -> torch.Tensor:
                call = _MULTI_HEAD.bind(*args, **keywords)
                call.arguments |= {"need_weights": True, "average_attn_weights": False, "training": False}
                made = functional.multi_head_attention_forward(*call.args, **call.kwargs)[1]
                assert made is not None  # they were asked for
                answered = result[0].isfinite().all(-1)  # [out, N], without a batch [out]
                answered = answered.T.unsqueeze(1) if answered.dim() == 2 else answered
                made = zero_where_nothing_is_seen(made, answered)
                return made if made.dim() == 4 else made.unsqueeze(0)

            self._tell(weights)
        else:
            name = getattr(func, "__name__", "")
            mixing = self._trail.mixed_with_values(name, args)
            if mixing is not None:
                self._tell(lambda: mixing)
            self._trail.follow(name, args, keywords, result)
        return result

    def _tell(self, weights: Callable[[], torch.Tensor]) -> None:
        path = self._path()
        self._calls[path] += 1
        self._listener(path if self._calls[path] == 1 else f"{path}#{self._calls[path]}", weights)

    def _path(self) -> str:
        """Of the innermost module of the model that is running; no hook is needed to know."""
        for frame in frames():
            first = frame.f_code.co_varnames[:1] if frame.f_code.co_argcount else ()
            module = locals_of(frame).get(first[0]) if first else None
            if isinstance(module, nn.Module) and id(module) in self._paths:
                return self._paths[id(module)] or self._name
        return self._name


# The weights of fused attention, which no function returns, made once more from what it was called with.
_MULTI_HEAD = inspect.signature(functional.multi_head_attention_forward)


def dot_product_weights(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """[..., out, in] in float32 at least, for the arguments of F.scaled_dot_product_attention."""
    # float32 at least
    query, key = (each if each.dtype == torch.float64 else each.float() for each in (query, key))
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    if attn_mask is not None and hasattr(
        attn_mask, "_materialize"
    ):  # torch.nn.attention.bias.CausalBias, which no other function takes
        attn_mask = attn_mask._materialize(scores.device)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1)


def zero_where_nothing_is_seen(weights: torch.Tensor, answered: torch.Tensor) -> torch.Tensor:
    """A query whose keys are all masked has no weights, and fused attention answers it with zeros, not NaN.

    `answered` is true for queries whose result is finite, [..., out].
    """
    return torch.where(weights.isnan() & answered.unsqueeze(-1), torch.zeros_like(weights), weights)


# Attention written by hand: what a softmax over the last dimension gave and a product then mixes values with.
#
# Followed from the softmax to the product, through dropout, casts and views, so that it does not matter how the
# scores were made: `q @ k.T`, an einsum, or the small network of additive attention.
_PRODUCTS = frozenset({"matmul", "__matmul__", "__rmatmul__", "bmm", "einsum", "baddbmm"})
_TURNED = frozenset({"transpose", "permute", "swapaxes", "movedim", "mT", "transpose_"})


class SoftmaxTrail:
    def __init__(self) -> None:
        self._weights: WeakIdKeyDictionary = WeakIdKeyDictionary()

    def follow(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """To be called after each function."""
        if not isinstance(result, torch.Tensor) or not result.is_floating_point():
            return
        if name == "softmax":
            axis = arguments[1] if len(arguments) > 1 else keywords.get("dim", keywords.get("axis"))
            if axis in (-1, result.dim() - 1):
                self._weights[result] = result
            return
        source = arguments[0] if arguments else None
        if not isinstance(source, torch.Tensor) or source not in self._weights:
            return
        if result is source or name in _PRODUCTS:
            return
        weights = self._weights[source]
        if result.shape == source.shape or name in _TURNED:
            self._weights[result] = weights
        elif result.numel() == weights.numel() and result.shape[-1] == weights.shape[-1]:
            self._weights[result] = weights.reshape(result.shape)

    def mixed_with_values(self, name: str, arguments: tuple[Any, ...]) -> torch.Tensor | None:
        """The weights [..., out, in] that this product multiplies values with, if it does.

        Values are made for each example: a table that is looked up softly is a parameter of two dimensions.
        """
        if name not in _PRODUCTS:
            return None
        # einsum takes its factors also as a list
        flat = [each for value in arguments for each in (value if isinstance(value, (tuple, list)) else [value])]
        factors = [each for each in flat if isinstance(each, torch.Tensor)]
        mixing = [each for each in factors if each in self._weights]
        if len(mixing) != 1 or len(factors) < 2 or any(each.dim() < 3 for each in factors):
            return None
        weights: torch.Tensor = self._weights[mixing[0]]
        return weights if weights.dim() >= 3 else None
