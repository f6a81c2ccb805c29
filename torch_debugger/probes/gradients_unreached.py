"""Parts of a model that no gradient reaches although an optimizer holds them: traced once, to say why.

The ledger names them. Two deep steps must agree; only then is a step traced, with hooks that see in
which order modules run and where the graph is lost. A model that is reached everywhere costs nothing.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.model.hooks import forward_code, in_backward
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.model.parameters import Ledger
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import LedgerRow, Place, UnreachedPart
from torch_debugger.source.calls import called_twice, is_never_read
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.detached_results import cut_in, cut_of_arguments, find_cut, find_dropped, find_switch
from torch_debugger.source.files import class_source, is_user_file
from torch_debugger.source.frames import frames
from torch_debugger.source.statements import attribute_place
from torch_debugger.stats.summary import sampled


class Unreached(Probe):
    name = "unreached parts"
    after = ("Forward", "Ledger")  # whose rows of this step it reads
    deep_only = True
    AGREEING = 2  # deep steps
    TRACES = 4  # steps traced in one run
    PARTS = 8  # told of one model

    def __init__(self, watch: Watch, ledger: Ledger) -> None:
        super().__init__(watch)
        self.ledger = ledger
        self._counts: dict[str, dict[str, int]] = {}  # root -> part -> deep steps in a row
        self._wanted: dict[str, list[str]] = {}  # root -> parts to be explained
        self._explained: dict[str, tuple[UnreachedPart, torch.Tensor, torch.Tensor]] = {}
        self._tracing = Tracing(watch, ledger.roots)
        self._traces = 0

    def begin_step(self, depth: int) -> None:
        self._tracing.stop()
        if depth == DEEP and self._wanted and not self.ledger.forward.paused and self._traces < self.TRACES:
            self._traces += 1
            self._tracing.start()

    def end_step(self) -> None:
        if self.watch.depth != DEEP:
            return
        for root, module in self.ledger.roots.alive():
            rows = self.ledger.latest.get(root.name)
            if rows is not None and rows[0] == self.watch.step:
                parts = unreached_parts(module, root.name, rows[1])
                self._explain(root.name, module, parts, rows[1])
                before = self._counts.get(root.name, {})
                now = self._counts[root.name] = {part: before.get(part, 0) + 1 for part in parts}
                agreed = [part for part, count in now.items() if count >= self.AGREEING]
                agreed = [part for part in agreed if part not in self._explained]
                if agreed:
                    self._wanted[root.name] = agreed[: self.PARTS]
                    if self._traces < self.TRACES:
                        self.watch.governor.request(2)

    def remove(self) -> None:
        """The run is over: what was never reached has not moved either."""
        self._tracing.stop()
        for fact, parameter, sample in self._explained.values():
            if torch.equal(sampled(parameter), sample):
                self.watch.emit(dataclasses.replace(fact, step=self.watch.clock.step, at_end=True))

    def _explain(self, root: str, module: nn.Module, parts: list[str], rows: tuple[LedgerRow, ...]) -> None:
        wanted = [part for part in self._wanted.pop(root, []) if part in parts]
        if not wanted or not self._tracing.calls:
            return
        places = constructor_places(module, root)
        modules = {f"{root}.{path}" if path else root: inner for path, inner in module.named_modules()}
        for part in wanted:
            own, inner = [row for row in rows if _lies_in(row.name, part)], modules.get(part)
            found = explain_part(module, root, part, self._tracing.calls)
            fact = UnreachedPart(
                root=root,
                part=part,
                kind=type(inner).__name__ if inner is not None else "Parameter",
                place=places.get(part) or Place(),
                parameters=len(own),
                elements=sum(row.elements for row in own),
                reason=found.reason,
                cut=found.place,
                following=found.following,
                instead=found.instead,
                training=inner.training if inner is not None else module.training,
                step=self.watch.step,
            )
            # Kept by itself, not by a weak reference: most models are gone when their script is over.
            named = [(f"{root}.{name}", p) for name, p in module.named_parameters() if p.requires_grad]
            parameter = min((p for name, p in named if _lies_in(name, part)), key=torch.numel)
            self._explained[part] = fact, parameter, sampled(parameter).clone()
            self.watch.emit(fact)


def unreached_parts(module: nn.Module, root: str, rows: tuple[LedgerRow, ...]) -> list[str]:
    """The largest modules of which nothing that an optimizer holds has a gradient, then single parameters."""
    optimized = [row for row in rows if row.trainable and row.in_optimizer]
    lost = {row.name for row in optimized if row.gradient == "none"}
    found: list[str] = []
    for path, _ in module.named_modules():
        full = f"{root}.{path}" if path else root
        own = [row.name for row in optimized if _lies_in(row.name, full)] if lost else []
        if own and lost.issuperset(own) and not any(_lies_in(full, part) for part in found):
            found.append(full)
    return found + sorted(name for name in lost if not any(_lies_in(name, part) for part in found))


def _lies_in(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


# Why no gradient reaches a part of a model: what its source and one traced step say together.
@dataclass(frozen=True)
class LooseEnd:
    reason: str  # never read | dropped | cut | no grad | unknown
    place: Place = field(default_factory=Place)
    following: str = ""
    instead: str = ""


def explain_part(module: nn.Module, root: str, part: str, calls: Sequence[UnreachedCall]) -> LooseEnd:
    inside = [call for call in calls if call.path == part or call.path.startswith(part + ".")]
    if not inside:
        return _explain_silence(module, root, part)
    if not any(call.grad_mode for call in inside):
        found = [place for file, line in inside[0].lines if (place := find_switch(file, line)) is not None]
        return LooseEnd("no grad", found[0]) if found else LooseEnd("unknown")
    outermost = min(inside, key=lambda call: call.began)
    last = outermost if outermost.path == part else max(inside, key=lambda call: call.ended)
    return _cut_inside(inside) if not last.gives_grad else _cut_behind(last, calls)


def _explain_silence(module: nn.Module, root: str, part: str) -> LooseEnd:
    """It did not run. A part that is mentioned may run another time; one that is not, never does."""
    path, _, name = part.removeprefix(root).strip(".").rpartition(".")
    if not name:
        return LooseEnd("unknown")
    owner = module.get_submodule(path)
    if not is_never_read(owner, name):
        return LooseEnd("unknown")
    twice = called_twice(owner, name)
    if twice is not None:
        return LooseEnd("never read", twice[1], instead=twice[0])
    return LooseEnd("never read", attribute_place(type(owner), name) or Place())


def _cut_inside(inside: Sequence[UnreachedCall]) -> LooseEnd:
    """The innermost module that gives no gradient on although it has something to train."""
    lost = [call for call in inside if not call.gives_grad and call.ended >= 0]
    for call in reversed(lost):
        source = class_source(type(call.module))
        for node in source[1].body if source else ():
            found = cut_in(source[0], node) if source and getattr(node, "name", "") == "forward" else None
            if found is not None:
                return LooseEnd("cut", found)
    return LooseEnd("unknown")


def _cut_behind(last: UnreachedCall, calls: Sequence[UnreachedCall]) -> LooseEnd:
    """Gradients can leave the part; somewhere on the way to the loss they cannot go on."""
    if not last.lines:
        return LooseEnd("unknown")
    dropped = find_dropped(*last.lines[0])
    if dropped is not None:
        return LooseEnd("dropped", dropped)
    found = find_cut(last.lines)
    after = sorted((call for call in calls if call.began > last.ended), key=lambda call: call.began)
    if found is not None:
        return LooseEnd("cut", found, next((call.path for call in after if not call.takes_grad), ""))
    # A module of the user's is given what could be trained, and what it gives does not lead back to that.
    for call in after:
        source = class_source(type(call.module)) if call.takes_grad and not call.passes_grad else None
        for node in source[1].body if source else ():
            if source and isinstance(node, ast.FunctionDef) and node.name == "forward":
                found = cut_of_arguments(source[0], node)
                if found is not None:
                    return LooseEnd("cut", found)
    return LooseEnd("unknown")


# One step's module calls in order: from which line, and whether gradients can pass in and out.
@dataclass
class UnreachedCall:
    path: str
    module: nn.Module
    lines: tuple[tuple[str, int], ...]  # the user's frames around it, the innermost first
    takes_grad: bool
    grad_mode: bool
    began: int  # numbers of events, to tell what came after what
    ended: int = -1
    gives_grad: bool = False
    passes_grad: bool = True  # what it gives leads back to what it was given; asked of users' modules
    given: tuple[Any, ...] = ()  # the nodes of the graph behind what it takes, while it runs


class Tracing:
    LIMIT = 2000  # calls
    FRAMES = 12
    NODES = 2000  # of the graph inside of one call

    def __init__(self, watch: Watch, roots: RootModules) -> None:
        self.watch = watch
        self.roots = roots
        self.calls: list[UnreachedCall] = []
        self._paths: dict[int, str] = {}
        self._events = 0
        self._handles: list[RemovableHandle] = []

    def start(self) -> None:
        self._events = 0
        self._paths = {key: path for root, _ in self.roots.alive() for key, path in root.paths.items()}
        self._handles = [
            module_hooks.register_module_forward_pre_hook(self._before),
            module_hooks.register_module_forward_hook(self._after),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles, self.calls = [], []

    def _before(self, module: nn.Module, arguments: Any) -> None:
        if id(module) in self._paths and len(self.calls) < self.LIMIT and not in_backward():
            self.watch.probe("unreached parts", self._enter, module, arguments)

    def _after(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if self.calls:
            self.watch.probe("unreached parts", self._leave, module, output)

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        users = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)]
        lines = tuple((frame.f_code.co_filename, frame.f_lineno) for frame in users[: self.FRAMES])
        takes = any(tensor.requires_grad for tensor in tensors_in(arguments))
        call = UnreachedCall(self._paths[id(module)], module, lines, takes, torch.is_grad_enabled(), self._events)
        code = forward_code(module) if takes else None
        if code is not None and is_user_file(code.co_filename):
            call.given = tuple(tensor.grad_fn for tensor in tensors_in(arguments) if tensor.grad_fn is not None)
        self._events += 1
        self.calls.append(call)

    def _leave(self, module: nn.Module, output: Any) -> None:
        call = next((each for each in reversed(self.calls) if each.module is module and each.ended < 0), None)
        if call is None:
            return
        call.ended = self._events
        call.gives_grad = any(tensor.requires_grad for tensor in tensors_in(output))
        if call.given:
            call.passes_grad, wanted, call.given = False, set(call.given), ()
            for tensor in tensors_in(output):
                if tensor.grad_fn is not None:
                    nodes, _, more = walk_nodes(tensor.grad_fn, self.NODES)
                    if more or wanted.intersection(nodes):
                        call.passes_grad = True
                        break
        self._events += 1
