"""`count_parameters(model)`: how many parameters a model has, and where."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from torch_debugger.anatomy.layers import inner_model
from torch_debugger.anatomy.summing.parts import Held, Parts
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
    parts = Parts(inner)
    named: dict[int, tuple[str, Held]] = {}
    for path in parts.modules:
        for held in parts.held(path):
            named.setdefault(held.key, (path, held))
    found = [(path, f"{path}.{held.name}".lstrip("."), held) for path, held in named.values()]
    by_module: dict[str, int] = {}
    for path, _, held in found:
        top = path.partition(".")[0]
        by_module[top] = by_module.get(top, 0) + held.elements
    buffers = [buffer for buffer in inner.buffers() if not nn.parameter.is_lazy(buffer)]
    return ParameterCount(
        sum(held.elements for _, _, held in found),
        sum(held.elements for _, _, held in found if held.trainable),
        sum(held.bytes for _, _, held in found),
        sum(buffer.numel() for buffer in buffers),
        sum(buffer.numel() * buffer.element_size() for buffer in buffers),
        by_module,
        {name: held.elements for _, name, held in found if not held.lazy},
        tuple(name for _, name, held in found if held.lazy),
    )
