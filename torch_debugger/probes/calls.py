"""The module calls under way, as the hooks of a deep step see them begin and end."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass

from torch import nn

from torch_debugger.anatomy.frames import frames
from torch_debugger.probes.flow import Rows
from torch_debugger.probes.roots import Root

_COUNTED = 8  # nested calls, after which the frames are counted again


@dataclass(slots=True)
class Entered:
    """A module call under way."""

    module: nn.Module
    root: Root | None
    row: int | None  # its place in the flow
    handling: int  # id of the exception that was being handled when it began
    own_s: float  # our own time in this thread so far: it is not the module's
    began: float


class Calls(threading.local):
    """The calls under way in one thread, outermost first."""

    def __init__(self) -> None:
        self.stack: list[Entered] = []
        self.rows: Rows = []
        self.modules = 0  # that began since the outermost call did
        self.own_s = 0.0

    def are_too_deep(self) -> bool:
        """A call that is heard takes one frame more than others: what plain Python can just do must not end
        in a RecursionError. Without hooks, the calls further inside take no more than they would."""
        if not self.stack or len(self.stack) % _COUNTED:
            return False
        return sum(1 for _ in frames()) > sys.getrecursionlimit() // 8
