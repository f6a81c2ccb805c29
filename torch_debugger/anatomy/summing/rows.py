"""The rows of a summary: one for each call of a module, in order, numbers and words only."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from torch_debugger.anatomy.forward_methods import has_forward
from torch_debugger.anatomy.summing.call_tree import MACS, SECONDS, Node, nodes
from torch_debugger.anatomy.summing.parts import Held, Parts
from torch_debugger.anatomy.summing.seen import Seen, dtype_name


@dataclass(frozen=True)
class Own:
    """What a row adds to the totals: no other row has it, so that every column sums up to its total."""

    params: int = 0
    trainable_params: int = 0
    param_bytes: int = 0
    macs: int = 0
    output_bytes: int = 0
    seconds: float = 0.0

    def __add__(self, other: Own) -> Own:
        return Own(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True)
class Row:
    """A module in one of its calls. `params` are all of the module, `own.params` those first met here."""

    path: str
    name: str  # as the module that calls it knows it
    kind: str  # its class
    depth: int
    calls: int  # one after the other, with the same sizes
    called: bool
    idle: bool  # it could have been called in the run, and neither it nor a part of it was
    reused: bool  # there is a row of this module above
    kernel: tuple[int, ...] | None
    inputs: tuple[Seen, ...]
    outputs: tuple[Seen, ...]
    params: int
    trainable_params: int
    held: tuple[Held, ...]  # parameters of its own
    tied: tuple[str, ...]  # those of them that a row above has too
    dtype: str
    device: str
    own: Own
    alike: int = 1  # where a table shows several rows as one: how many they are

    @property
    def input_size(self) -> list[int]:
        """Of the first tensor."""
        return list(self.inputs[0].size) if self.inputs else []

    @property
    def output_size(self) -> list[int]:
        return list(self.outputs[0].size) if self.outputs else []

    @property
    def trainable(self) -> str:
        """True, False or Partial; -- without parameters."""
        if not self.params:
            return "--"
        if self.trainable_params in (0, self.params):
            return str(self.trainable_params > 0)
        return "Partial"


class RowMaker:
    """Goes through a tree once and counts each parameter where it meets it first."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rows: list[Row] = []
        self._counted: dict[int, str] = {}  # parameter -> path of the module it was counted for
        self._met: set[str] = set()
        self._inside = _held_inside(parts)
        self._ran = False

    def rows(self, root: Node) -> tuple[Row, ...]:
        self._ran = root.called
        self._add(root, root.path, 0)
        return tuple(self._rows)

    def _add(self, node: Node, caller: str, depth: int) -> None:
        held = self._parts.held(node.path)
        new = [one for one in held if one.key not in self._counted]
        tied = tuple(one.name for one in held if self._counted.get(one.key, node.path) != node.path)
        self._counted |= {one.key: node.path for one in new}
        inside = list(self._inside[node.path].values())
        row = Row(
            path=node.path,
            name=_name(node.path, caller),
            kind=class_name(node.module),
            depth=depth,
            calls=node.calls,
            called=node.called,
            idle=self._ran and can_be_called(node.module) and not any(each.called for each in nodes(node)),
            reused=node.path in self._met,
            kernel=_kernel(node.module),
            inputs=node.inputs,
            outputs=node.outputs,
            params=sum(one.elements for one in inside),
            trainable_params=sum(one.elements for one in inside if one.trainable),
            held=tuple(held),
            tied=tied,
            dtype=_dtypes(inside, node.outputs),
            device=_joined(str(one.device) for one in inside),
            own=_own(new, node),
        )
        self._met.add(node.path)
        self._rows.append(row)
        for child in node.children:
            self._add(child, node.path, depth + 1)


def down_to(rows: tuple[Row, ...], depth: int) -> list[Row]:
    """Rows that lie deeper are added to the one above them that is shown."""
    shown: list[Row] = []
    for row in rows:
        if row.depth <= depth or not shown:
            shown.append(row)
        else:
            shown[-1] = replace(shown[-1], own=shown[-1].own + row.own)
    return shown


def _held_inside(parts: Parts) -> dict[str, dict[int, Held]]:
    """What a module and all modules below it hold, each parameter once."""
    inside: dict[str, dict[int, Held]] = {path: {} for path in parts.modules}
    for path in parts.modules:
        held = {one.key: one for one in parts.held(path)}
        above = path
        while held:
            inside[above] |= held
            if not above:
                break
            above = parts.parent(above)
    return inside


def class_name(module: nn.Module) -> str:
    """As its owner knows it: a parametrized Conv2d is a Conv2d, a scripted one what it was made from."""
    if parametrize.is_parametrized(module):
        return type(module).__mro__[1].__name__
    return str(getattr(module, "original_name", None) or type(module).__name__)


def _own(new: list[Held], node: Node) -> Own:
    return Own(
        sum(one.elements for one in new),
        sum(one.elements for one in new if one.trainable),
        sum(one.bytes for one in new),
        round(node.own(MACS)),
        node.output_bytes,
        node.own(SECONDS),
    )


def _name(path: str, caller: str) -> str:
    """Below its caller the last part; of a module from elsewhere the whole path."""
    beginning = f"{caller}." if caller else ""
    return path.rpartition(".")[2] if path.startswith(beginning) else path


def can_be_called(module: nn.Module) -> bool:
    """Lists and dictionaries of modules cannot; a scripted one cannot be heard."""
    return not isinstance(module, torch.jit.ScriptModule) and has_forward(module)


def _kernel(module: nn.Module) -> tuple[int, ...] | None:
    kernel: Any = getattr(module, "kernel_size", None)
    several = kernel if isinstance(kernel, (tuple, list)) else (kernel,)
    return tuple(several) if all(type(size) is int for size in several) else None


def _dtypes(inside: list[Held], outputs: tuple[Seen, ...]) -> str:
    """Of its parameters, and of what it gives where that differs: bfloat16 -> float32."""
    held, given = (
        _joined(dtype_name(one.dtype) for one in inside),
        _joined(one.dtype for one in outputs[:1]),
    )
    if held in ("--", given) or given == "--":
        return held if given == "--" else given
    return f"{held} -> {given}"


def _joined(words: Any) -> str:
    return ", ".join(sorted(set(words))) or "--"
