"""A forward that ends where a layer has its output: what would follow is never computed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import pass_to


class _ReachedError(BaseException):
    """The layer has its output. No `Exception`, so that a forward that catches those lets it through."""


class CutForward:
    """A model up to one call of one of its layers: called with inputs, it gives what the layer gave."""

    def __init__(self, model: nn.Module, path: str, layer: nn.Module, calls: int = 1) -> None:
        self.path = path
        self._model, self._layer, self._calls = model, layer, calls

    def __call__(self, inputs: Any) -> torch.Tensor:
        """The hook is gone when this returns: a backward that runs parts of the forward again is not cut."""
        outputs: list[Any] = []

        def after(module: nn.Module, given: Any, output: Any) -> None:
            outputs.append(output)
            if len(outputs) == self._calls:
                raise _ReachedError

        handle = self._layer.register_forward_hook(after)
        try:
            pass_to(self._model, inputs)
        except _ReachedError:
            pass
        finally:
            handle.remove()
        return given_by(self.path, outputs)


def given_by(path: str, outputs: list[Any]) -> torch.Tensor:
    """The tensor of a layer's last call: its logits where it gives several things by name."""
    if not outputs:
        raise UsageError(f"layer `{path}` is not called in this model's forward for this input.")
    last = outputs[-1]
    named = last.get("logits") if isinstance(last, dict) else getattr(last, "logits", None)
    tensor = first_tensor(named) if named is not None else first_tensor(last)
    if tensor is None:
        raise UsageError(f"layer `{path}` gives no tensor, but {type(last).__name__}.")
    return tensor
