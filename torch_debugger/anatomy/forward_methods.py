"""The `forward` of a module as its class has it: what torch.jit has made gives its own to an instance only."""

from __future__ import annotations

import inspect
from types import CodeType
from typing import Any

from torch import nn


def _forward(module: nn.Module) -> Any:
    return inspect.getattr_static(type(module), "forward", None)


def has_forward(module: nn.Module) -> bool:
    """Lists and dictionaries of modules have none of their own."""
    return _forward(module) is not nn.Module.forward


def forward_code(module: nn.Module) -> CodeType | None:
    code = inspect.getattr_static(_forward(module), "__code__", None)
    return _forward(module).__code__ if code is not None else None


def forward_arguments(module: nn.Module) -> tuple[str, ...]:
    code = forward_code(module)
    return code.co_varnames[1 : code.co_argcount] if code is not None else ()
