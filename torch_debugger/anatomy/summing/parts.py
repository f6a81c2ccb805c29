"""The modules of a model that have a row of their own, and which parameters each of them holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from torch_debugger.anatomy.layers import clean_path
from torch_debugger.anatomy.summing.packed_weights import is_packed, packed_weights


class Held(NamedTuple):
    """A parameter, or the packed weight of a quantized layer."""

    name: str  # below the module that holds it
    key: int  # the same for a parameter that several modules hold
    size: tuple[int, ...]
    elements: int
    bytes: int
    trainable: bool
    dtype: torch.dtype
    device: torch.device
    lazy: bool = False


class Parts:
    """Path to module, without what torch puts inside: wrappers of torch.compile, parametrizations, the
    modules of a scripted or a quantized one. A module under several paths has its first."""

    def __init__(self, model: nn.Module) -> None:
        self.modules: dict[str, nn.Module] = {}
        self._held: dict[str, list[Held]] = {}
        hidden: list[str] = []
        for raw, module in model.named_modules():
            path = clean_path(raw)
            if not any(path.startswith(beginning) for beginning in hidden):
                self.modules[path] = module  # of a compiled layer and its wrapper, the layer
                hidden += _hidden_below(path, module)
            self._keep(path, module)

    def parent(self, path: str) -> str:
        return path.rpartition(".")[0]

    def held(self, path: str) -> list[Held]:
        """Its own parameters, without those of modules with a row of their own."""
        return self._held.get(path, [])

    def all_held(self) -> Iterator[Held]:
        """Each parameter once."""
        once = {held.key: held for several in self._held.values() for held in several}
        return iter(once.values())

    def absorb(self, path: str) -> None:
        """Takes the rows of this module and those below it away: what they hold counts as its parent's."""
        above = self.parent(path)
        for each in [each for each in self.modules if each == path or each.startswith(f"{path}.")]:
            moved = [one._replace(name=f"{_below(above, each)}.{one.name}") for one in self._held.pop(each, [])]
            self._held.setdefault(above, []).extend(moved)
            del self.modules[each]

    def _keep(self, path: str, module: nn.Module) -> None:
        owner = path
        while owner not in self.modules:
            owner = self.parent(owner)
        between = _below(owner, path)
        own = [_held(name, value, id(value)) for name, value in module.named_parameters(recurse=False)]
        own += [_held(name, value, hash((id(module), name))) for name, value in packed_weights(module)]
        named = [one._replace(name=f"{between}.{one.name}".lstrip(".")) for one in own]
        self._held.setdefault(owner, []).extend(named)


def _below(above: str, path: str) -> str:
    return path[len(above) :].lstrip(".")


def _hidden_below(path: str, module: nn.Module) -> list[str]:
    """How the paths of modules without a row begin."""
    inside = f"{path}." if path else ""
    if isinstance(module, torch.jit.ScriptModule) or is_packed(module):
        return [inside]
    return [f"{inside}parametrizations"] if parametrize.is_parametrized(module) else []


def _held(name: str, value: torch.Tensor, key: int) -> Held:
    kind = value.requires_grad, value.dtype, value.device
    if nn.parameter.is_lazy(value):
        return Held(name, key, (), 0, 0, *kind, lazy=True)
    return Held(name, key, tuple(value.shape), value.numel(), value.numel() * value.element_size(), *kind)
