"""Autocast of a script that is meant for CUDA, heeded on a machine without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from torch_debugger.trials.replaced import replaced

_autocast: Any = torch.autocast


def autocast_as_on_cuda(chosen: torch.dtype | None) -> AbstractContextManager[None]:
    """`chosen` takes the place of what the script says; float32 switches autocast off.

    On a machine without CUDA torch switches off what was made for it, so that of contexts made before this
    one the intention is lost: they count as switched on.
    """
    begin, enter = _autocast.__init__, _autocast.__enter__

    def make(
        self: Any,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.get_autocast_dtype("cuda")
        begin(self, device_type, chosen or dtype, enabled and chosen is not torch.float32, cache_enabled)

    def enter_on_cpu(self: Any) -> Any:
        if self.device == "cuda":
            make(self, "cuda", self.fast_dtype, cache_enabled=self._cache_enabled)
        return enter(self)

    return replaced([(_autocast, "__init__", make), (_autocast, "__enter__", enter_on_cpu)])
