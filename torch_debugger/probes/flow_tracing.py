"""One forward of a model traced by hooks on its module calls: whose outputs went into whose inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.counting.layer_macs import Shape, layer_macs
from torch_debugger.anatomy.graph_recorder import form_of
from torch_debugger.anatomy.graph_scopes import class_of, described, is_of_torch, scoped
from torch_debugger.anatomy.nested import named_leaves, tensors_in
from torch_debugger.probes.flow_origins import Origin
from torch_debugger.probes.flow_walks import FlowWalks, TracedCall
from torch_debugger.records import CallFact, ModelFlow
from torch_debugger.records.op_graph import (
    INPUT,
    MODULE,
    OUTPUT,
    GraphModule,
    GraphScope,
    ModelGraph,
    TensorForm,
)

_WITHOUT_GRADIENTS = "It ran without gradients, so what it computes was not seen."
_INSIDE = "Its inside was not recorded: the model has too many modules."


class FlowTracer:
    """Holds nodes of the autograd graph, so it must not outlive the forward."""

    MOST_CALLS = 600

    def __init__(self, model: nn.Module, name: str) -> None:
        self._model, self._name = model, name
        self._walks = FlowWalks(name, model)
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._deepest = deepest_level(self._paths.values(), self.MOST_CALLS)
        self._is_cut = self._deepest < max(map(depth_of, self._paths.values()))
        self._scopes: dict[str, GraphScope] = {}
        self._numbers: list[CallFact] = []
        self._times: Counter[int] = Counter()
        self._stack: list[TracedCall] = []
        self._left_out = 0  # calls beyond the limit
        self._lost = 0  # tensors whose origin is not known

    def begin(self, given: dict[str, Any]) -> None:
        """What the model is called with, by the names of its arguments."""
        for name, tensor in _named(given):
            place = self._walks.add(f"{INPUT}/{name}", INPUT, INPUT, "", (form_of(tensor),))
            self._walks.origins.put(tensor, Origin(place, 0))

    def enter(self, module: nn.Module, arguments: Any) -> None:
        above = self._stack[-1] if self._stack else None
        self._times[id(module)] += 1
        if above is not None:
            above.inner += 1
            if above.closed or len(self._scopes) >= self.MOST_CALLS:
                self._left_out += not above.closed
                self._stack.append(TracedCall(module, above.scope, closed=True))
                return
        call = self._opened(module, above.scope if above is not None else "")
        self._read(call, tensors_in(arguments), above or call)  # of a model that is one layer, its inputs
        self._stack.append(call)

    def leave(self, module: nn.Module, given: Any, made: Any) -> None:
        while self._stack and self._stack[-1].module is not module:
            self._stack.pop()  # calls that ended by an exception which the model caught
        call = self._stack.pop() if self._stack else None
        if call is None or not call.number:
            return
        if self._stack:
            late = [each for each in tensors_in(given) if id(each) not in call.given]  # given by keyword
            self._read(call, late, self._stack[-1])
        results = list(tensors_in(made))
        forms = tuple(form_of(each) for each in results)
        self._close(call, results, forms)
        self._count(call, tuple(form_of(each).shape for each in tensors_in(given)), results, forms)

    def finish(self, made: Any, step: int) -> ModelFlow:
        walks = self._walks
        within = TracedCall(self._model, next(iter(self._scopes), self._name))
        for name, tensor in _named(made):
            origin = walks.origin(tensor, within)
            place = walks.add(f"{OUTPUT}/{name}" if name else OUTPUT, OUTPUT, OUTPUT, "", ())
            walks.link(origin, place, form_of(tensor))
        scopes = tuple(self._scopes.values())
        graph = ModelGraph(tuple(walks.nodes), tuple(walks.edges), scopes, self._note(), self._modules())
        return ModelFlow(self._name, graph, tuple(self._numbers), step)

    def _opened(self, module: nn.Module, caller: str) -> TracedCall:
        path, number = self._paths.get(id(module), type(module).__name__), self._times[id(module)]
        scope = self._walks.names.unique(scoped(self._name, path))
        detail = described(module)
        self._scopes[scope] = GraphScope(scope, path, class_of(module), number, detail, caller)
        closed = bool(caller) and depth_of(path) >= self._deepest and self._is_cut and bool(module._modules)
        return TracedCall(module, scope, caller, number, closed)

    def _read(self, call: TracedCall, tensors: Iterable[torch.Tensor], within: TracedCall) -> None:
        for tensor in tensors:
            call.given.add(id(tensor))
            origin = self._walks.origin(tensor, within)
            if origin is not None:
                call.read.append((origin, form_of(tensor)))
            else:
                self._lost += 1

    def _close(self, call: TracedCall, made: list[torch.Tensor], forms: tuple[TensorForm, ...]) -> None:
        """A layer of torch's own is one node; of other calls the operations are, where autograd saw any."""
        if not call.closed and (call.inner or not is_of_torch(call.module)):
            for tensor in made:
                self._walks.origin(tensor, call)
        if call.closed or not (call.inner or call.operations):
            self._add_layer(call, made, forms)

    def _add_layer(self, call: TracedCall, made: list[torch.Tensor], forms: tuple[TensorForm, ...]) -> None:
        op = class_of(call.module)
        place = self._walks.add(f"{call.scope}/{op}", MODULE, op, call.scope, forms)
        for origin, form in call.read:
            self._walks.link(origin, place, form)
        for output, tensor in enumerate(made):
            self._walks.origins.put(tensor, Origin(place, output))

    def _count(
        self,
        call: TracedCall,
        given: tuple[Shape, ...],
        made: list[torch.Tensor],
        forms: tuple[TensorForm, ...],
    ) -> None:
        shapes = tuple(form.shape for form in forms)
        of_torch = is_of_torch(call.module)
        macs: int | None = call.macs
        why = call.uncounted
        if call.closed:
            why = _INSIDE
        elif not of_torch and not any(each.grad_fn is not None for each in made):
            why = _WITHOUT_GRADIENTS
        elif of_torch and not call.inner and not call.operations:
            macs = layer_macs(call.module, given, shapes)
            why = "" if macs is not None else f"No formula is known for {class_of(call.module)}."
        fact = CallFact(call.scope, given, shapes, None if why else macs, why)
        self._numbers.append(fact)

    def _modules(self) -> tuple[GraphModule, ...]:
        sizes = _sizes(self._model)
        return tuple(
            GraphModule(path, class_of(module), sizes[path], is_of_torch(module), described(module))
            for path, module in self._model.named_modules()
            if depth_of(path) <= self._deepest
        )

    def _note(self) -> str:
        told = []
        if self._left_out:
            told.append(f"{self._left_out:,} module calls after the first {self.MOST_CALLS:,} are not drawn.")
        if self._is_cut:
            told.append(
                f"Of {len(self._paths):,} modules those below level {self._deepest} are not drawn one by one."
            )
        if len(self._walks.nodes) >= self._walks.MOST_NODES:
            told.append(f"The graph ends after {self._walks.MOST_NODES:,} nodes: the model has more.")
        if self._lost:
            told.append("Where tensors are computed without gradients, their way could not be followed.")
        return " ".join(told)


def deepest_level(paths: Iterable[str], most: int) -> int:
    """The level down to which there are no more modules than that; 1 at least."""
    levels = Counter(map(depth_of, paths))
    total, deepest = 0, 1
    for level in sorted(levels):
        total += levels[level]
        if total > most:
            break
        deepest = max(1, level)
    return deepest


def _sizes(model: nn.Module) -> Counter[str]:
    """The values that each module holds, with all below it."""
    found: Counter[str] = Counter()
    for path, value in model.named_parameters():
        size = 0 if nn.parameter.is_lazy(value) else value.numel()
        names = path.split(".")[:-1]
        for end in range(len(names) + 1):
            found[".".join(names[:end])] += size
    return found


def depth_of(path: str) -> int:
    return path.count(".") + 1 if path else 0


def _named(value: Any) -> Iterable[tuple[str, torch.Tensor]]:
    """x, batch/image, 0"""
    for way, tensor in named_leaves(value):
        yield "/".join(part.strip("'\"") for part in way.strip("[]").split("][") if part), tensor
