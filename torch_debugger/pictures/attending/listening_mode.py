"""Attention heard while a model runs: every function call that weighs values, and the module that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from torch_debugger.anatomy.frames import frames, locals_of
from torch_debugger.anatomy.layers import clean_path
from torch_debugger.pictures.attending.recomputing import (
    dot_product_weights,
    multi_head_weights,
    zero_where_nothing_is_seen,
)
from torch_debugger.pictures.attending.softmax_trail import SoftmaxTrail

Heard = Callable[[str, Callable[[], torch.Tensor]], None]  # the weights are made only for those who ask


class AttentionHeard(TorchFunctionMode):
    """Tells `heard` of each attention, in order, with the path of its module (`attn`, then `attn#2`).

    Under such a mode torch leaves the fast path of its transformer layers, which no function call shows.
    """

    def __init__(self, model: nn.Module, heard: Heard) -> None:
        super().__init__()
        self._paths = {id(module): clean_path(path) for path, module in model.named_modules()}
        self._name = type(model).__name__
        self._heard = heard
        self._calls: Counter[str] = Counter()
        self._trail = SoftmaxTrail()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        result = func(*args, **keywords)
        if func is functional.scaled_dot_product_attention:
            self._tell_dot_product(result, args, keywords)
        elif func is functional.multi_head_attention_forward:
            self._tell_multi_head(result[0], args, keywords)
        else:
            self._tell_hand_made(getattr(func, "__name__", ""), result, args, keywords)
        return result

    def _tell_dot_product(self, mixed: torch.Tensor, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if mixed.is_nested:
            return

        def weights() -> torch.Tensor:
            made = dot_product_weights(*args, **keywords)
            return zero_where_nothing_is_seen(made, mixed.isfinite().all(-1))

        self._tell(weights)

    def _tell_multi_head(self, mixed: torch.Tensor, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        def weights() -> torch.Tensor:
            answered = mixed.isfinite().all(-1)  # [out, N], without a batch [out]
            answered = answered.T.unsqueeze(1) if answered.dim() == 2 else answered
            made = zero_where_nothing_is_seen(multi_head_weights(*args, **keywords), answered)
            return made if made.dim() == 4 else made.unsqueeze(0)

        self._tell(weights)

    def _tell_hand_made(self, name: str, result: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        weights = self._trail.mixed_with_values(name, args)
        if weights is not None:
            self._tell(lambda: weights)
        self._trail.follow(name, args, keywords, result)

    def _tell(self, weights: Callable[[], torch.Tensor]) -> None:
        path = self._path()
        self._calls[path] += 1
        call = path if self._calls[path] == 1 else f"{path}#{self._calls[path]}"
        self._heard(call, weights)

    def _path(self) -> str:
        """Of the innermost module of the model that is running; no hook is needed to know."""
        for frame in frames():
            first = frame.f_code.co_varnames[:1] if frame.f_code.co_argcount else ()
            module = locals_of(frame).get(first[0]) if first else None
            if isinstance(module, nn.Module) and id(module) in self._paths:
                return self._paths[id(module)] or self._name
        return self._name
