"""Do the weights that a loss was computed with still stand when its backward begins?

A write through `.data` is counted by no version, and a parameter that is replaced leaves the old object in the
graph: autograd takes both without a word. Compared on some deep steps, from the end of a model's forward to the
backward: by identity, and by norm where a line of the user's writes `.data`.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.data_writes import DataWrite, data_writes, write_before
from torch_debugger.anatomy.frames import locals_of, place_of
from torch_debugger.anatomy.graph_nodes import saved, walk_nodes
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.line_surroundings import surroundings_of
from torch_debugger.anatomy.parameter_lines import parameter_line
from torch_debugger.anatomy.sources import user_files
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.watch import Watch
from torch_debugger.records import DataWritten, Place, ReplacedParameter
from torch_debugger.stats.summary import norms
from torch_debugger.stats.unseen import no_grad


@dataclass
class _Forward:
    """The weights of one model as its last forward left them."""

    root: str
    module: weakref.ref[nn.Module]
    names: list[str]
    parameters: list[int]  # ids: what has a weak reference cannot be swapped; the graph keeps them alive
    versions: list[int]
    norms: torch.Tensor | None  # only where something writes .data


class GraphWeights:
    MOST_LOOKS = 12  # deep steps
    MOST_NODES = 3000
    MOST_TOLD = 4  # of one name

    def __init__(self, watch: Watch, backward: Backward, optimizers: Optimizers) -> None:
        self.watch = watch
        self.backward = backward
        self.optimizers = optimizers
        self._forwards: dict[str, _Forward] = {}
        self._known: dict[str, int] = {}  # by name, at the last look
        self._replaced: dict[str, int] = {}  # looks at which a name was another object
        self._in_step: set[str] = set()  # names that were replaced between forward and backward
        self._written: dict[str, int] = {}
        self._step = 0
        self._looks = 0

    def see_output(self, path: str, module: nn.Module, given: Any, made: Any) -> None:
        """After each module of a deep step; of a model, its first forward since the last backward counts."""
        root = self.backward.roots.of(module) if path not in self._forwards else None
        if root is None or root.name != path:
            return
        if self._step != self.watch.step:
            self._step, self._looks = self.watch.step, self._looks + 1
        if self._looks > self.MOST_LOOKS:
            return
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        tensors = [p for _, p in named]
        self._forwards[root.name] = _Forward(
            root.name,
            weakref.ref(module),
            [f"{root.name}.{name}" for name, _ in named],
            [id(p) for p in tensors],
            [p._version for p in tensors],
            _norms(tensors) if tensors and data_writes(user_files()) else None,
        )

    def see_backward(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """Before the backward of a deep step."""
        forwards, self._forwards = self._forwards, {}
        writes = data_writes(user_files()) if forwards else ()
        if self._looks > self.MOST_LOOKS or not forwards:
            return
        nodes, _, _ = walk_nodes(loss.grad_fn, self.MOST_NODES)
        leaves = {id(leaf): leaf for node in nodes if (leaf := getattr(node, "variable", None)) is not None}
        place = place_of(frame)
        for forward in forwards.values():
            self._notice_other_objects(forward)
            self._compare_objects(forward, leaves)
            if forward.norms is not None:
                self._compare_values(forward, leaves, place, writes)
        if writes and frame is not None and not self.backward.saved_hooks:
            self._look_at_variables(nodes, frame, place, writes)

    def _notice_other_objects(self, forward: _Forward) -> None:
        """From one look to the next. Not during the forward: functional_call puts others there meanwhile."""
        held = self.optimizers.parameter_ids()
        module = forward.module()
        for name, parameter in module.named_parameters() if module is not None else ():
            full = f"{forward.root}.{name}"
            before = self._known.get(full)
            self._known[full] = id(parameter)
            if full in self._in_step or before is None or id(parameter) in held:
                continue
            if before != id(parameter):
                self._tell_replaced(forward.root, full, parameter, in_step=False)

    def _compare_objects(self, forward: _Forward, leaves: dict[int, torch.Tensor]) -> None:
        """From the forward to the backward."""
        module = forward.module()
        if module is None:
            return
        now = {f"{forward.root}.{name}": p for name, p in module.named_parameters()}
        for name, key in zip(forward.names, forward.parameters, strict=True):
            then, present = leaves.get(key), now.get(name)
            if then is not None and present is not None and present is not then:
                self._in_step.add(name)
                self._tell_replaced(forward.root, name, present, in_step=True)

    def _tell_replaced(self, root: str, name: str, parameter: torch.Tensor, *, in_step: bool) -> None:
        place = parameter_line(name, user_files())  # without such a line it may be a library's business
        looks = self._replaced[name] = self._replaced.get(name, 0) + 1
        if looks > self.MOST_TOLD or not place:
            return
        self.watch.emit(
            ReplacedParameter(
                root=root,
                name=name,
                elements=parameter.numel(),
                in_step=in_step,
                looks=looks,
                place=place,
                step=self.watch.step,
            )
        )

    @no_grad()
    def _compare_values(
        self, forward: _Forward, leaves: dict[int, torch.Tensor], backward: Place, writes: tuple[DataWrite, ...]
    ) -> None:
        """What was written by in-place operations has another version, and autograd watches over it."""
        kept = [
            (index, p)
            for index, key in enumerate(forward.parameters)
            if (p := leaves.get(key)) is not None and p._version == forward.versions[index]
        ]
        write = write_before(backward, writes)
        if not kept or forward.norms is None or write is None:
            return
        before = forward.norms[[index for index, _ in kept]]
        changes = (_norms([p for _, p in kept]) - before).abs() / before.clamp(min=1e-30)
        where = (write.place, backward, self.watch.step)
        met = [(forward.names[index], p.numel()) for index, p in kept]

        def deliver(found: Any) -> None:
            for (name, size), change in zip(met, found.tolist(), strict=True):
                if change > 1e-5:  # the same norm taken twice differs by rounding
                    self._tell_written(DataWritten(name, size, True, change, *where))

        self.watch.transfer.send(changes, deliver)

    def _look_at_variables(
        self, nodes: list[Any], frame: FrameType, backward: Place, writes: tuple[DataWrite, ...]
    ) -> None:
        """A result of the forward whose values autograd keeps, and a line above backward() that writes them."""
        names = locals_of(frame)
        kept: set[int] | None = None
        for write in writes:
            value = names.get(write.target)
            if not is_a(value, torch.Tensor) or not value.grad_fn or not _runs_before(write.place, backward):
                continue
            kept = _kept_memory(nodes) if kept is None else kept
            if value.data_ptr() in kept:
                where = (write.place, backward, self.watch.step)
                self._tell_written(DataWritten(write.target, value.numel(), False, 0.0, *where))

    def _tell_written(self, fact: DataWritten) -> None:
        looks = self._written[fact.name] = self._written.get(fact.name, 0) + 1
        if looks <= self.MOST_TOLD:
            self.watch.emit(fact)


@no_grad()
def _norms(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return norms([tensor.detach() for tensor in tensors])


def _runs_before(write: Place, backward: Place) -> bool:
    """In the same pass of the same loop, under no condition of its own."""
    if write.file != backward.file or not write.line or not backward.line or write.line >= backward.line:
        return False
    one, other = (
        surroundings_of(str(write.file), write.line),
        surroundings_of(str(backward.file), backward.line),
    )
    return one == other


def _kept_memory(nodes: list[Any]) -> set[int]:
    """Where the tensors lie that the graph has kept for its backward."""
    found: set[int] = set()
    for node in nodes:
        for name in dir(node):
            if name.startswith("_saved_"):
                value = saved(node, name)
                if is_a(value, torch.Tensor):
                    found.add(value.data_ptr())
    return found
