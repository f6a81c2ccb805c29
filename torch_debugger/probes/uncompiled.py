"""torch.compile left out, where a script runs no further than its first step: models are seen by layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe


class Uncompiled(Probe):
    name = "compile"

    def install(self, patches: Patches) -> None:
        patches.replace(torch, "compile", lambda original: _as_it_is)
        patches.replace(nn.Module, "compile", lambda original: _not_at_all)


def _as_it_is(model: Any = None, *arguments: Any, **keywords: Any) -> Any:
    """Also as a decorator with options: @torch.compile(mode=...)."""
    return (lambda function: function) if model is None else model


def _not_at_all(model: nn.Module, *arguments: Any, **keywords: Any) -> None:
    return None
