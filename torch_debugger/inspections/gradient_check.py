"""`check_gradients(model)`: which parameters have a gradient, which have none, and why."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.anatomy.layers import inner_model
from torch_debugger.inspections.gradient_reasons import explain_rows
from torch_debugger.inspections.gradient_rows import GradientRow, read_rows
from torch_debugger.inspections.gradient_table import html_table, text_table
from torch_debugger.inspections.leaves import Losses, losses_in


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
    losses = Losses(found, {id(parameter) for parameter in inner.parameters()})
    return shown_where_bare(GradientCheck(explain_rows(read_rows(inner), inner, losses)))
