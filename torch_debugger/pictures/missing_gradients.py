"""`check_gradients(model)`: which parameters have a gradient, which have none, and why."""

from __future__ import annotations

import dataclasses
import html
import io
import itertools
import math
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text
from torch import nn

from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.model.layers import clean_path, inner_model
from torch_debugger.source.frames import locals_of, shown_where_bare
from torch_debugger.stats.values import TensorStats, count, read_counted


class GradientCheck:
    """One row a parameter; true if none of them needs a look."""

    def __init__(self, rows: list[GradientRow]) -> None:
        self.rows = tuple(rows)

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def problems(self) -> tuple[GradientRow, ...]:
        return tuple(row for row in self.rows if not row.ok)

    def __bool__(self) -> bool:
        return self.ok

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[GradientRow]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> GradientRow:
        found = next((row for row in self.rows if name in (row.name, *row.also)), None)
        if found is None:
            raise KeyError(name)
        return found

    def to_dict(self) -> dict[str, Any]:
        """{"ok": ..., "counts": {"fine": 3}, "parameters": {name: {"status": ..., "why": ..., ...}}}"""
        return {
            "ok": self.ok,
            "counts": dict(Counter(row.status for row in self.rows)),
            "parameters": {
                row.name: {
                    "status": row.status, "ok": row.ok, "why": row.why, "shape": list(row.shape),
                    "norm": row.norm, "weight_norm": row.weight.norm, "also": list(row.also),
                }
                for row in self.rows
            },
        }  # fmt: skip

    def __str__(self) -> str:
        return text_table(self.rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.rows)


def check_gradients(model: nn.Module, loss: torch.Tensor | None = None) -> GradientCheck:
    """Which parameters have a gradient, after `loss.backward()` and before the step; nothing is changed.

        loss.backward()
        check_gradients(model)             # prints the table, where its result is not used
        assert check_gradients(model), "some layers do not learn"

    Each parameter's gradient is none, zero, tiny, fine or not finite, and the table says why as far
    as it can be told. What depends on what is read from `loss`; where it is not given, from the
    variables of the calling function that are losses.
    """
    inner = inner_model(model)
    found = losses_in(sys._getframe(1)) if loss is None else {"loss": loss}
    losses = NamedLosses(found, {id(parameter) for parameter in inner.parameters()})
    rows = read_rows(inner)
    reasons = _Reasons(rows, inner, losses)
    return shown_where_bare(GradientCheck([reasons.explained(row) for row in rows]))


# Why a gradient is none, zero, tiny or not finite: only what the numbers beside it show.
_SHUTTING = ("ReLU", "ReLU6", "Hardtanh", "Threshold", "Dropout")
_CUT = "forward does not use it, or the way to it is cut (detach, no_grad, .data, .item)"


class _Reasons:
    def __init__(self, rows: Sequence[GradientRow], model: nn.Module, losses: NamedLosses) -> None:
        self.rows = [row for row in rows if row.trained]
        self.by_name = {row.name: row for row in rows}
        self.held = {row.name: each for row, each in zip(rows, model.parameters(), strict=True)}
        self.modules = {clean_path(path): module for path, module in model.named_modules()}
        self.losses = losses

    def explained(self, row: GradientRow) -> GradientRow:
        if not row.trained:
            old = "; this one is from before" if row.gradient is not None else ""
            return dataclasses.replace(row, why=f"frozen: requires_grad is False{old}", expected=True)
        ways = {"none": self._none, "zero": self._zero, "tiny": self._tiny, "not finite": self._not_finite}
        if row.status not in ways:
            return row
        why, expected = ways[row.status](row)
        return dataclasses.replace(row, why=why, expected=expected)

    def _none(self, row: GradientRow) -> tuple[str, bool]:
        reached = self.losses.reaching(self.held[row.name])
        if reached:
            return f"`{reached}` depends on it: no backward since gradients were last cleared", False
        if all(other.gradient is None for other in self.rows):
            return "no backward yet: no parameter of the model has a gradient", False
        # The parameters that the model begins with have none, and all behind them have one.
        leading = list(itertools.takewhile(lambda other: other.status == "none", self.rows))
        rest = self.rows[len(leading) :]
        if row in leading and all(other.status != "none" for other in rest):
            cut = _owner(rest[0].name) or rest[0].name
            return f"none before `{cut}` has one: the way is cut there (detach, no_grad), or they are unused", False
        named = self.losses.named or "the loss"
        return f"{named} {'do' if ' and ' in named else 'does'} not depend on it: {_CUT}", False

    def _zero(self, row: GradientRow) -> tuple[str, bool]:
        if all(other.status in ("zero", "none") for other in self.rows):
            return "all are zero: cleared by zero_grad(set_to_none=False), or the loss is constant", False
        expected = self._bias_without_effect(row)
        if expected:
            return expected, True
        bias = self._sibling(row, "bias")
        if bias is not None and bias is not row and bias.status == "fine":
            return f"its input was zero: `{bias.name}` has a gradient, so one did arrive", False
        return f"nothing came back through this layer{self._behind(row)}", False

    def _tiny(self, row: GradientRow) -> tuple[str, bool]:
        expected = self._bias_without_effect(row)
        if expected:
            return expected, True
        assert row.gradient is not None
        if is_below_normal(row.gradient):
            smallest = torch.finfo(getattr(torch, row.gradient.dtype)).tiny
            size = f"{rms(row.gradient):.1e} a weight"
            return f"{size}, below {row.gradient.dtype}'s smallest normal number {smallest:.1e}", False
        largest = max(self.rows, key=lambda each: rms(each.gradient) if each.gradient else 0.0)
        share = rms(row.gradient) / rms(largest.gradient) if largest.gradient else 0.0
        return f"vanishes on its way back: {share:.0e} of what `{largest.name}` gets", False

    def _bias_without_effect(self, row: GradientRow) -> str:
        weight = self._sibling(row, "weight")
        if row.name.endswith("bias") and weight is not None and weight.status == "fine":
            return f"as it should be: `{weight.name}` has one, a constant added here has no effect"
        return ""

    def _not_finite(self, row: GradientRow) -> tuple[str, bool]:
        assert row.gradient is not None
        counts = [(row.gradient.nans, "NaN"), (row.gradient.infs, "Inf")]
        text = f"{' and '.join(f'{n:,} {word}' for n, word in counts if n)} of {row.gradient.count:,}"
        wrong = [other for other in self.rows if other.status == "not finite"]
        if len(wrong) == len(self.rows) > 1:
            return f"{text}; as in all parameters: look at the loss first", False
        if row is wrong[-1] and len(wrong) > 1:
            return f"{text}; the last layer that has some: they come from here or behind it", False
        return text, False

    def _sibling(self, row: GradientRow, name: str) -> GradientRow | None:
        owner = _owner(row.name)
        return self.by_name.get(f"{owner}.{name}" if owner else name)

    def _behind(self, row: GradientRow) -> str:
        """Where it may have been stopped: at a later layer that has zeros too, or right behind this one."""
        later = self.rows[self.rows.index(row) :]
        zeros = list(itertools.takewhile(lambda other: other.status == "zero", later))
        last = next((_owner(other.name) for other in reversed(zeros) if other.name.endswith("bias")), "")
        if last and last != _owner(row.name):
            return f", nor through `{last}` further on"
        paths = [*self.modules, ""]
        following = paths[paths.index(_owner(row.name)) + 1]
        kind = type(self.modules[following]).__name__ if following else ""
        if kind in _SHUTTING:
            return f": `{following}` ({kind}) comes next, all of its units may be dead"
        return ": units behind it are dead, or its output is multiplied by 0"


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


# What is known of each parameter's gradient: numbers first, judged by none but their own kind.
LAST_BITS = 10.0  # roundings of the weight; a step with lr 0.01 along so short a gradient changes hardly a weight
FAR_BELOW = 1e-3  # of the largest root mean square in the model


@dataclass(frozen=True)
class GradientRow:
    """One parameter; `status` is none, zero, tiny, fine or not finite, and `why` says how that comes."""

    name: str
    shape: tuple[int | str, ...]
    status: str
    trained: bool  # requires_grad
    gradient: TensorStats | None
    weight: TensorStats
    also: tuple[str, ...] = ()  # its other names, where it is shared
    why: str = ""
    expected: bool = False  # nothing to worry about, though not `fine`

    @property
    def ok(self) -> bool:
        return self.status == "fine" or self.expected

    @property
    def norm(self) -> float | None:
        """None where there is no gradient, or one with NaN or Inf in it."""
        return self.gradient.norm if self.gradient is not None and self.gradient.finite else None

    @property
    def ratio(self) -> float | None:
        """The gradient's norm as a share of the weight's."""
        return self.norm / self.weight.norm if self.norm is not None and self.weight.norm else None


def read_rows(model: nn.Module) -> list[GradientRow]:
    """All parameters in the model's order, their numbers in one transfer."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(clean_path(name))
    found = [value for parameter in names for value in (parameter, parameter.grad) if value is not None]
    stats = iter(read_counted([count(value) for value in found]))
    read = [(parameter, next(stats), None if parameter.grad is None else next(stats)) for parameter in names]
    largest = max((rms(gradient) for _, _, gradient in read if gradient is not None), default=0.0)
    return [
        GradientRow(
            name=names[parameter][0],
            shape=weight.shape,
            status=_status(gradient, weight, largest),
            trained=parameter.requires_grad,
            gradient=gradient,
            weight=weight,
            also=tuple(names[parameter][1:]),
        )
        for parameter, weight, gradient in read
    ]


def rms(stats: TensorStats) -> float:
    """The root mean square: a size that does not grow with the number of elements."""
    return stats.norm / math.sqrt(stats.count) if stats.count else 0.0


def is_below_normal(gradient: TensorStats) -> bool:
    """Most of its digits are lost: smaller than the dtype's smallest number of full precision."""
    return rms(gradient) < torch.finfo(getattr(torch, gradient.dtype)).tiny


def _status(gradient: TensorStats | None, weight: TensorStats, largest: float) -> str:
    if gradient is None:
        return "none"
    if not gradient.finite:
        return "not finite"
    if gradient.zeros == gradient.count:
        return "zero"
    last_bit = torch.finfo(getattr(torch, weight.dtype)).eps
    rounds_away = gradient.norm < LAST_BITS * last_bit * weight.norm and rms(gradient) < FAR_BELOW * largest
    return "tiny" if rounds_away or is_below_normal(gradient) else "fine"


# How a check of gradients looks: as text and as HTML.
HEADINGS = ("parameter", "shape", "gradient", "norm", "of weight", "why")
_FINE_SHOWN = 40
_NARROWEST = 100  # columns
_TINY = (
    f"tiny: below the dtype's smallest normal number, or less than {FAR_BELOW:g} of the largest in the model "
    f"and so short that a step with lr 0.01 changes hardly a weight (norm < {LAST_BITS:.0f} eps of its weight)."
)


def text_table(rows: Sequence[GradientRow]) -> str:
    shown, below = _shown(rows)
    table = Table(*HEADINGS, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column in table.columns[:-1]:
        column.no_wrap = True
    above = ""
    for row in shown:
        *cells, why = _cells(row)
        table.add_row(*map(Text, cells), Text("as above" if why and why == above else why))
        above = why
    target = io.StringIO()
    width = max(_NARROWEST, Console().width)
    Console(file=target, width=width, color_system=None).print(table)
    lines = [line.rstrip() for line in target.getvalue().splitlines()]
    words = [part for line in below for part in textwrap.wrap(line, width)]
    return "\n".join([*lines, *words])


def html_table(rows: Sequence[GradientRow]) -> str:
    shown, below = _shown(rows)
    head = "".join(f"<th style='text-align:left'>{name}</th>" for name in HEADINGS)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(row))}</tr>" for row in shown)
    words = "".join(f"<p>{html.escape(line)}</p>" for line in below)
    return f"<table><tr>{head}</tr>{body}</table>{words}"


def _cells(row: GradientRow) -> list[str]:
    shape = ", ".join(str(size) for size in row.shape)
    norm = "-" if row.norm is None else f"{row.norm:.2e}"
    ratio = "-" if row.ratio is None else f"{row.ratio:.0e}"
    shared = f"shared with {', '.join(f'`{name}`' for name in row.also)}" if row.also else ""
    return [row.name, f"[{shape}]", row.status, norm, ratio, ". ".join(filter(None, (row.why, shared)))]


def _shown(rows: Sequence[GradientRow]) -> tuple[list[GradientRow], list[str]]:
    """All that are not fine, and of those that are the first ones; and the lines below them."""
    fine = [row for row in rows if row.status == "fine"]
    left_out = {row.name for row in fine[_FINE_SHOWN:]}
    shown = [row for row in rows if row.name not in left_out]
    problems = sum(not row.ok for row in rows)
    look = f"{problems} {'needs' if problems == 1 else 'need'} a look" if problems else "nothing to worry about"
    lines = [f"{len(rows) - len(shown)} more are fine."] if len(shown) < len(rows) else []
    lines.append(f"{len(rows)} parameters, {look}.")
    lines += [_TINY] if any(row.status == "tiny" for row in rows) else []
    return shown, lines


# What a loss depends on: the leaves of its graph; and the losses within the caller's reach.
_MOST_NODES = 50_000


class NamedLosses:
    """Numbers with a graph, by their names, and the parameters each one depends on."""

    def __init__(self, found: dict[str, torch.Tensor], parameters: set[int]) -> None:
        leaves = {name: {id(leaf) for leaf in leaves_of(loss)} for name, loss in found.items()}
        self._leaves = {name: ids for name, ids in leaves.items() if ids & parameters}

    @property
    def named(self) -> str:
        return " and ".join(f"`{name}`" for name in self._leaves)

    def reaching(self, parameter: torch.Tensor) -> str:
        return next((name for name, ids in self._leaves.items() if id(parameter) in ids), "")


def losses_in(frame: FrameType | None) -> dict[str, torch.Tensor]:
    """The variables of a frame that are one number and have a graph."""
    frame_locals = locals_of(frame) if frame is not None else {}
    return {
        name: value
        for name, value in frame_locals.items()
        if type(value) is torch.Tensor and value.grad_fn is not None and value.numel() == 1
    }


def leaves_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Read from the nodes, which stay when backward() has freed what they saved."""
    nodes = walk_nodes(tensor.grad_fn, _MOST_NODES)[0] if tensor.grad_fn is not None else []
    found = (getattr(node, "variable", None) for node in nodes)
    return [leaf for leaf in found if leaf is not None]
