"""CUDA graphs: while one is captured, nothing of ours is captured with it.

A capture records whatever is put on the stream, for every replay, and fails on what cannot be recorded: a look
at a number, pinned memory, an event that is read later. So all probes sleep until it is over.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch


class Captured(Probe):
    name = "cuda graphs"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._slept_before = False

    def install(self, patches: Patches) -> None:
        """`torch.cuda.make_graphed_callables` goes through it too."""
        patches.replace(torch.cuda.graph, "__enter__", self._around_enter)
        patches.replace(torch.cuda.graph, "__exit__", self._around_exit)

    def _around_enter(self, original: Any) -> Any:
        def enter(capture: Any) -> Any:
            self._slept_before, self.watch.active = not self.watch.active, False
            try:
                return original(capture)
            except BaseException:
                self.watch.active = not self._slept_before
                raise

        return enter

    def _around_exit(self, original: Any) -> Any:
        def leave(capture: Any, *error: Any) -> Any:
            try:
                return original(capture, *error)
            finally:
                self.watch.active = not self._slept_before

        return leave
