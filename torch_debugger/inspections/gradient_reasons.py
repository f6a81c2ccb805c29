"""Why a gradient is none, zero, tiny or not finite: only what the numbers beside it show."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import torch
from torch import nn

from torch_debugger.anatomy.layers import clean_path
from torch_debugger.inspections.gradient_rows import GradientRow, is_below_normal, rms
from torch_debugger.inspections.leaves import Losses

_SHUTTING = ("ReLU", "ReLU6", "Hardtanh", "Threshold", "Dropout")
_CUT = "forward does not use it, or the way to it is cut (detach, no_grad, .data, .item)"


def explain_rows(rows: Sequence[GradientRow], model: nn.Module, losses: Losses) -> list[GradientRow]:
    reasons = _Reasons(rows, model, losses)
    return [reasons.explained(row) for row in rows]


class _Reasons:
    def __init__(self, rows: Sequence[GradientRow], model: nn.Module, losses: Losses) -> None:
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
        cut = self._cut_behind()
        if cut and row in self._leading():
            return (
                f"none before `{cut}` has one: the way is cut there (detach, no_grad), or they are unused",
                False,
            )
        named = self.losses.named or "the loss"
        return f"{named} {'do' if ' and ' in named else 'does'} not depend on it: {_CUT}", False

    def _leading(self) -> list[GradientRow]:
        """The parameters without gradient that the model begins with."""
        first = next((index for index, row in enumerate(self.rows) if row.status != "none"), 0)
        return self.rows[:first]

    def _cut_behind(self) -> str:
        """The first module with gradients, where all before have none and all after have one."""
        leading = self._leading()
        rest = self.rows[len(leading) :]
        if not leading or any(row.status == "none" for row in rest):
            return ""
        return _owner(rest[0].name) or rest[0].name

    def _zero(self, row: GradientRow) -> tuple[str, bool]:
        if all(other.status in ("zero", "none") for other in self.rows):
            return "all are zero: cleared by zero_grad(set_to_none=False), or the loss is constant", False
        if (expected := self._bias_without_effect(row)) is not None:
            return expected, True
        bias = self._sibling(row, "bias")
        if bias is not None and bias is not row and bias.status == "fine":
            return f"its input was zero: `{bias.name}` has a gradient, so one did arrive", False
        return f"nothing came back through this layer{self._behind(row)}", False

    def _tiny(self, row: GradientRow) -> tuple[str, bool]:
        if (expected := self._bias_without_effect(row)) is not None:
            return expected, True
        assert row.gradient is not None
        if is_below_normal(row.gradient):
            smallest = torch.finfo(getattr(torch, row.gradient.dtype)).tiny
            size = f"{rms(row.gradient):.1e} a weight"
            return f"{size}, below {row.gradient.dtype}'s smallest normal number {smallest:.1e}", False
        largest = max(self.rows, key=lambda each: rms(each.gradient) if each.gradient else 0.0)
        share = rms(row.gradient) / rms(largest.gradient) if largest.gradient else 0.0
        return f"vanishes on its way back: {share:.0e} of what `{largest.name}` gets", False

    def _bias_without_effect(self, row: GradientRow) -> str | None:
        weight = self._sibling(row, "weight")
        if row.name.endswith("bias") and weight is not None and weight.status == "fine":
            return f"as it should be: `{weight.name}` has one, a constant added here has no effect"
        return None

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
        name, kind = self._next_module(_owner(row.name))
        if kind in _SHUTTING:
            return f": `{name}` ({kind}) comes next, all of its units may be dead"
        return ": units behind it are dead, or its output is multiplied by 0"

    def _next_module(self, path: str) -> tuple[str, str]:
        paths = list(self.modules)
        place = paths.index(path) + 1
        return (paths[place], type(self.modules[paths[place]]).__name__) if place < len(paths) else ("", "")


def _owner(name: str) -> str:
    return name.rpartition(".")[0]
