"""Do the weights that a loss was computed with still stand when its backward begins?

A write through `.data` is counted by no version, and a parameter that is replaced leaves the old object in the
graph: autograd takes both without a word. Compared on some deep steps, from the end of a model's forward to the
backward of a loss whose graph has that forward in it.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.model.hooks import in_transform
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.tensor_memory import saved_by
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import DataWritten, Place, ReplacedParameter
from torch_debugger.source.detached_results import DataWrite, data_writes, touched_between, write_before
from torch_debugger.source.files import user_files
from torch_debugger.source.frames import locals_of, place_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.parameters import parameter_line
from torch_debugger.source.statements import in_same_pass
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import norms


class GraphWeights(Probe):
    name = "graph weights"
    MOST_LOOKS = 12  # deep steps
    MOST_NODES = 3000
    MOST_FORWARDS = 16  # before one backward; of more, it is not known which one was the last

    def __init__(self, watch: Watch, forward: Forward, backward: Backward, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.backward = backward
        self.replaced = ReplacedParameters(watch, optimizers)
        self.written = WrittenValues(watch)
        self._forwards: list[ModelForward] = []
        self._step = 0
        self._looks = 0
        forward.on_output.append(self.see_output)
        backward.on_look.append(self.see_backward)

    def begin_step(self, depth: int) -> None:
        self._forwards = []
        if depth == DEEP and self._looks < self.MOST_LOOKS:
            self.replaced.begin_step()

    def see_output(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
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


# Writes through `.data` that come behind an op which keeps the old values for its backward.
#
# Of parameters the norm tells, from the end of the forward to the backward. Of results of the forward the order:
# autograd numbers its nodes, and what the script's variables held before the line of the write ran before it.
class WrittenValues:
    MOST_TOLD = 4  # of one name

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._reports: Counter[str] = Counter()

    @no_grad()
    def compare(
        self,
        forward: ModelForward,
        nodes: list[Any],
        leaves: dict[int, torch.Tensor],
        backward: Place,
        writes: tuple[DataWrite, ...],
    ) -> None:
        """What was written by in-place operations has another version, and autograd watches over it."""
        write = write_before(backward, writes)
        if forward.norms is None or write is None:
            return
        needed = _kept_memory(nodes, forward.end)  # no gradient reads a bias, or the weights of a first layer
        kept = [
            (index, p)
            for index, key in enumerate(forward.parameters)
            if (p := leaves.get(key)) is not None and p._version == forward.versions[index]
            if _address(p) in needed
        ]
        if not kept:
            return
        before = forward.norms[[index for index, _ in kept]]
        changes = (norms_of([p for _, p in kept]) - before).abs() / before.clamp(min=1e-30)
        where = (write.place, backward, self.watch.step)
        met = [(f"{forward.root}.{forward.names[index]}", p.numel()) for index, p in kept]

        def deliver(found: Any) -> None:
            for (name, size), change in zip(met, found.tolist(), strict=True):
                if change > 1e-5:  # the same norm taken twice differs by rounding
                    self._tell(DataWritten(name, size, True, change, *where))

        self.watch.transfer.send(changes, deliver)

    def look_at_variables(self, nodes: list[Any], frame: FrameType, writes: tuple[DataWrite, ...]) -> None:
        """A result of the forward that a line above backward() writes, with its old values kept by then."""
        names, backward = locals_of(frame), place_of(frame)
        for write in writes:
            value = names.get(write.target)
            if not is_a(value, torch.Tensor) or not value.grad_fn or not in_same_pass(write.place, backward):
                continue
            # The number of the newest node that was there when the line of the write ran, as far as variables show.
            touched = touched_between(write.place, backward)
            tensors = [(name, each.grad_fn) for name, each in names.items() if is_a(each, torch.Tensor)]
            numbers = {name: node._sequence_nr() for name, node in tensors if node is not None}
            later = {number for name, number in numbers.items() if name in touched}
            last = max({number for name, number in numbers.items() if name not in touched} - later, default=-1)
            if _address(value) in _kept_memory(nodes, last):
                where = (write.place, backward, self.watch.step)
                self._tell(DataWritten(write.target, value.numel(), False, 0.0, *where))

    def _tell(self, fact: DataWritten) -> None:
        self._reports[fact.name] += 1
        if self._reports[fact.name] <= self.MOST_TOLD:
            self.watch.emit(fact)


def _kept_memory(nodes: list[Any], last: int) -> set[int]:
    """Where the tensors lie that these nodes keep for the backward, up to the one with this number."""
    early = (node for node in nodes if node._sequence_nr() <= last)
    return {address for node in early for each in saved_by(node) if (address := _address(each))}


def _address(tensor: torch.Tensor) -> int:
    """0 where a tensor has no single one: sparse, or a wrapper around others."""
    try:
        return tensor.data_ptr()
    except RuntimeError:
        return 0


# Parameters that an optimizer has trained, and in whose place the module holds another object.
#
# Only the module's own count: torch.func.functional_call puts others in their place for the time of one call.
@dataclass
class _Known:
    """The parameters of one module, by name."""

    module: weakref.ref[nn.Module]
    at_start: dict[str, int] = field(default_factory=dict)  # of this step: the ids of what it held
    at_look: dict[str, int] = field(default_factory=dict)  # at the last look
    trained: set[str] = field(default_factory=set)  # an optimizer held it, and a loss was computed with it
    in_step: set[str] = field(default_factory=set)  # replaced between forward and backward
    looks: Counter[str] = field(default_factory=Counter)  # at which it was another object


class ReplacedParameters:
    MOST_MODELS = 64
    MOST_TOLD = 4  # of one name

    def __init__(self, watch: Watch, optimizers: Optimizers) -> None:
        self.watch = watch
        self.optimizers = optimizers
        self._known: dict[int, _Known] = {}  # by module: a copy of a model has the same names

    def begin_step(self) -> None:
        for known in list(self._known.values()):
            module = known.module()
            known.at_start = {name: id(p) for name, p in module.named_parameters()} if module else {}

    def look_at(self, forward: ModelForward, leaves: dict[int, torch.Tensor], frame: FrameType | None) -> None:
        """Before a backward that reaches this forward."""
        module = forward.module()
        known = self._of(module) if module is not None else None
        if module is None or known is None:
            return
        optimized = self.optimizers.parameter_ids()
        used = dict(zip(forward.names, forward.parameters, strict=True))
        for name, parameter in module.named_parameters():
            key, then = id(parameter), used.get(name, 0)
            before, known.at_look[name] = known.at_look.get(name), key
            if then in optimized and then in leaves:
                known.trained.add(name)
            if name not in known.trained or key in optimized or not parameter.requires_grad:
                continue
            if then in leaves and then != key and then == known.at_start.get(name):
                known.in_step.add(name)
                self._tell(forward, name, parameter, frame, in_step=True)
            elif key in leaves and before not in (None, key) and name not in known.in_step:
                self._tell(forward, name, parameter, frame, in_step=False)

    def _of(self, module: nn.Module) -> _Known | None:
        known = self._known.get(id(module))
        if known is not None and known.module() is module:
            return known
        if len(self._known) >= self.MOST_MODELS:
            self._known = {key: each for key, each in self._known.items() if each.module() is not None}
        if len(self._known) >= self.MOST_MODELS:
            return None
        self._known[id(module)] = _Known(weakref.ref(module))
        return self._known[id(module)]

    def _tell(
        self, forward: ModelForward, name: str, now: nn.Parameter, frame: FrameType | None, *, in_step: bool
    ) -> None:
        module = forward.module()
        known = self._of(module) if module is not None else None
        if module is None or known is None:
            return
        known.looks[name] += 1
        place = parameter_line(name, module, user_files(), frame)
        if known.looks[name] > self.MOST_TOLD or not place:  # without a line it may be a library's business
            return
        self.watch.emit(
            ReplacedParameter(
                root=forward.root,
                name=f"{forward.root}.{name}",
                elements=now.numel(),
                in_step=in_step,
                looks=known.looks[name],
                place=place,
                step=self.watch.step,
            )
        )


# The weights of a model as one forward left them, and which nodes of the graph that forward has made.
@dataclass
class ModelForward:
    root: str
    module: weakref.ref[nn.Module]
    names: list[str]  # head.weight
    parameters: list[int]  # ids: what has a weak reference cannot be swapped; the graph keeps them alive
    versions: list[int]
    norms: torch.Tensor | None  # only where something writes .data
    made: frozenset[int]  # the numbers of the nodes that made its outputs; the nodes would hold the graph

    @property
    def end(self) -> int:
        """Autograd numbers its nodes in the order they are made: none of this forward has a higher one."""
        return max(self.made)


def take_forward(root: str, module: nn.Module, output: Any, *, with_norms: bool) -> ModelForward | None:
    """None of one whose outputs need no gradient."""
    made = frozenset(t.grad_fn._sequence_nr() for t in tensors_in(output) if t.grad_fn is not None)
    if not made:
        return None
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    tensors = [p for _, p in named]
    return ModelForward(
        root,
        weakref.ref(module),
        [name for name, _ in named],
        [id(p) for p in tensors],
        [p._version for p in tensors],
        norms_of(tensors) if tensors and with_norms else None,
        made,
    )


@no_grad()
def norms_of(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return norms([tensor.detach() for tensor in tensors])
