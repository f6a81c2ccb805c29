"""`count_parameters(model)`: how many parameters a model has, and where."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from torch_debugger.model.layers import clean_path, inner_model
from torch_debugger.records.units import bytes_text


@dataclass(frozen=True)
class ParameterCount:
    """Each parameter once, however many modules hold it. Use `.total` where a number is needed."""

    total: int
    trainable: int
    bytes: int
    buffers: int  # elements of running statistics and the like, which are no parameters
    buffer_bytes: int
    by_module: dict[str, int]  # the model's direct children; "" for what it holds itself
    by_parameter: dict[str, int]
    without_size: tuple[str, ...] = ()  # those of lazy layers

    @property
    def frozen(self) -> int:
        return self.total - self.trainable

    def __iter__(self) -> Iterator[int]:
        """total, trainable = count_parameters(model)"""
        return iter((self.total, self.trainable))

    def to_dict(self) -> dict[str, Any]:
        return {
            "total": self.total, "trainable": self.trainable, "frozen": self.frozen, "bytes": self.bytes,
            "buffers": self.buffers, "buffer_bytes": self.buffer_bytes, "by_module": self.by_module,
            "by_parameter": self.by_parameter, "without_size": list(self.without_size),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [
            f"Total parameters: {self.total:,} ({bytes_text(self.bytes)})",
            f"Trainable parameters: {self.trainable:,}",
            f"Non-trainable parameters: {self.frozen:,}",
            f"Buffers: {self.buffers:,} ({bytes_text(self.buffer_bytes)})",
        ]
        if self.without_size:
            lines.append(f"No size yet, and not counted: {', '.join(self.without_size)}")
        per_layer = [f"{name}: {count:,}" for name, count in self.by_parameter.items()]
        return "\n".join([*lines, "", "Per-layer parameters:", *per_layer] if per_layer else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def count_parameters(model: nn.Module) -> ParameterCount:
    """How many parameters a model has: shown as a list, one line a parameter.

    total, trainable = count_parameters(model)
    print(count_parameters(model))
    count_parameters(model).by_module["encoder"]
    """
    inner = inner_model(model)
    parts = ModuleParts(inner)
    named: dict[int, tuple[str, OwnedParameter]] = {}
    for path in parts.modules:
        for parameter in parts.held(path):
            named.setdefault(parameter.key, (path, parameter))
    found = [(path, f"{path}.{parameter.name}".lstrip("."), parameter) for path, parameter in named.values()]
    by_module: dict[str, int] = {}
    for path, _, parameter in found:
        top = path.partition(".")[0]
        by_module[top] = by_module.get(top, 0) + parameter.elements
    buffers = [buffer for buffer in inner.buffers() if not nn.parameter.is_lazy(buffer)]
    return ParameterCount(
        sum(parameter.elements for _, _, parameter in found),
        sum(parameter.elements for _, _, parameter in found if parameter.trainable),
        sum(parameter.bytes for _, _, parameter in found),
        sum(buffer.numel() for buffer in buffers),
        sum(buffer.numel() * buffer.element_size() for buffer in buffers),
        by_module,
        {name: parameter.elements for _, name, parameter in found if not parameter.lazy},
        tuple(name for _, name, parameter in found if parameter.lazy),
    )


# The modules of a model that have a row of their own, and which parameters each of them holds.
class OwnedParameter(NamedTuple):
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


class ModuleParts:
    """Path to module, without what torch puts inside: wrappers of torch.compile, parametrizations, the
    modules of a scripted or a quantized one. A module under several paths has its first."""

    def __init__(self, model: nn.Module) -> None:
        self.modules: dict[str, nn.Module] = {}
        self._owned: dict[str, list[OwnedParameter]] = {}
        hidden: list[str] = []
        for raw, module in model.named_modules():
            path = clean_path(raw)
            if not any(path.startswith(beginning) for beginning in hidden):
                self.modules[path] = module  # of a compiled layer and its wrapper, the layer
                inside = f"{path}." if path else ""
                is_packed = any(True for _ in packed_weights(module))
                if isinstance(module, torch.jit.ScriptModule) or is_packed:
                    hidden.append(inside)
                elif parametrize.is_parametrized(module):
                    hidden.append(f"{inside}parametrizations")
            self._keep(path, module)

    def parent(self, path: str) -> str:
        return path.rpartition(".")[0]

    def held(self, path: str) -> list[OwnedParameter]:
        """Its own parameters, without those of modules with a row of their own."""
        return self._owned.get(path, [])

    def absorb(self, path: str) -> None:
        """Takes the rows of this module and those below it away: what they hold counts as its parent's."""
        above = self.parent(path)
        for each in [each for each in self.modules if each == path or each.startswith(f"{path}.")]:
            moved = [one._replace(name=f"{_below(above, each)}.{one.name}") for one in self._owned.pop(each, [])]
            self._owned.setdefault(above, []).extend(moved)
            del self.modules[each]

    def _keep(self, path: str, module: nn.Module) -> None:
        owner = path
        while owner not in self.modules:
            owner = self.parent(owner)
        between = _below(owner, path)
        own = [_owned_parameter(name, value, id(value)) for name, value in module.named_parameters(recurse=False)]
        own += [_owned_parameter(name, value, hash((id(module), name))) for name, value in packed_weights(module)]
        named = [one._replace(name=f"{between}.{one.name}".lstrip(".")) for one in own]
        self._owned.setdefault(owner, []).extend(named)


def _below(above: str, path: str) -> str:
    return path[len(above) :].lstrip(".")


def _owned_parameter(name: str, value: torch.Tensor, key: int) -> OwnedParameter:
    kind = value.requires_grad, value.dtype, value.device
    if nn.parameter.is_lazy(value):
        return OwnedParameter(name, key, (), 0, 0, *kind, lazy=True)
    return OwnedParameter(name, key, tuple(value.shape), value.numel(), value.numel() * value.element_size(), *kind)


# The weights of torch's quantized layers, which are no parameters: packed for the machine they run on.
_ROOM = "torch.ao.nn."


def packed_weights(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """By name; they cannot be trained."""
    if not type(module).__module__.startswith(_ROOM):
        return
    for name in ("weight", "bias"):
        for way, value in _unpacked(module, name):
            if isinstance(value, torch.Tensor):
                yield way, value.detach()


def _unpacked(module: Any, name: str) -> list[tuple[str, Any]]:
    """Of a Linear or a convolution by a method of that name, of a recurrent one all in a dictionary."""
    several = getattr(module, f"get_{name}", None)
    if callable(several):
        return list(several().items())
    one = getattr(module, name, None)
    return [(name, one())] if callable(one) else []
