"""Do the weights that a loss was computed with still stand when its backward begins?

A write through `.data` is counted by no version, and a parameter that is replaced leaves the old object in the
graph: autograd takes both without a word. Compared on some deep steps, from the end of a model's forward to the
backward of a loss whose graph has that forward in it.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.data_writes import data_writes
from torch_debugger.anatomy.frames import place_of
from torch_debugger.anatomy.graph_nodes import walk_nodes
from torch_debugger.anatomy.running import in_transform
from torch_debugger.anatomy.sources import user_files
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.data_written import WrittenValues
from torch_debugger.probes.model_forwards import ModelForward, take_forward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.replaced_parameters import ReplacedParameters
from torch_debugger.probes.sampling import DEEP
from torch_debugger.probes.watch import Watch


class GraphWeights(Probe):
    name = "graph weights"
    MOST_LOOKS = 12  # deep steps
    MOST_NODES = 3000
    MOST_FORWARDS = 16  # before one backward; of more, it is not known which one was the last

    def __init__(self, watch: Watch, backward: Backward, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.backward = backward
        self.replaced = ReplacedParameters(watch, optimizers)
        self.written = WrittenValues(watch)
        self._forwards: list[ModelForward] = []
        self._step = 0
        self._looks = 0

    def begin_step(self, depth: int) -> None:
        self._forwards = []
        if depth == DEEP and self._looks < self.MOST_LOOKS:
            self.replaced.begin_step()

    def see_output(self, path: str, module: nn.Module, given: Any, made: Any) -> None:
        """After each module of a deep step; those of whole models count."""
        root = self.backward.roots.of(module)
        if root is None or root.name != path or in_transform():
            return
        if self._step != self.watch.step:
            self._step, self._looks = self.watch.step, self._looks + 1
        if self._looks > self.MOST_LOOKS or len(self._forwards) > self.MOST_FORWARDS:
            return
        with_norms = len(self._forwards) < self.MOST_FORWARDS and bool(data_writes(user_files()))
        forward = take_forward(root.name, module, made, with_norms=with_norms)
        self._forwards += [forward] if forward is not None else []

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """Before the backward of a deep step."""
        forwards, self._forwards = self._forwards, []
        if self._looks > self.MOST_LOOKS or not forwards:
            return
        nodes, _, _ = walk_nodes(loss.grad_fn, self.MOST_NODES)
        numbers = {node._sequence_nr() for node in nodes}
        leaves = {id(leaf): leaf for node in nodes if (leaf := getattr(node, "variable", None)) is not None}
        used = {id(each.module()): each for each in forwards if not numbers.isdisjoint(each.made)}
        for forward in used.values():
            self.replaced.look_at(forward, leaves, frame)
        writes = data_writes(user_files())
        if not writes or self.backward.saved_hooks:  # to read what such a hook has packed runs the user's code
            return
        for forward in used.values() if len(forwards) <= self.MOST_FORWARDS else ():
            self.written.compare(forward, nodes, leaves, place_of(frame), writes)
        if frame is not None:
            self.written.look_at_variables(nodes, frame, writes)
