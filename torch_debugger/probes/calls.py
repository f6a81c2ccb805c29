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
_TRIED_FROM, _TRIED_TO = 768, 1024  # calls that tell what one costs, after those that are measured in full


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
        self._spent_before_s = 0.0

    def begin_module(self, root: Root | None, spent_s: float) -> float:
        """One more module of this model is called, and so much has gone into this step's look. Once in each
        call of a huge model: what the look will come to, as far as a part of it tells. Else 0."""
        self.modules += 1
        if self.modules == _TRIED_FROM:
            self._spent_before_s = spent_s
        if self.modules != _TRIED_TO or root is None:
            return 0.0
        each_s = (spent_s - self._spent_before_s) / (_TRIED_TO - _TRIED_FROM)
        to_come_s = each_s * (len(root.paths) - _TRIED_TO)
        return spent_s + 2.0 * to_come_s  # its gradients and its update take about as long again

    def are_too_deep(self) -> bool:
        """A call that is heard takes one frame more than others: what plain Python can just do must not end
        in a RecursionError. Without hooks, the calls further inside take no more than they would."""
        if not self.stack or len(self.stack) % _COUNTED:
            return False
        return sum(1 for _ in frames()) > sys.getrecursionlimit() // 8
