"""Finding the way through a model's layers, in their order of definition."""

from __future__ import annotations

from torch_debugger.checks.state import RunState
from torch_debugger.records import Place


def rectifier_place(source: str, state: RunState) -> Place:
    """The ReLU module defined right after this layer; the layer itself where ReLU is a function call."""
    modules = [module for model in state.models.values() for module in model.modules]
    for module, following in zip(modules, [*modules[1:], None], strict=True):
        if module.path == source:
            found = following if following is not None and "ReLU" in following.kind else module
            return Place(found.place.file, found.place.line, found.path, found.place.code)
    return Place(module=source)


def is_last_layer(path: str, state: RunState) -> bool:
    """No layer of its model that has parameters was defined after it."""
    model = state.models.get(path.split(".", 1)[0])
    return model is not None and bool(model.parameters) and model.parameters[-1].path.startswith(path + ".")
