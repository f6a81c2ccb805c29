"""Lines that make a NaN or Inf, with the tensors they make it of, and the record a hunt would give of them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.fakes import place
from torch_debugger.records import Edit, NonFinite, Operand, Origin

NAMES: dict[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math}
INF = math.inf


@dataclass(frozen=True)
class Line:
    """One line, what it is given, and what the record says of the op that failed in it."""

    code: str
    op: str
    given: Mapping[str, torch.Tensor]
    operands: tuple[str, ...]  # expressions over what is given
    origin: Mapping[str, Any] = field(default_factory=dict)
    fact: Mapping[str, Any] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        return str(self.origin.get("phase", "loss"))


def line(code: str, op: str, operands: str, *, fact: Mapping[str, Any] | None = None, **others: Any) -> Line:
    """Lists of numbers are tensors given to the line; all else is told of the origin."""
    given = {key: _tensor(value) for key, value in others.items() if isinstance(value, (list, torch.Tensor))}
    told = {key: value for key, value in others.items() if key not in given}
    return Line(code, op, given, tuple(part for part in operands.split(" | ") if part), told, fact or {})


def _tensor(value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.tensor(value)


def run(code: str, given: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Runs the line and a backward through it: its result and every gradient."""
    leaves = {key: _leaf(value) for key, value in given.items()}
    held = {**NAMES, **leaves}
    exec(code.replace("return ", "result = "), held)
    made = [held[name] for name in ("result", "loss", "y", "out") if name in held and name not in given]
    made[0].float().sum().backward()
    return [made[0].detach(), *(leaf.grad for leaf in leaves.values() if leaf.grad is not None)]


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone().requires_grad_() if tensor.is_floating_point() else tensor.clone()


def is_finite(tensors: list[torch.Tensor]) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


def record(case: Line) -> NonFinite:
    """What the hunt would tell: the operands' numbers are counted here the slow, obvious way."""
    held = {**NAMES, **case.given}
    operands = tuple(count(text, eval(text, held)) for text in case.operands)
    facts: dict[str, Any] = {"phase": "loss", "module": None, "made": "nan", "place": place(31, code=case.code)}
    origin = Origin(op=case.op, operands=operands, **{**facts, **case.origin})
    what = "gradient" if case.phase == "backward" else "loss"
    told: dict[str, Any] = {"step": 12, "what": what, "value": "nan", "how": "step", **case.fact}
    return NonFinite(site=place(40, code="loss.backward()"), origin=origin, **told)


def count(name: str, tensor: torch.Tensor) -> Operand:
    values = [float(value) for value in tensor.flatten()]
    finite = [value for value in values if math.isfinite(value)]
    return Operand(
        name=name if isinstance(ast.parse(name, mode="eval").body, ast.Name | ast.Attribute) else "",
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        low=min(finite, default=0.0),
        high=max(finite, default=0.0),
        zeros=values.count(0.0),
        negatives=sum(value < 0 for value in values),
        nans=sum(math.isnan(value) for value in values),
        infs=sum(math.isinf(value) for value in values),
        limit=torch.finfo(tensor.dtype).max if tensor.is_floating_point() else 0.0,
        elements=len(values),
    )


def applied(edit: Edit, code: str) -> str:
    assert edit.before == code
    return edit.after
