"""Modules that forward calls although nobody registered them: children of a plain list."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.roots import Root
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, StrayModuleFact

_TORCHS_OWN = frozenset(vars(nn.Module()))  # its registries: what is in there is registered


class Strays:
    """Finds the attribute that hides a module, and reports each such attribute once."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.parameters: dict[int, str] = {}  # id of a stray parameter -> its would-be path
        self.held: Callable[[], Collection[int]] = tuple  # ids of parameters some optimizer holds; of its probe
        self._told: dict[tuple[int, str], int] = {}

    def meet(self, module: nn.Module, root: Root, callers: list[nn.Module]) -> str:
        """The would-be path of an unregistered module: net.layers[0]"""
        for owner in reversed(callers):
            found = _hiding_place(owner, module)
            if found is not None:
                attribute, container, key = found
                owner_path = root.paths.get(id(owner), root.name)
                path = f"{owner_path}.{attribute}{key}"
                self._remember(module, path)
                self._tell(owner, owner_path, attribute, container)
                return path
        return f"{root.name}.<{type(module).__name__}>"

    def _remember(self, module: nn.Module, path: str) -> None:
        for name, parameter in module.named_parameters():
            self.parameters[id(parameter)] = f"{path}.{name}"

    def _tell(self, owner: nn.Module, owner_path: str, attribute: str, container: str) -> None:
        modules = _modules_in(vars(owner)[attribute])
        parameters = [p for child in modules for p in child.parameters() if p.requires_grad]
        ids = self.held()
        held = sum(1 for parameter in parameters if id(parameter) in ids)
        key = (id(owner), attribute)
        if self._told.get(key) == held:
            return
        self._told[key] = held
        self.watch.emit(
            StrayModuleFact(
                owner=owner_path,
                attribute=attribute,
                container=container,
                kinds=tuple(type(child).__name__ for child in modules[:8]),
                parameters=sum(parameter.numel() for parameter in parameters),
                in_optimizer=held,
                place=attribute_place(type(owner), attribute) or Place(module=owner_path),
                step=self.watch.step,
            )
        )


def _hiding_place(owner: nn.Module, module: nn.Module) -> tuple[str, str, str] | None:
    """(attribute, kind of container, "[key]"), also for containers in a container."""
    for attribute, value in vars(owner).items():
        if attribute not in _TORCHS_OWN:
            for key, item in _entries(value):
                if any(held is module for held in _modules_in(item)):
                    container = "dict" if is_a(value, dict) else type(value).__name__
                    return attribute, container, f"[{key!r}]"
    return None


def _entries(value: Any) -> list[tuple[Any, Any]]:
    if is_a(value, dict):
        return list(value.items())
    return list(enumerate(value)) if is_a(value, (list, tuple)) else []


def _modules_in(value: Any, depth: int = 3) -> list[nn.Module]:
    if isinstance(value, nn.Module):
        return [value]
    inside = [_modules_in(item, depth - 1) for _, item in _entries(value)] if depth else []
    return [module for modules in inside for module in modules]
