"""Ears on chosen modules, taken off whatever happens."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from torch_debugger.anatomy.forward_methods import has_forward

# path of this call (`act`, `act#2`), the module, what it was given and what it gave
Listener = Callable[[str, nn.Module, Any, Any], Any]


@contextlib.contextmanager
def listening(layers: dict[str, nn.Module], listener: Listener) -> Iterator[Counter[str]]:
    """Calls the listener after each call of a layer; how often each one ran is counted."""
    ran: Counter[str] = Counter()
    handles = []
    try:
        for path, module in layers.items():
            handles.append(module.register_forward_hook(_hook(path, ran, listener), with_kwargs=True))
        yield ran
    finally:
        for handle in handles:
            handle.remove()


def not_called(layers: dict[str, nn.Module], ran: Counter[str]) -> list[str]:
    """Without lists of modules, which nobody calls."""
    callable_ones = [path for path, module in layers.items() if has_forward(module)]
    return [path for path in callable_ones if path not in ran]


def _hook(path: str, ran: Counter[str], listener: Listener) -> Callable[..., Any]:
    def after(module: nn.Module, arguments: Any, keywords: Any, output: Any) -> Any:
        ran[path] += 1
        call = path if ran[path] == 1 else f"{path}#{ran[path]}"
        return listener(call, module, (arguments, keywords), output)

    return after
