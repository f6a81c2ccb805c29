"""A function of torch's that is made of several ops: which of them made the bad value?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.trials.hunt.states import FINITE, INF, NAN, state_of

_DRAWING = ("dropout", "rand", "bernoulli", "multinomial", "normal")


def find_inside(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """Calls it once more, on the same operands and without a graph; empty if nothing is found that way."""
    name = str(getattr(function, "__name__", ""))
    if name == "grad" or any(word in name for word in _DRAWING):  # a derivative frees its graph
        return ""
    watching = _Inside()
    with torch.no_grad(), watching:
        function(*arguments, **keywords)
    return watching.found


class _Inside(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = {state_of(tensor) for tensor in tensors_in((args, kwargs or {}))}
        result = func(*args, **(kwargs or {}))
        if not self.found:
            made = {state_of(tensor) for tensor in tensors_in(result)}
            if (NAN in made and NAN not in before) or (INF in made and before <= {FINITE}):
                self.found = func.overloadpacket.__name__.strip("_")
        return result
