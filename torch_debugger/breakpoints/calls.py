"""The module calls under way, as the hooks see them begin and end."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import CodeType
from typing import Any

from torch import nn

from torch_debugger.breakpoints.breakpoint import Breakpoint


@dataclass(slots=True)
class Call:
    module: nn.Module
    path: str
    posts: tuple[Breakpoint, ...]  # that are about this module
    input: Any = None
    code: CodeType | None = None  # of its forward, if that is the user's and will be seen
    seen: bool = False  # its frame has begun
    asked: bool = False  # at its return


class Calls(threading.local):
    """Of one thread, outermost first."""

    def __init__(self) -> None:
        self.stack: list[Call] = []
